/**
 * `bun run record [SUITE...]` asks a new kube-apiserver all dialogues of the suites, by default of all suites, and writes their
 * recordings. It needs a control plane in `KUBEBUILDER_ASSETS`, as the real lane does.
 */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import * as Dialogues from "./suites/comparison/Dialogues.ts"
import { suites } from "./suites/comparison/Suites.ts"

const names = process.argv.slice(2)
const unknown = names.find((name) => !suites.some((suite) => suite.name === name))
if (unknown !== undefined) {
  process.stderr.write(`unknown suite: ${unknown} (must be one of ${suites.map(({ name }) => name).join(", ")})\n`)
  process.exit(2)
}

const recording = Effect.gen(function* () {
  const cluster = yield* Envtest.start({})
  for (const suite of suites.filter(({ name }) => names.length === 0 || names.includes(name))) {
    yield* Dialogues.record(suite, cluster)
    process.stdout.write(`recorded ${suite.name}: ${suite.dialogues.length} dialogues\n`)
  }
})

await Effect.runPromise(Effect.scoped(recording))
