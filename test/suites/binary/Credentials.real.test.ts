/** A program whose credentials the API server rejects, or that rejects the server's certificate. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"

describe("The binary", () => {
  Shared.real(
    "reports the source of an invalid CA or token, and ends with exit code 1",
    (cluster) =>
      Effect.gen(function* () {
        const environment = { ...Binary.plain(cluster.directory), KUBECONFIG: cluster.admin.kubeconfigPath }
        const view = yield* cluster.kubectl(["config", "view", "--raw", "--flatten"])
        const withToken = join(cluster.directory, "token.kubeconfig")
        const withoutCa = join(cluster.directory, "authority.kubeconfig")
        yield* Effect.promise(async () => {
          await Bun.write(
            withToken,
            view.stdout.replace(/client-certificate-data: .*\n\s*client-key-data: .*/, "token: wrong")
          )
          await Bun.write(withoutCa, view.stdout.replace(/certificate-authority-data: .*\n\s*/, ""))
        })
        const cases = [
          [withToken, "the server does not accept the credentials (401 Unauthorized)"],
          [withoutCa, "the server's certificate is not signed by the configured certificate authority"]
        ] as const
        for (const [path, reason] of cases) {
          const end = yield* Binary.run(["run"], { ...environment, KUBECONFIG: path })
          expect(end.code).toBe(1)
          expect(end.stderr.trimEnd().split("\n").at(-1)).toStartWith(
            `homeostat: cannot work on ${cluster.url}, from context "envtest" of ${path} (KUBECONFIG): ${reason}`
          )
        }
      }),
    Envtest.everything
  )
})
