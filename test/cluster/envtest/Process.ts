/**
 * Starts programs that end with the process that started them, even if SIGKILL ends that process.
 *
 * A few lines of shell start each program. The shell forks a guardian, and then becomes the program with the same process id. The
 * guardian waits for the end of a pipe whose only writer is this process.
 *
 * When this process ends, in any way, the guardian sends SIGTERM to the program's process group. It sends SIGKILL after the grace period,
 * and then ends itself. When the program ends first, this process closes the pipe, so the guardian ends the program's children in the
 * same way.
 *
 * Each program leads its own process group, so Ctrl-C in a terminal reaches the test run only.
 */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs"
import { Data, Effect, Schedule, type Scope, Semaphore } from "effect"
import * as Log from "./Log.ts"

/** A program did not start, or was not ready in time. The message ends with the last lines of its log. */
export class StartFailed extends Data.TaggedError("StartFailed")<{
  readonly program: string
  readonly reason: string
  readonly log: string
}> {
  override get message(): string {
    return `${this.program} ${this.reason}${this.log === "" ? "" : `; its log ends:\n${this.log}`}`
  }
}

/** Whether all threads of a process are stopped. Always true after its end, and on a system without `/proc`. */
const isStopped = (pid: number): boolean => {
  const threads = `/proc/${pid}/task`
  const read = <A>(read: () => A): A | undefined => {
    try {
      return read()
    } catch {
      return undefined
    }
  }
  const states = read(() => readdirSync(threads))?.map((thread) =>
    read(() => readFileSync(`${threads}/${thread}/stat`, "latin1"))
  )
  // The state follows the name, which is in parentheses. T: stopped. X and Z: ended.
  return states?.every((stat) => stat === undefined || /\) [TXZ] /.test(stat)) ?? true
}

/** The whole environment of a program. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The program to start, and the condition for its readiness. */
export interface Options {
  /** The name of the program in messages. */
  readonly name: string
  readonly executable: string
  readonly args: ReadonlyArray<string>
  /** Default: the environment of this process. */
  readonly env?: Environment | undefined
  /** The file to which its output is appended. */
  readonly log: string
  /** Repeated until it returns true. Default: the program is ready at once. */
  readonly ready?: Effect.Effect<boolean> | undefined
  /** The time limit for readiness, in milliseconds. Default 60 000. */
  readonly startMillis?: number | undefined
  /** The grace period between SIGTERM and SIGKILL, in milliseconds. Default 5 000. */
  readonly graceMillis?: number | undefined
  /** How the program ends with its Scope or with this process. Default `stop`. */
  readonly atEnd?: "stop" | "kill" | undefined
}

/** A program that this process controls, running or not. `start`, `stop` and `kill` wait for each other. */
export interface Process {
  readonly name: string
  /** The file with its output. */
  readonly log: string
  /** The process id; undefined while the program is not running. */
  readonly pid: () => number | undefined
  /** Starts the program with the same arguments as before, and waits until it is ready. Does nothing if the program already runs. */
  readonly start: Effect.Effect<void, StartFailed>
  /** Sends SIGTERM, and SIGKILL after the grace period. Waits until the program has ended. */
  readonly stop: Effect.Effect<void>
  /** Sends SIGKILL, and waits until the program has ended. */
  readonly kill: Effect.Effect<void>
  /** Sends SIGSTOP, and waits until the program stands still: it keeps its connections and does not respond. */
  readonly pause: Effect.Effect<void>
  /** Sends SIGCONT. */
  readonly resume: Effect.Effect<void>
  /** Waits until the program has ended, for any reason. */
  readonly ended: Effect.Effect<void>
}

/** The output of a finished program. */
export interface Result {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/**
 * `$$` is the id of the shell and of its process group; the program takes over both. SIGCONT lets a stopped program receive the SIGTERM.
 * The guardian ignores the SIGTERM that it sends to its own group. The SIGKILL in the last line also ends the guardian.
 * `$0` is the grace period in whole seconds, because `sleep` in POSIX accepts only whole seconds.
 */
const guarded = `(
  trap '' HUP INT TERM
  read -r _
  kill -s TERM -- -$$
  kill -s CONT -- -$$
  left=$0
  while [ $left -gt 0 ] && kill -s 0 $$; do sleep 1; left=$((left - 1)); done
  kill -s KILL -- -$$
) <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

const defaultGraceMillis = 5_000

const commandOf = (
  executable: string,
  args: ReadonlyArray<string>,
  graceMillis = defaultGraceMillis
): Array<string> => ["sh", "-c", guarded, String(Math.ceil(graceMillis / 1000)), executable, ...args]

/**
 * Closes the pipe, so the guardian ends the rest of the group. The guardian is in the group, so no other group can get its id meanwhile.
 */
const release = (child: Bun.Subprocess): void => {
  const pipe = child.stdio[3]
  if (typeof pipe === "number") closeSync(pipe)
}

/** Starts a program for the lifetime of the Scope and waits until it is ready. */
export const start = (options: Options): Effect.Effect<Process, StartFailed, Scope.Scope> =>
  Effect.acquireRelease(make(options), (made) => (options.atEnd === "kill" ? made.kill : made.stop)).pipe(
    Effect.tap((made) => made.start)
  )

/** A program that runs at once. The caller has to `release` it when it has ended. */
export interface Spawned {
  /** The id of the program and of its process group. */
  readonly pid: number
  readonly exited: Promise<number>
  /** Ends the processes that the program has left behind. */
  readonly release: () => void
}

/** Starts a program with its output in a file. When this process ends, the program gets SIGTERM, and SIGKILL after the grace period. */
export const spawn = (
  executable: string,
  args: ReadonlyArray<string>,
  options: {
    readonly env: Environment
    readonly workingDirectory: string
    readonly log: string
    readonly graceMillis?: number | undefined
  }
): Spawned => {
  const output = openSync(options.log, "a")
  const child = Bun.spawn(commandOf(executable, args, options.graceMillis), {
    stdio: ["ignore", output, output, "pipe"],
    detached: true,
    cwd: options.workingDirectory,
    env: options.env
  })
  closeSync(output)
  child.unref()
  return { pid: child.pid, exited: child.exited, release: () => release(child) }
}

/** Runs a program to its end. Every exit code is a result. Interruption or the end of this process ends the program. */
export const run = (
  executable: string,
  args: ReadonlyArray<string>,
  options?: { readonly stdin?: string | undefined; readonly env?: Environment | undefined }
): Effect.Effect<Result> =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      Bun.spawn(commandOf(executable, args), {
        stdio: [new TextEncoder().encode(options?.stdin ?? ""), "pipe", "pipe", "pipe"],
        detached: true,
        env: options?.env ?? process.env
      })
    ),
    (child) =>
      Effect.promise(async () => {
        const [stdout, stderr, exitCode] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
          child.exited
        ])
        return { stdout, stderr, exitCode }
      }),
    (child) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        release(child)
        return child.exited
      })
  )

const make = (options: Options): Effect.Effect<Process> =>
  Effect.gen(function* () {
    const turn = yield* Semaphore.make(1)
    let running: { readonly child: Bun.Subprocess; readonly gone: Promise<void> } | undefined
    let logged = 0

    const launch = Effect.sync(() => {
      logged = Log.size(options.log)
      const output = openSync(options.log, "a")
      const child = Bun.spawn(
        commandOf(options.executable, options.args, options.atEnd === "kill" ? 0 : options.graceMillis),
        {
          stdio: ["ignore", output, output, "pipe"],
          detached: true,
          env: options.env ?? process.env
        }
      )
      closeSync(output)
      // A running program must not keep a finished test run alive: its guardian waits for the end of the test run.
      child.unref()
      const gone = child.exited.then(() => {
        release(child)
        if (running?.child === child) running = undefined
      })
      running = { child, gone }
      return running
    })

    const failed = (reason: string): StartFailed =>
      new StartFailed({ program: options.name, reason, log: Log.tail(options.log, 20, logged) })

    const limit = options.startMillis ?? 60_000
    const ready = Effect.repeat(options.ready ?? Effect.succeed(true), {
      until: (is) => is,
      schedule: Schedule.spaced("50 millis")
    }).pipe(
      Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(failed(`was not ready within ${limit} ms`)) }),
      Effect.asVoid
    )

    const begin = Effect.gen(function* () {
      if (running !== undefined) return
      const { child, gone } = yield* launch
      const early = Effect.promise(() => gone).pipe(
        Effect.flatMap(() => failed(`ended by itself (${child.signalCode ?? `exit code ${child.exitCode}`})`))
      )
      yield* Effect.raceFirst(ready, early)
    })

    const ended = Effect.promise(async () => running?.gone)

    const signal = (name: NodeJS.Signals): Effect.Effect<void> => Effect.sync(() => running?.child.kill(name))

    // The kernel stops one thread after the other. This is real time, also in a test with a virtual clock.
    const stopped = Effect.promise(async (interruption) => {
      while (!interruption.aborted && running !== undefined && !isStopped(running.child.pid)) await Bun.sleep(1)
    })

    const kill = signal("SIGKILL").pipe(Effect.andThen(ended))

    const stop = signal("SIGTERM").pipe(
      Effect.andThen(signal("SIGCONT")),
      // The wait is interruptible, because a timeout cannot end an uninterruptible effect, such as a finalizer.
      Effect.andThen(Effect.interruptible(ended)),
      Effect.timeoutOrElse({ duration: options.graceMillis ?? defaultGraceMillis, orElse: () => kill }),
      Effect.asVoid
    )

    return {
      name: options.name,
      log: options.log,
      pid: () => running?.child.pid,
      start: turn.withPermits(1)(begin),
      stop: turn.withPermits(1)(stop),
      kill: turn.withPermits(1)(kill),
      pause: Effect.andThen(signal("SIGSTOP"), stopped),
      resume: signal("SIGCONT"),
      ended
    }
  })
