/**
 * `bun run record [SUITE...]` runs the suites on new real control planes, and writes their recordings. Default: all suites.
 * It needs the programs in `KUBEBUILDER_ASSETS`, as the real lane does.
 */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import * as Recording from "./suites/comparison/Recording.ts"
import { suites } from "./suites/comparison/Suites.ts"

const names = process.argv.slice(2)
const unknown = names.find((name) => !suites.some((suite) => suite.name === name))
if (unknown !== undefined) {
  process.stderr.write(`unknown suite: ${unknown} (must be one of ${suites.map(({ name }) => name).join(", ")})\n`)
  process.exit(2)
}

for (const { name, plane, record } of suites.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const entries = await Effect.runPromise(Effect.scoped(Effect.flatMap(Envtest.start(plane), record)))
  Recording.write(name, entries)
  process.stdout.write(`recorded ${name}: ${entries.size} entries\n`)
}
