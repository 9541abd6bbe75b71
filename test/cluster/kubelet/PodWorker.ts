/**
 * The lifecycle of one pod on a node. The worker starts the containers in order and restarts them by their restart policy. It stops the
 * containers when the pod is deleted, and writes their states to the status of the pod.
 */
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as BackOff from "./BackOff.ts"
import * as Container from "./Container.ts"
import type * as Environment from "./Environment.ts"
import * as Events from "./Events.ts"
import * as ImagePull from "./ImagePull.ts"
import * as Obstacle from "./Obstacle.ts"
import * as Patience from "./Patience.ts"
import * as PodFailure from "./PodFailure.ts"
import * as PodStatus from "./PodStatus.ts"
import * as Volumes from "./PodVolumes.ts"
import * as Probes from "./Probes.ts"
import * as Program from "./Program.ts"
import * as RestartPolicy from "./RestartPolicy.ts"
import * as SimulatedPods from "./SimulatedPods.ts"
import * as StatusWriter from "./StatusWriter.ts"

/** The settings that all pods of a node share. */
export interface Node {
  readonly name: string
  readonly ip: string
  readonly images: Program.Images
  /** Images that cannot be pulled. */
  readonly unpullable: ReadonlyArray<string>
  readonly times: SimulatedPods.Times
  /** The behaviour of simulated pods; undefined: the default behaviour. */
  readonly pods: SimulatedPods.Pods | undefined
  /** Whether the kubelet writes Events. */
  readonly events: boolean
  readonly places: Volumes.Places
  /** Variables that every container gets in addition to those of its pod. */
  readonly environment: Environment.Variables
  /** Allocates an IP address for a new pod. */
  readonly address: () => string
  /** Returns the address of this machine that stands for the address of a pod. */
  readonly host: (podIP: string) => string
}

/** The worker of one pod. */
export interface Worker {
  /** Passes a pod from the watch to the worker: its latest state, or undefined after its deletion by another client. */
  readonly update: (pod: Pod | undefined) => Effect.Effect<void>
  /** Runs the pod. Ends when the pod has ended and is deleted. */
  readonly run: Effect.Effect<void, never, Client.Client | FileSystem.FileSystem>
}

/** The minimum grace period of a sidecar, even if the other containers have used up the grace period of the pod. */
const leastGrace = Duration.seconds(2)

const timestamp = Effect.map(Clock.currentTimeMillis, Time.seconds)

/** The running state of a container that an earlier kubelet started; undefined if no earlier kubelet started it. */
type RunningState = NonNullable<PodStatus.ContainerStatus["state"]>["running"]

/**
 * Makes the worker of a pod. `outdated` runs when another client has written the status or undone the deletion: another worker must
 * continue the pod. A program keeps running, so its worker writes the status again.
 */
export const make = (node: Node, first: Pod, outdated: Effect.Effect<void>): Effect.Effect<Worker> =>
  Effect.gen(function* () {
    let pod = first
    const spec = first.spec
    const initContainers = spec?.initContainers ?? []
    const containers = spec?.containers ?? []
    const isProgram = Program.isIn(node.images, first)
    /** The status that an earlier kubelet wrote for a simulated pod. The worker continues the containers from this status. */
    const earlier = isProgram || first.status?.podIP === undefined ? undefined : first.status
    const began =
      first.status?.startTime === undefined ? yield* Clock.currentTimeMillis : Date.parse(first.status.startTime)
    const ending = yield* Deferred.make<"deleted" | "gone">()
    const foreign = yield* Queue.sliding<void>(1)
    const gone = yield* Deferred.make<void>()
    /** The running containers, and whether the worker has reported their end. */
    const running = new Map<
      string,
      { readonly process: Container.Running; readonly reported: Deferred.Deferred<void> }
    >()
    /** The sidecars, and whether they have started. The next container starts after its sidecar. */
    const starts = new Map<string, Deferred.Deferred<void>>()
    for (const { name } of initContainers) {
      if (RestartPolicy.isSidecar(first, name)) starts.set(name, yield* Deferred.make<void>())
    }
    /** Whether the worker no longer starts containers. */
    let stopping = false
    const seen = new Map<string, PodStatus.ContainerStatus>()
    for (const status of PodStatus.statuses(earlier)) seen.set(status.name, status)
    /** The containers that an earlier kubelet started. */
    const resumed = new Map(seen)
    let ip = earlier?.podIP
    let failed: PodFailure.PodFailure | undefined

    const statusOf = ({ image = "", name }: Environment.Container): PodStatus.ContainerStatus =>
      seen.get(name) ??
      PodStatus.waiting(name, image, initContainers.length > 0 ? "PodInitializing" : "ContainerCreating")

    const writer = yield* StatusWriter.make(
      first,
      (written) => {
        pod = written
      },
      isProgram ? Queue.offer(foreign, undefined) : outdated
    )
    /** Writes the current status, in order. If the pod is deleted meanwhile, the watch reports the deletion. */
    const publish = writer.write(
      Effect.map(timestamp, (now) =>
        PodStatus.of({
          pod,
          init: initContainers.map(statusOf),
          containers: containers.map(statusOf),
          ip,
          hostIp: node.ip,
          startTime: Time.seconds(began),
          failed,
          now
        })
      )
    )
    const see = (container: Environment.Container, change: Partial<PodStatus.ContainerStatus>) =>
      Effect.andThen(
        Effect.sync(() => seen.set(container.name, { ...statusOf(container), ...change })),
        Effect.suspend(() => {
          const started = change.started === true ? starts.get(container.name) : undefined
          return started === undefined ? publish : Effect.tap(publish, Deferred.succeed(started, undefined))
        })
      )
    let events = 0
    const record = (event: Events.PodEvent) =>
      node.events ? Effect.suspend(() => Events.write(node.name, pod, events++, event)) : Effect.void

    const recordUnmounted = (message: string) => record({ type: "Warning", reason: "FailedMount", message })

    const recordUnconfigured = (container: Environment.Container) => (message: string) =>
      Effect.andThen(
        see(container, { state: { waiting: { reason: "CreateContainerConfigError", message } } }),
        record({ type: "Warning", reason: "Failed", message: `Error: ${message}`, container: container.name })
      )

    const begin = (container: Environment.Container, before: RunningState) =>
      Effect.gen(function* () {
        const program = Program.find(node.images, container.image ?? "")
        const now = yield* Clock.currentTimeMillis
        const spent = before === undefined ? 0 : now - Date.parse(before.startedAt ?? "")
        const start =
          program === undefined
            ? Container.pretend(planOf(container), Duration.millis(spent))
            : yield* Patience.retry(Container.prepare(program, node, pod, container, ip), recordUnconfigured(container))
        const reported = yield* Deferred.make<void>()
        // The start and its registration cannot be interrupted apart, so that `stop` knows every running container.
        return yield* Effect.uninterruptible(
          Effect.suspend(() =>
            stopping
              ? Effect.interruptible(Effect.never)
              : Effect.map(start, (process) => {
                  running.set(container.name, { process, reported })
                  return { process, reported }
                })
          )
        )
      })

    const planOf = ({ name }: Environment.Container) => SimulatedPods.plan(pod, name, node.times, node.pods)

    const isMapped = ({ image = "" }: Environment.Container) => Program.find(node.images, image) !== undefined

    const failing = ({ name }: Environment.Container) => SimulatedPods.failing(pod, name, node.times, node.pods)

    /** Open while a probe of a simulated container may fail. */
    const troubled = yield* Latch.make()
    const watchTrouble = ({ metadata: { annotations } }: Pod) =>
      node.pods !== undefined || annotations?.[SimulatedPods.failingProbes] !== undefined
        ? troubled.open
        : troubled.close
    yield* watchTrouble(first)

    /** The health of a container at its start. A simulated container whose probes neither fail nor wait is healthy at once. */
    const healthAtFirst = (container: Environment.Container): Probes.Health =>
      isMapped(container) || Probes.isDelayed(container) || failing(container).length > 0
        ? Probes.atFirst(container)
        : { started: true, ready: true }

    /** Probes a container, and stops it when a probe fails. The restart policy decides whether the container restarts. */
    const probe = (
      container: Environment.Container,
      since: number,
      health: Probes.Health,
      process: Container.Running
    ) => {
      const { name } = container
      const isProgram = isMapped(container)
      const look = isProgram
        ? Probes.program(container, node.host(ip ?? ""))
        : Probes.pretended(() => failing(container))
      return Probes.run(container, since, health, look, isProgram ? Effect.void : troubled.await, {
        started: see(container, { started: true }),
        ready: (ready) => see(container, { ready }),
        unhealthy: (message) => record({ type: "Warning", reason: "Unhealthy", message, container: name })
      }).pipe(
        // If the pod is stopping, its own grace period applies.
        Effect.flatMap(({ graceSeconds, kind }) => {
          if (stopping) return Effect.void
          const message = starts.has(name)
            ? `Init container ${name} failed ${kind} probe`
            : `Container ${name} failed ${kind} probe${RestartPolicy.restarts(first, container, 1) ? ", will be restarted" : ""}`
          return Effect.andThen(
            record({ reason: "Killing", message, container: name }),
            process.stop(graceSeconds === undefined ? grace() : Duration.seconds(graceSeconds))
          )
        })
      )
    }

    /** Reports a container from its start to its end. The status of a container that continues is already written. */
    const attend = (
      container: Environment.Container,
      isInit: boolean,
      process: Container.Running,
      before: RunningState
    ) =>
      Effect.gen(function* () {
        const { image = "", name } = container
        const since = before?.startedAt === undefined ? yield* Clock.currentTimeMillis : Date.parse(before.startedAt)
        const startedAt = Time.seconds(since)
        const { ready, restartCount, started = false } = statusOf(container)
        const health = before === undefined ? healthAtFirst(container) : { started, ready }
        const containerID = `embedded://${pod.metadata.uid}/${name}/${restartCount}`
        if (before === undefined) {
          yield* see(container, {
            imageID: image,
            containerID,
            started: health.started,
            ready: health.ready && !isInit,
            state: { running: { startedAt } }
          })
          yield* record({ reason: "Created", message: "Container created", container: name })
          yield* record({ reason: "Started", message: "Container started", container: name })
        } else if (started) {
          const start = starts.get(name)
          if (start !== undefined) yield* Deferred.succeed(start, undefined)
        }
        const isProbed = Probes.isProbed(container)
        const probing = isProbed ? yield* Effect.forkChild(probe(container, since, health, process)) : undefined
        const { exitCode, message } = yield* process.ended
        if (probing !== undefined) yield* Fiber.interrupt(probing)
        const terminated = {
          exitCode,
          reason: exitCode === 0 ? "Completed" : "Error",
          ...(message === "" ? {} : { message }),
          startedAt,
          finishedAt: yield* timestamp,
          containerID
        }
        yield* see(container, { ready: isInit && exitCode === 0, started: false, state: { terminated } })
        return terminated
      })

    /** Runs a container until its restart policy ends it. Returns the last exit code. */
    const work = (container: Environment.Container, isInit: boolean) =>
      Effect.gen(function* () {
        const { image = "", name } = container
        const before = resumed.get(name)
        resumed.delete(name)
        let resumes = before?.state?.running
        let last = PodStatus.endOf(before)
        const setWaiting = (reason: string, message: string, change: Partial<PodStatus.ContainerStatus> = {}) =>
          see(container, { state: { waiting: { reason, message } }, ...change })
        if (resumes === undefined && last === undefined) {
          if (!isMapped(container)) yield* Obstacle.wait(name, () => planOf(container), setWaiting, record)
          yield* record({
            reason: "Pulled",
            message: `Container image ${JSON.stringify(image)} already present on machine`,
            container: name
          })
        }
        const ended = Effect.suspend(() =>
          Effect.flatMap(begin(container, resumes), ({ process, reported }) =>
            Effect.ensuring(attend(container, isInit, process, resumes), Deferred.succeed(reported, undefined))
          )
        )
        while (true) {
          const terminated = last ?? (yield* ended)
          running.delete(name)
          const { exitCode } = terminated
          if (!RestartPolicy.restarts(first, container, exitCode) || stopping) return exitCode
          const { restartCount, state } = statusOf(container)
          const spent =
            last === undefined
              ? Duration.zero
              : Duration.millis((yield* Clock.currentTimeMillis) - Date.parse(last.finishedAt ?? ""))
          yield* BackOff.wait(
            { pod, container: name, restarts: restartCount, spent, isReported: state?.waiting !== undefined },
            (reason, message) => setWaiting(reason, message, { lastState: { terminated } }),
            record
          )
          seen.set(name, { ...statusOf(container), restartCount: restartCount + 1, lastState: { terminated } })
          last = undefined
          resumes = undefined
        }
      })

    const recordUnpulled =
      ({ image }: ImagePull.Refusal) =>
      (reason: string, message: string) =>
        Effect.suspend(() => {
          for (const { name } of containers.filter((one) => one.image === image)) {
            seen.set(name, PodStatus.waiting(name, image, reason, message))
          }
          return publish
        })

    const grace = () =>
      Duration.seconds(pod.metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30)

    /** Stops the containers, and waits until their ends are reported. The sidecars stop after the other containers, in reverse order. */
    const stop = Effect.gen(function* () {
      stopping = true
      const since = yield* Clock.currentTimeMillis
      const end = (name: string) =>
        Effect.gen(function* () {
          const one = running.get(name)
          if (one === undefined) return
          const spent = Duration.millis((yield* Clock.currentTimeMillis) - since)
          const rest = Duration.subtract(grace(), spent)
          yield* record({ reason: "Killing", message: `Stopping container ${name}`, container: name })
          yield* one.process.stop(starts.has(name) ? Duration.max(rest, leastGrace) : rest)
          yield* Deferred.await(one.reported)
        })
      const others = [...running.keys()].filter((name) => !starts.has(name))
      yield* Effect.forEach(others, end, { concurrency: "unbounded", discard: true })
      yield* Effect.forEach([...starts.keys()].toReversed(), end, { discard: true })
    })

    /** Stops the sidecars of a pod that has ended. A deletion stops the sidecars itself, and then interrupts the life of the pod. */
    const finish = Effect.suspend(() => (stopping ? Effect.never : stop))

    const report = (cause: Cause.Cause<never>) =>
      Effect.logError(`The kubelet has lost pod ${first.metadata.name} by a mistake of its own`, cause)

    const life = Effect.gen(function* () {
      if (earlier === undefined) {
        yield* publish
        if (isProgram) yield* Patience.retry(Volumes.prepare(node.places, pod), recordUnmounted)
        else yield* Effect.sleep(node.times.startUp)
        ip = node.address()
      }
      const image = ImagePull.refused(pod, node.unpullable)
      if (image !== undefined) return yield* ImagePull.report(image, recordUnpulled(image), record)
      for (const container of initContainers) {
        const started = starts.get(container.name)
        if (started !== undefined) {
          yield* Effect.forkChild(Effect.catchCause(work(container, false), report))
          yield* Deferred.await(started)
        } else if ((yield* work(container, true)) !== 0) return yield* finish
      }
      yield* Effect.forEach(containers, (container) => work(container, false), {
        // A single container needs no fiber of its own.
        concurrency: containers.length === 1 ? 1 : "unbounded",
        discard: true
      })
      yield* finish
    })

    /** Reports the failure of the pod as a whole. */
    const fail = (why: PodFailure.PodFailure) =>
      Effect.suspend(() => {
        failed = why
        return record({ type: "Warning", reason: why.reason, message: why.message })
      })

    /** Stops the running containers when the node ends or the pod is gone. The worker no longer reports their ends. */
    const abandon = Effect.suspend(() => {
      stopping = true
      return Effect.forEach(running.values(), ({ process }) => process.abandon(grace()), {
        concurrency: "unbounded",
        discard: true
      })
    })

    const remove = Effect.suspend(() => {
      const { name, namespace = "default", uid } = pod.metadata
      return Client.delete(Pod, { namespace, name }, { uid, gracePeriodSeconds: 0 })
    }).pipe(
      Effect.retry({ while: ({ _tag }) => _tag !== "NotFound" && _tag !== "Conflict", schedule: Events.calm }),
      Effect.ignore
    )

    const live = Effect.gen(function* () {
      const living = yield* Effect.forkChild(Effect.catchCause(life, report))
      // Interrupts a container that waits for a Secret, an image or the end of a back-off.
      const halt = Effect.andThen(stop, Fiber.interrupt(living))
      const end = Deferred.await(ending)
      const failure = PodFailure.next(pod, began, node.times, node.pods)
      const how = yield* failure === undefined
        ? end
        : Effect.raceFirst(
            end,
            failure.pipe(Effect.flatMap(fail), Effect.andThen(halt), Effect.andThen(publish), Effect.andThen(end))
          )
      if (how === "deleted") yield* halt
    })

    const run = Effect.gen(function* () {
      if (isProgram) yield* Effect.forkChild(Effect.forever(Effect.andThen(Queue.take(foreign), publish)))
      // A pod that is already being deleted when the worker first sees it does not start.
      if (!(yield* Deferred.isDone(ending))) yield* live
      if ((yield* Deferred.await(ending)) === "deleted") yield* remove
      // A finalizer may keep the pod in the API server. Its logs stay readable until the pod is gone.
      yield* Deferred.await(gone)
    }).pipe(
      Effect.ensuring(abandon),
      Effect.ensuring(
        Effect.flatMap(FileSystem.FileSystem, (fs) =>
          isProgram
            ? Effect.ignore(fs.remove(node.places.pod(first.metadata.uid), { recursive: true, force: true }))
            : Effect.void
        )
      )
    )

    return {
      run,
      update: (next) =>
        Effect.suspend(() => {
          if (next === undefined) {
            return Effect.andThen(Deferred.succeed(gone, undefined), Deferred.succeed(ending, "gone"))
          }
          pod = next
          if (next.metadata.deletionTimestamp !== undefined) {
            return Effect.andThen(Deferred.succeed(ending, "deleted"), writer.seen(next))
          }
          const observe = Effect.andThen(watchTrouble(next), writer.seen(next))
          return Effect.flatMap(Deferred.isDone(ending), (isUndeleted) => (isUndeleted ? outdated : observe))
        })
    }
  })
