/** A running container: a child process, or a simulated one. It exits by itself or the kubelet stops it. */
import * as NodePath from "node:path"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Process from "../envtest/Process.ts"
import * as Environment from "./Environment.ts"
import * as Volumes from "./PodVolumes.ts"
import type { Program } from "./Program.ts"
import type * as SimulatedPods from "./SimulatedPods.ts"

/** The result of a container that has exited. */
export interface Ended {
  readonly exitCode: number
  /** The termination message. */
  readonly message: string
}

/** A running container. */
export interface Running {
  readonly ended: Effect.Effect<Ended>
  /** Sends SIGTERM, and SIGKILL after the grace period. Returns when the container has exited. */
  readonly stop: (grace: Duration.Duration) => Effect.Effect<void>
  /** Like `stop`, for a caller that no longer reports the end. A simulated container does not wait. */
  readonly abandon: (grace: Duration.Duration) => Effect.Effect<void>
}

/** The size limits, in bytes, of a termination message and of a log that serves as one. */
const largestMessage = 4096
const largestFallback = { bytes: 2048, lines: 80 }

/** The exit of a program that does not handle SIGTERM, and of one that SIGKILL ends. */
const terminated: SimulatedPods.End = { after: 0, exitCode: 143 }
const killed: Ended = { exitCode: 137, message: "" }

/** Starts a simulated container, or continues one that has already run for the time `spent`. */
export const pretend = (
  { ends, stopped = terminated }: SimulatedPods.Plan,
  spent: Duration.Duration = Duration.zero
): Effect.Effect<Running> =>
  Effect.gen(function* () {
    const stopRequest = yield* Deferred.make<Duration.Duration>()
    const come = ({ after, exitCode, message = "" }: SimulatedPods.End) =>
      Effect.as(Effect.sleep(after), { exitCode, message })
    const whenStopped = Effect.flatMap(Deferred.await(stopRequest), (grace) =>
      Duration.isLessThanOrEqualTo(Duration.fromInputUnsafe(stopped.after), grace)
        ? come(stopped)
        : Effect.as(Effect.sleep(grace), killed)
    )
    // A race takes two fibers, and most simulated containers do not end by themselves.
    const end =
      ends === undefined
        ? whenStopped
        : Effect.raceFirst(
            come({ ...ends, after: Duration.subtract(Duration.fromInputUnsafe(ends.after), spent) }),
            whenStopped
          )
    // All callers share one exit.
    const ended = yield* Effect.cached(end)
    return {
      ended,
      stop: (grace) => Effect.asVoid(Effect.andThen(Deferred.succeed(stopRequest, grace), ended)),
      abandon: () => Effect.void
    }
  })

/** Returns the path of the file with the output of a container. */
export const logOf = (places: Volumes.Places, uid: string, container: string): string =>
  NodePath.join(places.pod(uid), "logs", `${container}.log`)

/** Decodes the last `count` bytes, as a kubelet does, without a leading partial character. */
const lastBytes = (bytes: Uint8Array, count: number): string => {
  const start = Math.max(0, bytes.length - count)
  const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80
  const whole = start === 0 ? 0 : [0, 1, 2, 3].map((more) => start + more).find((at) => !isInside(at))
  return new TextDecoder().decode(bytes.subarray(whole ?? start))
}

const lastLines = (log: Uint8Array): string =>
  lastBytes(log, largestFallback.bytes).split("\n").slice(-largestFallback.lines).join("\n")

/** Sends SIGTERM to the program only, as to the first process of a container. The program must end its own children. */
const terminate = (pid: number): Effect.Effect<void> => Effect.ignore(Effect.try(() => process.kill(pid, "SIGTERM")))

/** Sends SIGKILL to the process group of a program. Returns false if the program leads no group, not yet or no longer. */
const killGroup = (pid: number): boolean => {
  try {
    return process.kill(-pid, "SIGKILL")
  } catch {
    return false
  }
}

/** Sends SIGKILL to the program and its children, as a container ends with its first process. */
const kill = (pid: number): Effect.Effect<void> =>
  Effect.ignore(Effect.try(() => killGroup(pid) || process.kill(pid, "SIGKILL")))

/** A container has this time to stop after its `preStop` hook, even if the hook has used up the grace period. */
const leastGrace = Duration.seconds(2)

/** The time to wait for a killed process, so that a node ends even if the system keeps the process. */
const burial = "10 seconds"

/** The parts of a node that its programs need. */
interface Surroundings {
  readonly environment: Environment.Variables
  readonly host: (podIP: string) => string
  readonly places: Volumes.Places
}

/**
 * Prepares the start of a program. The returned start is one synchronous step. Fails while an object that the container needs is missing.
 */
export const prepare = (
  program: Program,
  { environment, host, places }: Surroundings,
  pod: Pod,
  container: Environment.Container,
  podIP = ""
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    // The status of a pod that starts does not have its address yet.
    const env = yield* Environment.of({ ...pod, status: { ...pod.status, podIP } }, container, environment)
    const { root, terminationLog } = yield* Volumes.mount(places, pod, container)
    const log = logOf(places, pod.metadata.uid, container.name)
    yield* fs.makeDirectory(NodePath.dirname(log), { recursive: true })
    const expanded = (words: ReadonlyArray<string> = []) => words.map((word) => Environment.expand(word, env))
    const command = program({
      command: expanded(container.command),
      args: expanded(container.args),
      env,
      root,
      host: host(podIP),
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
        const text = lastBytes(yield* fs.readFile(terminationLog), largestMessage)
        if (text !== "" || exitCode === 0 || container.terminationMessagePolicy !== "FallbackToLogsOnError") return text
        return lastLines((yield* fs.readFile(log)).subarray(written))
      }).pipe(Effect.orElseSucceed(() => ""))
    return Effect.sync((): Running => {
      const child = Process.spawn(command.executable, command.args, {
        env: { PATH: process.env.PATH, HOSTNAME: pod.metadata.name, ...command.env },
        workingDirectory,
        log
      })
      // All callers share one promise, so that the resources of the program are released once.
      const exited = child.exited.then((exitCode) => {
        // In a real container, the exit of the first process kills all others.
        killGroup(child.pid)
        child.release()
        return exitCode
      })
      const exit = Effect.promise(() => exited)
      const end = (grace: Duration.Duration) =>
        terminate(child.pid).pipe(
          // A finalizer cannot be interrupted, and a timeout needs an interruptible effect.
          Effect.andThen(Effect.timeoutOption(Effect.interruptible(exit), grace)),
          Effect.flatMap((within) =>
            within._tag === "Some"
              ? Effect.void
              : Effect.andThen(kill(child.pid), Effect.asVoid(Effect.timeoutOption(Effect.interruptible(exit), burial)))
          )
        )
      /** Runs the `preStop` hook before SIGTERM. The hook uses the time of the grace period. */
      const stop = (grace: Duration.Duration) => {
        const hook = Duration.seconds(container.lifecycle?.preStop?.sleep?.seconds ?? 0)
        if (Duration.equals(hook, Duration.zero) || Duration.equals(grace, Duration.zero)) return end(grace)
        return Effect.timeoutOption(Effect.interruptible(exit), Duration.min(hook, grace)).pipe(
          Effect.andThen(end(Duration.max(Duration.subtract(grace, hook), leastGrace)))
        )
      }
      return {
        ended: Effect.flatMap(exit, (exitCode) =>
          Effect.map(message(exitCode), (text) => ({ exitCode, message: text }))
        ),
        stop,
        abandon: end
      }
    })
  })
