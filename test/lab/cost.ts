import * as Client from "@homeostat/runtime/client/Client"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Scope, Exit, Logger, LogLevel } from "effect"
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000 }
const settle = (time: VirtualTime.VirtualTime, cluster: any) => Effect.gen(function* () {
  for (let i = 0; i < 60; i++) { const b = cluster.server.store.revision; yield* time.pass("5 seconds"); if (cluster.server.store.revision === b) return true }
  return false
})
let at = Date.parse("2026-11-20T00:00:00Z")
const world = (saved: any, opts: any, manager: boolean, act?: any) => {
  const time = VirtualTime.make(at)
  return Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const cluster = yield* EmbeddedCluster.make({ seed: 1, ...(saved ? { saved } : { crds: [Crd.of(WebApp)] }), ...opts })
    if (manager) yield* Effect.provide(Manager.launch([controller]), cluster.transport)
    if (act) { yield* settle(time, cluster); yield* Effect.provide(act, cluster.client) }
    const ok = manager || act ? yield* settle(time, cluster) : true
    const now = time.clock.unsafeCurrentTimeMillis()
    return { saved: cluster.server.saved(), ok, now }
  })).pipe(time.within, Logger.withMinimumLogLevel(LogLevel.None)) as any) as Promise<any>
}
const ref = await world(undefined, {}, true, Client.create(WebApp, { metadata: { namespace: "default", name: "shop" }, spec: { image: "nginx:1.27", replicas: 2 } } as any))
console.log("ok", ref.ok, Object.values(ref.saved.storages).map((x: any) => x.length).reduce((a: number, b: number) => a + b))
at = ref.now
const n = Number(process.env.N ?? 60)
const apiOnly = { kubelet: false, controllers: [] }
for (const [name, opts, m] of process.env.ONE ? [["all+manager", {}, true] as any] : [["api only", apiOnly, false], ["controllers", { kubelet: false }, false], ["all", {}, false], ["api+manager", apiOnly, true], ["ctl+manager", { kubelet: false }, true], ["all+manager", {}, true]] as const) {
  await world(ref.saved, opts, m)
  const c = cpu(), t = performance.now()
  for (let i = 0; i < n; i++) await world(ref.saved, opts, m)
  console.log(name, "cpu", ((cpu() - c) / n).toFixed(1), "wall", ((performance.now() - t) / n).toFixed(1), "rss", Math.round(process.memoryUsage().rss / 1e6))
}
process.exit(0)
