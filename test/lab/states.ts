import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "../cluster/explore/Message.ts"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000 }
const c = cpu(), t = performance.now()
const report = await Effect.runPromise(Explore.runStates(WebApp, { controllers: [controller], runs: Number(process.env.RUNS ?? 6), seed: Number(process.env.SEED ?? 1) }))
console.log("sequences", report.sequences, "rejected", report.rejected, "violations", report.violations.length, "wall", ((performance.now() - t)/1000).toFixed(1), "cpu", ((cpu() - c)/1000).toFixed(1))
console.log([...report.fields].join(" "))
if (report.violations.length) console.log(Message.ofStates(report).slice(0, 3000))
process.exit(0)
