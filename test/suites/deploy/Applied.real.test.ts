/** A kube-apiserver accepts every overlay as it is, with strict validation and without warnings. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Markdown from "../docs/Markdown.ts"
import { kubectl, namespace } from "./Installed.ts"
import * as Operator from "./Operator.ts"
import * as Overlay from "./Overlay.ts"

const apply = (cluster: ControlPlane, folder: string, ...more: ReadonlyArray<string>) =>
  kubectl(cluster, ["apply", "--validate=strict", "-k", folder, ...more])

const versions = 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'

/** The objects of an overlay with their resourceVersions, which change with each write. */
const state = (cluster: ControlPlane, folder: string) => kubectl(cluster, ["get", "-k", folder, "-o", versions])

/**
 * A control plane with the namespace of the overlays, which a dry run does not create. It runs no controllers, so the test need not
 * clean up.
 */
const prepared = Effect.gen(function* () {
  const cluster = yield* Shared.own()
  yield* cluster.install(...Operator.definitions)
  yield* kubectl(cluster, ["apply", "-f", join(Overlay.folder, "base/namespace.yaml")])
  return cluster
})

const timeoutMillis = 120_000

describe("kubectl apply -k", () => {
  live(
    "of each overlay is accepted without a warning, as a dry run and for real",
    () =>
      Effect.gen(function* () {
        const cluster = yield* prepared
        for (const name of Overlay.names) {
          yield* apply(cluster, Overlay.path(name), "--dry-run=server")
          yield* apply(cluster, Overlay.path(name))
        }
        // The server must warn about other pods. Otherwise a missing warning proves nothing.
        const other = yield* cluster.kubectl(["run", "other", "--image=other", "-n", namespace, "--dry-run=server"])
        expect(other.stderr).toContain('violates PodSecurity "restricted:latest"')
      }),
    timeoutMillis
  )

  live(
    "of an overlay of a user, as in the documentation, has its namespace and images everywhere, and is idempotent",
    () =>
      Effect.gen(function* () {
        const page = yield* Effect.promise(() => Bun.file(join(Overlay.folder, "README.md")).text())
        const shown = Markdown.blocks(page).find(({ attributes }) => attributes.title === "kustomization.yaml")
        const folder = yield* Overlay.own(shown?.text ?? "")
        const rendered = yield* Overlay.render(folder)
        expect(JSON.stringify(rendered.all)).not.toContain(namespace)
        const { container, deployment } = Overlay.manager(rendered)
        expect(deployment).toMatchObject({ metadata: { namespace: "homeostat" }, spec: { replicas: 3 } })
        const monitor = rendered.one<object>("ServiceMonitor")
        expect(monitor.metadata.labels).toMatchObject({ release: "kube-prometheus-stack" })
        expect(container.image).toBe("registry.example.com/homeostat:0.2.0-dev")
        expect(container.env).toContainEqual({
          name: "HOMEOSTAT_BACKUP_MOVER_IMAGE",
          value: "registry.example.com/homeostat-mover:0.2.0-dev"
        })
        const cluster = yield* prepared
        yield* apply(cluster, folder)
        const before = yield* state(cluster, folder)
        yield* apply(cluster, folder)
        expect(yield* state(cluster, folder)).toBe(before)
      }),
    timeoutMillis
  )
})
