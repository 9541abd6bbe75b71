import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Fiber } from "effect"
import { live } from "../Test.ts"
import * as Directory from "./Directory.ts"
import { isAlive, isStopped, until } from "./fixtures/pids.ts"
import * as Log from "./Log.ts"
import * as Process from "./Process.ts"

/** A shell script as a program; what it writes is its log. */
const shell = (script: string, options?: Partial<Process.Options>) =>
  Effect.map(Directory.make, (directory): Process.Options => {
    const log = join(directory, "log")
    const ready = Effect.sync(() => Log.tail(log, 100).includes("ready"))
    return { name: "program", executable: "sh", args: ["-c", script], log, ready, ...options }
  })

describe("A process", () => {
  live("is ready after start, and has ended with its scope", () =>
    Effect.gen(function* () {
      const options = yield* shell("sleep 0.2; echo ready; exec sleep 300")
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const process = yield* Process.start(options)
          expect(readFileSync(process.log, "utf8")).toBe("ready\n")
          return process.pid() ?? 0
        })
      )
      expect(pid).toBeGreaterThan(0)
      expect(isAlive(pid)).toBe(false)
    })
  )

  live("that ends before it is ready fails at once, with its last output", () =>
    Effect.gen(function* () {
      const options = yield* shell("echo no such flag >&2; exit 3", { startMillis: 60_000 })
      const error = yield* Effect.flip(Process.start(options))
      expect(error.message).toBe("program ended by itself (exit code 3); its log ends:\nno such flag")
    })
  )

  live("that is not ready in time fails, and is stopped", () =>
    Effect.gen(function* () {
      const options = yield* shell("echo $$; exec sleep 300", { startMillis: 2_000 })
      const error = yield* Effect.flip(Effect.scoped(Process.start(options)))
      expect(error.reason).toBe("was not ready within 2000 ms")
      expect(isAlive(Number(error.log))).toBe(false)
    })
  )

  live("with a missing executable fails to start", () =>
    Effect.gen(function* () {
      const options = yield* shell("", { executable: "/nowhere/program" })
      const error = yield* Effect.flip(Process.start(options))
      expect(error.message).toContain("/nowhere/program")
    })
  )

  live("that ignores SIGTERM is killed after its grace period, with its children", () =>
    Effect.gen(function* () {
      const options = yield* shell("trap '' TERM; sleep 300 & echo $! ready; while :; do sleep 1; done", {
        graceMillis: 200
      })
      const { pid, child } = yield* Effect.scoped(
        Effect.map(Process.start(options), (process) => ({
          pid: process.pid() ?? 0,
          child: Number.parseInt(readFileSync(process.log, "utf8"), 10)
        }))
      )
      expect(isAlive(pid)).toBe(false)
      yield* until(() => !isAlive(child), 30)
    })
  )

  live("starts again after it was killed", () =>
    Effect.gen(function* () {
      const process = yield* Process.start(yield* shell("echo ready; exec sleep 300"))
      const first = process.pid()
      yield* process.kill
      expect(process.pid()).toBeUndefined()
      yield* process.start
      expect(process.pid()).not.toBe(first)
      expect(isAlive(process.pid() ?? 0)).toBe(true)
    })
  )

  live("does nothing while it is paused, and can then be stopped", () =>
    Effect.gen(function* () {
      const process = yield* Process.start(yield* shell("echo ready; while :; do echo tick; sleep 0.02; done"))
      const pid = process.pid() ?? 0
      expect(isStopped(pid)).toBe(false)
      yield* process.pause
      yield* until(() => isStopped(pid), 30)
      const paused = Log.size(process.log)
      yield* process.resume
      yield* until(() => Log.size(process.log) > paused, 30)
      yield* process.pause
      yield* process.stop
      expect(process.pid()).toBeUndefined()
    })
  )

  live("reports that it has ended on its own", () =>
    Effect.gen(function* () {
      const process = yield* Process.start(yield* shell("echo ready; sleep 0.2"))
      yield* process.ended
      expect(process.pid()).toBeUndefined()
    })
  )

  live("run returns the output and exit code, and passes the input", () =>
    Effect.gen(function* () {
      const result = yield* Process.run("sh", ["-c", "cat; echo $GREETING >&2; exit 7"], {
        stdin: "input",
        env: { PATH: process.env.PATH, GREETING: "hello" }
      })
      expect(result).toEqual({ stdout: "input", stderr: "hello\n", exitCode: 7 })
    })
  )

  live("run stops the program when it is interrupted", () =>
    Effect.gen(function* () {
      const file = join(yield* Directory.make, "pid")
      const fiber = yield* Effect.forkChild(Process.run("sh", ["-c", `echo $$ > ${file}; exec sleep 300`]))
      yield* until(() => Log.tail(file, 1) !== "", 30)
      yield* Fiber.interrupt(fiber)
      expect(isAlive(Number(Log.tail(file, 1)))).toBe(false)
    })
  )

  live(
    "stops with its children and folder within seconds after its starter is killed",
    () =>
      Effect.gen(function* () {
        const holder = yield* Effect.acquireRelease(
          Effect.sync(() =>
            Bun.spawn([process.execPath, join(import.meta.dirname, "fixtures", "holder.ts")], { stdout: "pipe" })
          ),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const reader = holder.stdout.getReader()
        const line = yield* Effect.promise(() => reader.read())
        const { directory, pids } = JSON.parse(new TextDecoder().decode(line.value))
        expect([...pids.map(isAlive), existsSync(directory)]).toEqual([true, true, true])

        holder.kill("SIGKILL")
        yield* until(() => !pids.some(isAlive), 30)
        yield* until(() => !existsSync(directory), 30)
      }),
    120_000
  )
})
