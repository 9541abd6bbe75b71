/**
 * `bun run demo`: a cluster, the manager and a story in one process, with nothing installed but this project.
 *
 * The story of a WebApp comes first. The story of a backup follows if this machine has restic, or if `--backup` lets Go build it.
 * `--keep` keeps the cluster and the manager until Ctrl-C.
 * On a terminal the demo also shows the objects; `--plain` writes lines only, as into a pipe. Exit code 0, or 1 with the reason.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { NotSo } from "@homeostat/testkit/Eventually"
import type { WebApp } from "@homeostat/webapp/WebApp"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { load } from "js-yaml"
import * as Backups from "./demo/Backups.ts"
import * as Narrator from "./demo/Narrator.ts"
import * as Observer from "./demo/Observer.ts"
import * as Restic from "./demo/Restic.ts"
import * as Story from "./demo/Story.ts"
import * as Trace from "./demo/Trace.ts"
import * as World from "./demo/World.ts"

const args = new Set(process.argv.slice(2))
const options = ["--backup", "--keep", "--plain"]
const unknown = [...args].find((arg) => !options.includes(arg))
if (unknown !== undefined) {
  process.stderr.write(`demo: unknown option: ${unknown} (accepted: ${options.join(", ")})\n`)
  process.exit(2)
}

const namespace = "default"
const samplePath = join(import.meta.dir, "..", "deploy", "samples", "webapp.yaml")
const sample = load(readFileSync(samplePath, "utf8")) as Parameters<typeof WebApp.Desired>[0]

const live = process.stdout.isTTY && !args.has("--plain")
const columns = process.stdout.columns || 80

const demo = Effect.gen(function* () {
  const narrator = yield* Narrator.make({
    live,
    columns,
    write: (text) => process.stdout.write(text)
  })
  yield* narrator.part("A cluster, and Homeostat")
  const found = yield* Effect.result(Restic.find(process.env))
  const restic = Result.isSuccess(found)
    ? Effect.succeed(found.success)
    : args.has("--backup")
      ? yield* Restic.build(narrator, process.env, found.failure)
      : undefined
  const world = yield* World.start(narrator)
  const why = `http://${world.probes}/why?kind=webapp&namespace=${namespace}&name=${sample.metadata.name}`
  yield* Effect.gen(function* () {
    yield* Observer.observe(narrator, namespace)
    yield* Story.run(narrator, namespace, sample)
    yield* Trace.show(narrator, world.lastRollout(), columns)
    yield* narrator.part("And why is it as it is? The manager explains")
    const answer = yield* Effect.tryPromise(async () => (await fetch(why)).text())
    yield* narrator.write(
      [`curl '${why}'`, ...answer.trimEnd().split("\n")].map((line) => (live ? line.slice(0, columns) : line))
    )
    if (restic !== undefined) {
      yield* Backups.run(narrator, namespace, {
        claimFolder: (claim) => world.claimFolder(namespace, claim),
        mover: world.mover,
        restic
      })
    }
  }).pipe(Effect.provide(world.client), Effect.raceFirst(world.broken))
  const leftOut = restic === undefined && Result.isFailure(found) ? [found.failure.message] : []
  yield* narrator.end([
    ...leftOut.map((message) => `The demo leaves out the story of a backup, as ${message}`),
    args.has("--keep")
      ? "That was the demo. It stays until Ctrl-C; to go on yourself, in another terminal:"
      : "That was the demo. With --keep it stays until Ctrl-C, and ends with what to type in another terminal, like this:",
    `  export KUBECONFIG=${world.kubeconfigPath}`,
    "  kubectl get wa -w",
    `  curl '${why}'`,
    `  curl http://${world.metrics}/metrics`,
    `  curl http://${world.probes}/readyz?verbose`
  ])
  if (args.has("--keep")) return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

/** The reason of the failure in one line. It leaves out the last state of the object. */
const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const failure = Cause.squash(cause)
  if (failure instanceof NotSo) return `${failure.description}: not so after ${Duration.format(failure.after)}`
  return (Cause.prettyErrors(cause)[0]?.message ?? "failed").replace(/\s*\n\s*/g, "; ")
}

NodeRuntime.runMain(demo, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => {
    if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
    process.stderr.write(`demo: ${reasonOf(exit.cause)}\n`)
    onExit(1)
  }
})
