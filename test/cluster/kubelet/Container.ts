/**
 * A container at work: a child process, or what is pretended of one. Either ends by itself or is stopped, and says how.
 */
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Process from "../envtest/Process.ts"
import * as Environment from "./Environment.ts"
import * as Volumes from "./PodVolumes.ts"
import type { Program } from "./Program.ts"
import type * as SimulatedPods from "./SimulatedPods.ts"

/** How a container ended. */
export interface Ended {
  readonly exitCode: number
  /** What it left as its termination message. */
  readonly message: string
}

/** A container that runs. */
export interface Running {
  readonly ended: Effect.Effect<Ended>
  /** Asks it to end, and makes it end when the grace is over. */
  readonly stop: (grace: Duration.Duration) => Effect.Effect<void>
  /** The same when there is nobody left to be told how it ended: of one that is only pretended, nothing is waited for. */
  readonly abandon: (grace: Duration.Duration) => Effect.Effect<void>
}

/** The most that a termination message can be, and a log that stands for one. */
const largestMessage = 4096
const largestFallback = { bytes: 2048, lines: 80 }

/** How a program ends that does not listen to SIGTERM, and one that is killed. */
const terminated: SimulatedPods.End = { after: 0, exitCode: 143 }
const killed: Ended = { exitCode: 137, message: "" }

/** Starts one that is only pretended, or goes on with it after it has run for a time. */
export const pretend = (
  { ends, stopped = terminated }: SimulatedPods.Plan,
  spent: Duration.Duration = Duration.zero
): Effect.Effect<Running> =>
  Effect.gen(function* () {
    const told = yield* Deferred.make<Duration.Duration>()
    const come = ({ after, exitCode, message = "" }: SimulatedPods.End) =>
      Effect.as(Effect.sleep(after), { exitCode, message })
    const byItself = ends === undefined ? Effect.never : come({ ...ends, after: Duration.subtract(ends.after, spent) })
    const asTold = Effect.flatMap(Deferred.await(told), (grace) =>
      Effect.raceFirst(come(stopped), Effect.as(Effect.sleep(grace), killed))
    )
    // One end for all who ask.
    const ended = yield* Effect.cached(Effect.raceFirst(byItself, asTold))
    return {
      ended,
      stop: (grace) => Effect.asVoid(Effect.zipRight(Deferred.succeed(told, grace), ended)),
      abandon: () => Effect.void
    }
  })

/** The file with what a container writes. */
export const logOf = (places: Volumes.Places, uid: string, container: string): string =>
  NodePath.join(places.pod(uid), "logs", `${container}.log`)

/** The end of what is longer, as a kubelet reads it; a character that is cut through is left out. */
const lastBytes = (bytes: Uint8Array, count: number): string => {
  const start = Math.max(0, bytes.length - count)
  const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80
  const whole = start === 0 ? 0 : [0, 1, 2, 3].map((more) => start + more).find((at) => !isInside(at))
  return new TextDecoder().decode(bytes.subarray(whole ?? start))
}

const lastWords = (log: Uint8Array): string =>
  lastBytes(log, largestFallback.bytes).split("\n").slice(-largestFallback.lines).join("\n")

/** To the program alone, as to the first process of a container: what it has started is for it to end. */
const terminate = (pid: number): Effect.Effect<void> => Effect.ignore(Effect.try(() => process.kill(pid, "SIGTERM")))

/** All that a program has started; false: it leads no group, not yet or no more. */
const killGroup = (pid: number): boolean => {
  try {
    return process.kill(-pid, "SIGKILL")
  } catch {
    return false
  }
}

/** To the program with all that it has started, as a container ends with its first process. */
const kill = (pid: number): Effect.Effect<void> =>
  Effect.ignore(Effect.try(() => killGroup(pid) || process.kill(pid, "SIGKILL")))

/** How long the end of what was killed is waited for: a node ends, whatever the system does with its processes. */
const burial = "10 seconds"

/** Prepares its start, which is one synchronous step; fails while something that it needs is not there. */
export const prepare = (
  program: Program,
  { environment, places }: { readonly environment: Environment.Variables; readonly places: Volumes.Places },
  pod: Pod,
  container: Environment.Container
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const env = yield* Environment.of(pod, container, environment)
    const { root, terminationLog } = yield* Volumes.mount(places, pod, container)
    const log = logOf(places, pod.metadata.uid, container.name)
    yield* fs.makeDirectory(NodePath.dirname(log), { recursive: true })
    const expanded = (words: ReadonlyArray<string> = []) => words.map((word) => Environment.expand(word, env))
    const command = program({
      command: expanded(container.command),
      args: expanded(container.args),
      env,
      root,
      terminationLog
    })
    const workingDirectory = command.workingDirectory ?? Volumes.inside(root, container.workingDir ?? "/")
    yield* fs.makeDirectory(workingDirectory, { recursive: true })
    const written = yield* fs.stat(log).pipe(
      Effect.map(({ size }) => Number(size)),
      Effect.orElseSucceed(() => 0)
    )
    const message = (exitCode: number) =>
      Effect.gen(function* () {
        const said = lastBytes(yield* fs.readFile(terminationLog), largestMessage)
        if (said !== "" || exitCode === 0 || container.terminationMessagePolicy !== "FallbackToLogsOnError") return said
        return lastWords((yield* fs.readFile(log)).subarray(written))
      }).pipe(Effect.orElseSucceed(() => ""))
    return Effect.sync((): Running => {
      const child = Process.spawn(command.executable, command.args, {
        env: { PATH: process.env.PATH, HOSTNAME: pod.metadata.name, ...command.env },
        workingDirectory,
        log
      })
      // One promise for all who wait: what the program has left is released once.
      const exited = child.exited.then((exitCode) => {
        // With the first process of a container all others end, unasked.
        killGroup(child.pid)
        child.release()
        return exitCode
      })
      const exit = Effect.promise(() => exited)
      const stop = (grace: Duration.Duration) =>
        terminate(child.pid).pipe(
          // Interruptible, as a finalizer is not, and a limit on what cannot be interrupted is none.
          Effect.zipRight(Effect.timeoutOption(Effect.interruptible(exit), grace)),
          Effect.flatMap((within) =>
            within._tag === "Some"
              ? Effect.void
              : Effect.zipRight(
                  kill(child.pid),
                  Effect.asVoid(Effect.timeoutOption(Effect.interruptible(exit), burial))
                )
          )
        )
      return {
        ended: Effect.flatMap(exit, (exitCode) =>
          Effect.map(message(exitCode), (text) => ({ exitCode, message: text }))
        ),
        stop,
        abandon: stop
      }
    })
  })
