/**
 * The long comparison with a real kube-apiserver: `bun test/agreement.ts [sequences] [seed]`. Default: 2000 sequences and a new seed.
 * It needs a control plane, as the real lane does. Exit code 1 if the two servers have disagreed.
 */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Effect } from "effect"
import * as Agreement from "./suites/agreement/Agreement.ts"

const [count = "2000", from = String(Math.floor(Math.random() * 1_000_000_000))] = process.argv.slice(2)

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const campaign = Effect.gen(function* () {
  const cluster = yield* Envtest.start({})
  const pair = yield* Agreement.pair(cluster)
  print(`${count} sequences from seed ${from}`)
  let done = 0
  return yield* Agreement.campaign(pair, Number(from), Number(count), (disagreement) => {
    if (disagreement !== undefined) print(Agreement.explain(disagreement))
    if (++done % 100 === 0) print(`${done} done`)
  })
})

const found = await Effect.runPromise(Effect.scoped(campaign))
print(`${count} sequences from seed ${from}: ${found.length} disagreements`)
process.exit(found.length === 0 ? 0 : 1)
