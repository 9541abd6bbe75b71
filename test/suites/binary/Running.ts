/**
 * A program that a test looks at from outside: what it writes, how it takes signals, how it ends. It ends with its Scope, and
 * with this process, however that ends.
 */
import { closeSync } from "node:fs"
import { Data, Duration, Effect, type Scope } from "effect"

/** The whole environment of a program. */
export type Environment = Readonly<Record<string, string | undefined>>

/** How a program ended. */
export interface End {
  /** The exit code; of one that a signal ended, the signal's name. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
  /** From its start, in milliseconds. */
  readonly livedMillis: number
}

/** A program has not ended in time. */
export class StillRunning extends Data.TaggedError("StillRunning")<{
  readonly after: Duration.Duration
  readonly stderr: string
}> {
  override get message(): string {
    return `the program still runs after ${Duration.format(this.after)}; it wrote:\n${this.stderr}`
  }
}

/** A program has not written what was expected. */
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
  /** Waits for its end. */
  readonly ended: (limit: Duration.DurationInput) => Effect.Effect<End, StillRunning>
  /** Waits until it has written a line like this to standard error, and gives it. */
  readonly written: (wanted: RegExp, limit?: Duration.DurationInput) => Effect.Effect<string, NotWritten>
}

/** As in the testkit's `Process`: a guardian waits for the end of a pipe that this process holds, and ends the program then. */
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
    // Signals of a terminal are for the test run, not for what it starts.
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
        Effect.timeoutFail({
          duration: limit,
          onTimeout: () => new StillRunning({ after: Duration.decode(limit), stderr })
        })
      ),
    written: (wanted, limit = "40 seconds") =>
      Effect.gen(function* () {
        while (true) {
          const line = stderr.split("\n").find((line) => wanted.test(line))
          if (line !== undefined) return line
          yield* Effect.sleep("10 millis")
        }
      }).pipe(Effect.timeoutFail({ duration: limit, onTimeout: () => new NotWritten({ wanted, stderr }) }))
  }
  return { child, finished, running }
}

/** Resident memory of a process in MiB. */
export const residentMiB = (pid: number): Effect.Effect<number> =>
  Effect.promise(async () => {
    const status = await Bun.file(`/proc/${pid}/status`).text()
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
  })

/** How long the main thread of a process has been on a processor, in milliseconds: other than its age, no other program's doing. */
export const busyMillis = (pid: number): Effect.Effect<number> =>
  Effect.promise(async () => Number((await Bun.file(`/proc/${pid}/schedstat`).text()).split(" ")[0]) / 1e6)
