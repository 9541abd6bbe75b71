import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "../cluster/explore/Message.ts"
import * as Fault from "../cluster/explore/Fault.ts"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
const key = { namespace: "default", name: "shop" }
const story = Explore.story({
  controllers: [controller],
  cluster: process.env.PODS ? {} : { kubelet: false },
  steps: [
    Explore.step("create", Client.create(WebApp, { metadata: key, spec: { image: "nginx:1.27", replicas: 2 } })),
    Explore.step("image", Client.patch(WebApp, key, Patch.merge({ spec: { image: "nginx:1.28" } }))),
    Explore.step("scale", Client.patch(WebApp, key, Patch.merge({ spec: { replicas: 3 } }))),
    Explore.step("drift", Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 0 } }))),
    Explore.step("child gone", Client.delete(Service, key)),
    Explore.step("delete", Client.delete(WebApp, key))
  ]
})
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000 }
for (const fault of (process.env.FAULTS ?? "Crash,LostAnswer,Refused,ForeignWrite,SecondLeader,Lag,Missed").split(",")) {
  const c = cpu(), t = performance.now()
  const report = await Effect.runPromise(Explore.run(story, { faults: [fault as any] }))
  const n = report.schedules
  console.log(fault, n, "pruned", report.pruned, "unreached", report.unreached.length, "violations", report.violations.length, "wall", ((performance.now() - t) / n).toFixed(0), "cpu", ((cpu() - c) / n).toFixed(0), "ms each, rss", Math.round(process.memoryUsage().rss / 1e6))
  for (const one of report.unreached.slice(0, 3)) console.log("  unreached", Fault.identifier(one), one.faults.map(Fault.describe))
  if (report.violations.length) console.log(Message.of(story, report).slice(0, 2500))
}
process.exit(0)
