/**
 * Programs that do not outlive the process that started them, even when that one is killed with SIGKILL.
 *
 * Each program is started by a few lines of shell that first fork a guardian and then become the program, under the same
 * process id. The guardian waits at the end of a pipe whose only writer is this process. When this process is gone,
 * however it went, the guardian terminates the program's process group, kills it if it is still there seconds later, and
 * is gone itself. When the program ends first, this process closes the pipe, with the same effect on what it leaves.
 *
 * As each program leads a process group of its own, an interrupt typed at a terminal reaches the test run alone.
 */
import { closeSync, openSync } from "node:fs"
import { Data, Effect, Schedule, type Scope } from "effect"
import * as Log from "./Log.ts"

/** A program did not start, or was not ready in time; the message ends with the last lines of its log. */
export class StartFailed extends Data.TaggedError("StartFailed")<{
  readonly program: string
  readonly reason: string
  readonly log: string
}> {
  override get message(): string {
    return `${this.program} ${this.reason}${this.log === "" ? "" : `; its log ends:\n${this.log}`}`
  }
}

/** The whole environment of a program. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What is started, and what it takes to be ready. */
export interface Options {
  /** What messages call it. */
  readonly name: string
  readonly executable: string
  readonly args: ReadonlyArray<string>
  /** Default: the environment of this process. */
  readonly env?: Environment | undefined
  /** The file that its output is added to. */
  readonly log: string
  /** Asked again and again until it says true; default: ready at once. */
  readonly ready?: Effect.Effect<boolean> | undefined
  /** How long it may take to be ready; default 60 000. */
  readonly startMillis?: number | undefined
  /** How long it may take to end by SIGTERM before it is killed; default 5 000. */
  readonly graceMillis?: number | undefined
  /** How it ends with its Scope, or with this process; default `stop`. */
  readonly atEnd?: "stop" | "kill" | undefined
}

/** A program under our control, running or not. Starts and ends take turns. */
export interface Process {
  readonly name: string
  /** The file with its output. */
  readonly log: string
  /** Its process id, or undefined while it is not running. */
  readonly pid: () => number | undefined
  /** Starts it, with the same arguments as before, and waits until it is ready; nothing when it runs already. */
  readonly start: Effect.Effect<void, StartFailed>
  /** SIGTERM, and SIGKILL when the grace is over; waits for its end. */
  readonly stop: Effect.Effect<void>
  /** SIGKILL; waits for its end. */
  readonly kill: Effect.Effect<void>
  /** SIGSTOP: it keeps its connections and answers nothing. */
  readonly pause: Effect.Effect<void>
  /** SIGCONT. */
  readonly resume: Effect.Effect<void>
  /** Waits until it has ended, however that comes about. */
  readonly ended: Effect.Effect<void>
}

/** The output of a finished program. */
export interface Result {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

/**
 * `$$` is the id of the shell, which the program takes over and which names its group. SIGCONT lets a stopped program see
 * the SIGTERM. The guardian ignores the signal that it sends to its own group, and ends with the group by the last line.
 * `$0` is the grace, in whole seconds since POSIX knows no others.
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
 * Ends what is left of a program's group, by its guardian: as long as that is in the group, nobody else can get its id.
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

/** A program that is started at once and looked after by the caller, who has to `release` it when it has ended. */
export interface Spawned {
  /** The id of the program and of its process group. */
  readonly pid: number
  readonly exited: Promise<number>
  /** Ends what it has left behind. */
  readonly release: () => void
}

/** Starts a program with its output in a file. With this process it ends: by SIGTERM, and after the grace by SIGKILL. */
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

/** Runs a program to its end. Interruption ends it, and so does the end of this process. */
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
    const turn = yield* Effect.makeSemaphore(1)
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
      // A program that is left running shall not keep a finished test run alive: its guardian waits for just that end.
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
      Effect.timeoutFail({ duration: limit, onTimeout: () => failed(`was not ready within ${limit} ms`) }),
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

    const kill = signal("SIGKILL").pipe(Effect.zipRight(ended))

    const stop = signal("SIGTERM").pipe(
      Effect.zipRight(signal("SIGCONT")),
      // Interruptible, as a finalizer is not, and a limit on what cannot be interrupted is none.
      Effect.zipRight(Effect.interruptible(ended)),
      Effect.timeoutTo({
        duration: options.graceMillis ?? defaultGraceMillis,
        onSuccess: () => true,
        onTimeout: () => false
      }),
      Effect.flatMap((done) => (done ? Effect.void : kill))
    )

    return {
      name: options.name,
      log: options.log,
      pid: () => running?.child.pid,
      start: turn.withPermits(1)(begin),
      stop: turn.withPermits(1)(stop),
      kill: turn.withPermits(1)(kill),
      pause: signal("SIGSTOP"),
      resume: signal("SIGCONT"),
      ended
    }
  })
