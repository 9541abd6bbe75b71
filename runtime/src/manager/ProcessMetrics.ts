/** Metrics of the process, with the names of Prometheus' client libraries. Metrics from Linux' /proc are absent on other systems. */
import { readdirSync, readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Metric from "../telemetry/Metric.ts"
import { following, Metrics } from "../telemetry/Metrics.ts"

/** Reads below /proc take some µs and never wait for a disk, so they are synchronous. */
const proc = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const openFds = (): number | undefined => proc(() => readdirSync("/proc/self/fd").length)

/** The soft limit, which is the effective one. */
const maxFds = (): number | undefined =>
  proc(() => {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft)
  })

const virtualBytes = (): number | undefined =>
  proc(() => {
    const kibibytes = /^VmSize:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  })

/** Adds the metrics to the fiber's registry, until the scope closes. */
export const metered: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const registry = yield* Metrics
  const cpu = registry.counter(Metric.processCpu, {})
  const resident = registry.gauge(Metric.processResident, {})
  registry.gauge(Metric.processStart, {}).set(performance.timeOrigin / 1000)
  const limit = maxFds()
  if (limit !== undefined) registry.gauge(Metric.processMaxFds, {}).set(limit)
  const lookedUp = [
    [Metric.processVirtual, virtualBytes],
    [Metric.processOpenFds, openFds]
  ] as const
  const followCpu = following(cpu)
  const collect = (): void => {
    const { system, user } = process.cpuUsage()
    followCpu((system + user) / 1e6)
    resident.set(process.memoryUsage.rss())
    for (const [metric, read] of lookedUp) {
      const value = read()
      if (value !== undefined) registry.gauge(metric, {}).set(value)
    }
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => registry.onCollect(collect)),
    (forget) => Effect.sync(forget)
  )
})
