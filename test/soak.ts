/**
 * A soak test: minutes of churn and faults, after which no state may be left. `bun run soak [minutes] [seed] [WebApps]`. Default: 10
 * minutes, a new seed, which it prints, and 300 WebApps.
 * It needs a control plane, as the real lane does. Exit code 1 if state is left.
 */
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Duration, Effect } from "effect"
import * as Soak from "./suites/faults/Soak.ts"
import { plane } from "./suites/faults/Wired.ts"

const [minutes = "10", seed = crypto.randomUUID().slice(0, 8), apps = "300"] = process.argv.slice(2)

const print = (line: string): void => {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

const soak = Effect.gen(function* () {
  print(`${minutes} minutes, seed ${seed}`)
  const cluster = yield* Envtest.start(plane)
  const result = yield* Soak.run(cluster, {
    duration: Duration.minutes(Number(minutes)),
    apps: Number(apps),
    seed,
    report: print
  })
  const { actions, after, before, faults, mentions, relists, restarts, terms } = result
  const table = Object.entries(before).map(([what, held]) => {
    // The names are the keys of this type.
    const now = after[what as keyof Soak.Held]
    return `| ${what} | ${Math.round(held)} | ${Math.round(now)} |`
  })
  print(`actions ${JSON.stringify(actions)}, faults ${JSON.stringify(faults)}`)
  print(`terms ${terms}, watches resumed ${restarts}, relists ${relists}, names left in memory ${mentions.length}`)
  process.stdout.write(`\n| held | before | after |\n| --- | ---: | ---: |\n${table.join("\n")}\n\n`)
  return Soak.leaks(result)
})

const found = await Effect.runPromise(Effect.scoped(soak))
print(found.length === 0 ? "Nothing is left" : `LEFT: ${found.join("; ")}`)
process.exit(found.length === 0 ? 0 : 1)
