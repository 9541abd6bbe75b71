/** The programs of kinds with two versions. */
import { join } from "node:path"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"

/** Starts a replica of a program, which reaches the API server at the URL of its own port, at `url`, or in the cluster. */
export const launch = (
  cluster: ControlPlane,
  port: number,
  {
    inCluster = false,
    installs = true,
    program = "crates",
    url = `https://127.0.0.1:${port}`
  }: Partial<Record<"inCluster" | "installs", boolean>> & {
    readonly program?: "crates" | "pallets"
    readonly url?: string
  } = {}
) =>
  Running.start(
    [
      process.execPath,
      join(import.meta.dir, "fixtures", `${program}.ts`),
      "run",
      `--kubeconfig=${cluster.admin.kubeconfigPath}`,
      ...(installs ? ["--install-crds"] : []),
      "--webhooks",
      `--webhook-bind-address=127.0.0.1:${port}`,
      ...(inCluster ? [] : [`--webhook-url=${url}`])
    ],
    {
      ...Binary.bare(cluster.directory),
      ...(inCluster ? { KUBERNETES_SERVICE_HOST: "127.0.0.1" } : {}),
      ...Binary.variables({ "metrics-bind-address": "127.0.0.1:0", "health-probe-bind-address": "127.0.0.1:0" }, [
        program
      ])
    }
  )
