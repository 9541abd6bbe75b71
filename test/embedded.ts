/**
 * `bun run cluster`: an embedded cluster for kubectl and for a manager that is being written, until Ctrl-C. Nothing of it is
 * stored. Its kubeconfig is always in the same place, so that a terminal has to be told of it once.
 */
import { copyFile, mkdir } from "node:fs/promises"
import { join, relative } from "node:path"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as User from "@homeostat/testkit/envtest/User"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const folder = join(import.meta.dir, "..", ".homeostat")

const cluster = Effect.gen(function* () {
  const directory = yield* Directory.make
  const { serve } = yield* EmbeddedCluster.make({ kubelet: { directory } })
  const server = yield* serve()
  const { kubeconfigPath } = yield* User.make(directory, { server, ca: undefined, user: "you" }, [])
  const kept = join(folder, "kubeconfig")
  yield* Effect.promise(async () => {
    await mkdir(folder, { recursive: true })
    await copyFile(kubeconfigPath, kept)
  })
  yield* Console.log(
    `A Kubernetes API server, its controllers and a node, on ${server}, until Ctrl-C. In other terminals:\n`
  )
  yield* Console.log(`  export KUBECONFIG=${relative(process.cwd(), kept)}`)
  return yield* Effect.never
})

BunRuntime.runMain(Effect.scoped(cluster), { disablePrettyLogger: true })
