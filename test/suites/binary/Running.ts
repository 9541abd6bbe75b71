/**
 * A program as a test sees it from outside: its output, its reaction to signals, and its end. The program ends with its Scope, and
 * also when this process ends in any way.
 */
import { closeSync } from "node:fs"
import { Data, Duration, Effect, type Scope } from "effect"

/** The whole environment of a program. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The end of a program. */
export interface End {
  /** The exit code, or the name of the signal that ended the program. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
  /** Milliseconds from the start of the program to its end. */
  readonly livedMillis: number
}

/** A program did not end in time. */
export class StillRunning extends Data.TaggedError("StillRunning")<{
  readonly after: Duration.Duration
  readonly stderr: string
}> {
  override get message(): string {
    return `the program still runs after ${Duration.format(this.after)}; it wrote:\n${this.stderr}`
  }
}

/** A program did not write the expected output. */
export class NotWritten extends Data.TaggedError("NotWritten")<{ readonly wanted: RegExp; readonly stderr: string }> {
  override get message(): string {
    return `no line like ${this.wanted} was written, but:\n${this.stderr}`
  }
}

/** A running program. */
export interface Running {
  readonly pid: number
  readonly stderr: () => string
  readonly signal: (name: "SIGTERM" | "SIGINT" | "SIGKILL" | "SIGSTOP" | "SIGCONT") => Effect.Effect<void>
  /** Waits until the program ends. Fails if the program still runs after the limit. */
  readonly ended: (limit: Duration.Input) => Effect.Effect<End, StillRunning>
  /** Waits until the program writes a matching line to standard error. Returns that line. Fails after the limit. */
  readonly written: (wanted: RegExp, limit?: Duration.Input) => Effect.Effect<string, NotWritten>
}

/** As in the testkit's `Process`: a guardian waits for the end of a pipe that this process holds, and then kills the program. */
const guarded = `( trap '' HUP INT TERM; read -r _; kill -s KILL $$ ) <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

/** Starts a program for the lifetime of the Scope. */
export const start = (
  command: ReadonlyArray<string>,
  environment: Environment
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => spawn(command, environment)),
      ({ child, finished }) =>
        Effect.promise(() => {
          child.kill("SIGKILL")
          return finished
        })
    ),
    ({ running }) => running
  )

const spawn = (command: ReadonlyArray<string>, environment: Environment) => {
  const startedAt = performance.now()
  const child = Bun.spawn(["sh", "-c", guarded, "sh", ...command], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // A terminal's signals must reach the test run, but not the programs that it starts.
    detached: true,
    env: environment
  })
  let stdout = ""
  let stderr = ""
  const read = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of stream) add(decoder.decode(bytes, { stream: true }))
  }
  const reading = Promise.all([
    read(child.stdout, (text) => {
      stdout += text
    }),
    read(child.stderr, (text) => {
      stderr += text
    })
  ])
  const finished = child.exited.then(async (code): Promise<End> => {
    const livedMillis = performance.now() - startedAt
    const pipe = child.stdio[3]
    if (typeof pipe === "number") closeSync(pipe)
    await reading
    return { code: child.signalCode ?? code, stdout, stderr, livedMillis }
  })

  const running: Running = {
    pid: child.pid,
    stderr: () => stderr,
    signal: (name) => Effect.sync(() => child.kill(name)),
    ended: (limit) =>
      Effect.promise(() => finished).pipe(
        Effect.interruptible,
        Effect.timeoutOrElse({
          duration: limit,
          orElse: () => Effect.fail(new StillRunning({ after: Duration.fromInputUnsafe(limit), stderr }))
        })
      ),
    written: (wanted, limit = "40 seconds") =>
      Effect.gen(function* () {
        while (true) {
          const line = stderr.split("\n").find((line) => wanted.test(line))
          if (line !== undefined) return line
          yield* Effect.sleep("10 millis")
        }
      }).pipe(Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(new NotWritten({ wanted, stderr })) }))
  }
  return { child, finished, running }
}

/** The resident memory of a process in MiB. */
export const residentMiB = (pid: number): Effect.Effect<number> =>
  Effect.promise(async () => {
    const status = await Bun.file(`/proc/${pid}/status`).text()
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
  })

/** The CPU time of a process's main thread in milliseconds. Unlike the age of the process, other programs do not affect this time. */
export const busyMillis = (pid: number): Effect.Effect<number> =>
  Effect.promise(async () => Number((await Bun.file(`/proc/${pid}/schedstat`).text()).split(" ")[0]) / 1e6)
