/**
 * `bun run demo`: a cluster, the manager and a story in one process, with nothing installed but this project.
 *
 * `--keep` goes on when the story is over, until Ctrl-C. On a terminal the objects are shown as they are; `--plain` writes lines
 * only, as into a pipe. Exit code 0, or 1 and the reason.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as BunContext from "@effect/platform-bun/BunContext"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import type { WebApp } from "@homeostat/webapp/WebApp"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { load } from "js-yaml"
import * as Narrator from "./demo/Narrator.ts"
import * as Observer from "./demo/Observer.ts"
import * as Story from "./demo/Story.ts"
import * as World from "./demo/World.ts"

const args = new Set(process.argv.slice(2))
const unknown = [...args].find((arg) => !["--keep", "--plain"].includes(arg))
if (unknown !== undefined) {
  process.stderr.write(`demo: ${unknown} is no option; there are --keep and --plain\n`)
  process.exit(2)
}

const namespace = "default"
const samplePath = join(import.meta.dir, "..", "deploy", "samples", "webapp.yaml")
const sample = load(readFileSync(samplePath, "utf8")) as Parameters<typeof WebApp.Desired>[0]

const demo = Effect.gen(function* () {
  const narrator = yield* Narrator.make({
    live: process.stdout.isTTY && !args.has("--plain"),
    columns: process.stdout.columns || 80,
    write: (text) => process.stdout.write(text)
  })
  yield* narrator.part("A cluster, and Homeostat")
  const world = yield* World.start(narrator)
  yield* Effect.gen(function* () {
    yield* Observer.observe(narrator, namespace)
    yield* Story.tell(narrator, namespace, sample)
  }).pipe(Effect.provide(world.client))
  yield* narrator.end([
    ...(args.has("--keep")
      ? ["That was the demo. It stays until Ctrl-C; to go on yourself, in another terminal:"]
      : ["That was the demo. With --keep it stays, and you go on yourself, in another terminal:"]),
    `  export KUBECONFIG=${world.kubeconfigPath}`,
    "  kubectl get wa -w",
    `  curl http://${world.metrics}/metrics`,
    `  curl http://${world.probes}/readyz?verbose`
  ])
  if (args.has("--keep")) yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(BunContext.layer))

BunRuntime.runMain(demo, {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, onExit) => {
    if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return onExit(0)
    const [failure] = Cause.prettyErrors(exit.cause)
    process.stderr.write(`demo: ${failure?.message ?? "failed"}\n`)
    onExit(1)
  }
})
