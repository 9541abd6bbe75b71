/**
 * A container at work: a child process, or what is pretended of one. Either ends by itself or is stopped, and says how.
 */
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Process from "../envtest/Process.ts"
import * as Environment from "./Environment.ts"
import type * as Pretence from "./Pretence.ts"
import type { Program } from "./Program.ts"
import * as Volumes from "./Volumes.ts"

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
}

/** The most that a termination message can be, and a log that stands for one. */
const largestMessage = 4096
const largestFallback = { bytes: 2048, lines: 80 }

/** Starts one that is only pretended. */
export const pretend = ({ ends }: Pretence.Plan): Effect.Effect<Running> =>
  Effect.gen(function* () {
    const stopped = yield* Deferred.make<Ended>()
    const ended =
      ends === undefined
        ? Deferred.await(stopped)
        : Effect.raceFirst(
            Deferred.await(stopped),
            Effect.as(Effect.sleep(ends.after), { exitCode: ends.exitCode, message: "" })
          )
    return { ended, stop: () => Deferred.succeed(stopped, { exitCode: 0, message: "" }) }
  })

/** The file with what a container writes. */
export const logOf = (places: Volumes.Places, uid: string, container: string): string =>
  NodePath.join(places.pod(uid), "logs", `${container}.log`)

const lastWords = (log: string): string =>
  log.slice(-largestFallback.bytes).split("\n").slice(-largestFallback.lines).join("\n")

/** To all that the program has started; to itself alone where it has not got as far as a group of its own. */
const signal = (pid: number, name: NodeJS.Signals): Effect.Effect<void> =>
  Effect.try(() => process.kill(-pid, name)).pipe(
    Effect.orElse(() => Effect.try(() => process.kill(pid, name))),
    Effect.ignore
  )

/** How long the end of what was killed is waited for: a node ends, whatever the system does with its processes. */
const burial = "10 seconds"

/** Prepares its start, which is one synchronous step; fails while something that it needs is not there. */
export const prepare = (program: Program, places: Volumes.Places, pod: Pod, container: Environment.Container) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const env = yield* Environment.of(pod, container)
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
        const said = yield* fs.readFileString(terminationLog)
        if (said !== "" || exitCode === 0 || container.terminationMessagePolicy !== "FallbackToLogsOnError") {
          return said.slice(0, largestMessage)
        }
        return lastWords((yield* fs.readFileString(log)).slice(written))
      }).pipe(Effect.orElseSucceed(() => ""))
    return Effect.sync((): Running => {
      const child = Process.spawn(command.executable, command.args, {
        env: { PATH: process.env.PATH, HOSTNAME: pod.metadata.name, ...command.env },
        workingDirectory,
        log
      })
      // One promise for all who wait: what the program has left is released once.
      const exited = child.exited.then((exitCode) => {
        child.release()
        return exitCode
      })
      const exit = Effect.promise(() => exited)
      return {
        ended: Effect.flatMap(exit, (exitCode) =>
          Effect.map(message(exitCode), (text) => ({ exitCode, message: text }))
        ),
        stop: (grace) =>
          signal(child.pid, "SIGTERM").pipe(
            // Interruptible, as a finalizer is not, and a limit on what cannot be interrupted is none.
            Effect.zipRight(Effect.timeoutOption(Effect.interruptible(exit), grace)),
            Effect.flatMap((within) =>
              within._tag === "Some"
                ? Effect.void
                : Effect.zipRight(
                    signal(child.pid, "SIGKILL"),
                    Effect.asVoid(Effect.timeoutOption(Effect.interruptible(exit), burial))
                  )
            )
          )
      }
    })
  })
