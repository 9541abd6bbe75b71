import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as ProcessMetrics from "./ProcessMetrics.ts"

effect("ProcessMetrics contains CPU time, memory, open files and the start time", () =>
  Effect.gen(function* () {
    const registry = Metrics.make()
    yield* Effect.provideService(ProcessMetrics.metered, Metrics.Metrics, registry)
    const before = reading(registry)
    const cpu = process.cpuUsage()
    expect(before.process_cpu_seconds_total).toBeLessThanOrEqual((cpu.user + cpu.system) / 1e6)
    expect(before.process_cpu_seconds_total).toBeGreaterThan((cpu.user + cpu.system) / 1e6 - 5)
    expect(before.process_resident_memory_bytes).toBeGreaterThan(10_000_000)
    expect(before.process_start_time_seconds).toBeWithin(Date.now() / 1000 - 86_400, Date.now() / 1000)
    if (process.platform === "linux") {
      expect(before.process_virtual_memory_bytes).toBeGreaterThan(before.process_resident_memory_bytes ?? 0)
      expect(before.process_open_fds).toBeGreaterThan(2)
      expect(before.process_max_fds).toBeGreaterThanOrEqual(before.process_open_fds ?? 0)
    }
    const file = Bun.file(import.meta.path)
      .stream()
      .getReader()
    yield* Effect.promise(() => file.read())
    expect(reading(registry).process_cpu_seconds_total).toBeGreaterThanOrEqual(before.process_cpu_seconds_total ?? 0)
  })
)
