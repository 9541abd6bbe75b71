/**
 * Writes `test/apiserver/access/bootstrap.json`: the roles and bindings of a new cluster, from a kube-apiserver and its
 * kube-controller-manager. Run it if their version changes:
 *
 *     KUBEBUILDER_ASSETS=… bun test/record/bootstrap.ts
 *
 * The real lane compares the file with a kube-apiserver (`test/suites/access`).
 */
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import * as BootstrapRecording from "./BootstrapRecording.ts"

const path = join(import.meta.dir, "../apiserver/access/bootstrap.json")

const write = Effect.gen(function* () {
  const cluster = yield* Envtest.start({ controllers: true })
  const objects = yield* BootstrapRecording.record(cluster)
  yield* Effect.promise(() => Bun.write(path, JSON.stringify(objects, null, 2)))
  const format = Bun.spawn(["bunx", "biome", "format", "--write", path], { stdio: ["ignore", "inherit", "inherit"] })
  yield* Effect.promise(() => format.exited)
})

NodeRuntime.runMain(Effect.scoped(write))
