/**
 * Writes the JSON documents of `test/apiserver` from a kube-apiserver. Run it if the version of Kubernetes changes:
 *
 *     KUBEBUILDER_ASSETS=… bun test/record/api.ts
 *
 * The recording of `test/suites/openapi` compares them with the kube-apiserver.
 * Their descriptions are those of Kubernetes, Copyright The Kubernetes Authors, under the Apache License 2.0, as this project is.
 */
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import * as ApiRecording from "./ApiRecording.ts"

const server = join(import.meta.dir, "../apiserver")

const write = Effect.gen(function* () {
  const cluster = yield* Envtest.start()
  const files = Object.entries(yield* ApiRecording.record(cluster)).map(([file, content]) => ({
    path: join(server, file),
    content
  }))
  for (const { content, path } of files) yield* Effect.promise(() => Bun.write(path, JSON.stringify(content, null, 2)))
  const format = Bun.spawn(["bunx", "biome", "format", "--write", ...files.map(({ path }) => path)], {
    stdio: ["ignore", "inherit", "inherit"]
  })
  yield* Effect.promise(() => format.exited)
})

NodeRuntime.runMain(Effect.scoped(write))
