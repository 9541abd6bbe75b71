import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "../cluster/explore/Message.ts"
import * as Fault from "../cluster/explore/Fault.ts"
import * as Stories from "../suites/explore/Stories.ts"
import { Effect } from "effect"
const story = (Stories as any)[process.env.STORY ?? "webapp"]
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000 }
for (const fault of (process.env.FAULTS ?? "Crash,LostAnswer,Refused,ForeignWrite,SecondLeader,Lag,Missed").split(",")) {
  const c = cpu(), t = performance.now()
  const report = await Effect.runPromise(Explore.run(story, { faults: [fault as any] }))
  const n = report.schedules
  console.log(fault, n, "pruned", report.pruned, "unreached", report.unreached.length, "violations", report.violations.length, "wall", ((performance.now() - t) / n).toFixed(0), "cpu", ((cpu() - c) / n).toFixed(0), "ms each, rss", Math.round(process.memoryUsage().rss / 1e6))
  for (const one of report.unreached.slice(0, 2)) console.log("  unreached", Fault.identifier(one), one.faults.map(Fault.describe))
  if (report.violations.length) console.log(Message.of(story, report).slice(0, Number(process.env.MAX ?? 2500)))
}
console.log("rests", (globalThis as any).rests); process.exit(0)
