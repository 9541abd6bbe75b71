/**
 * The life of one pod on a node: its containers are started in order, restarted by its policy, and stopped when it is deleted.
 * What is seen of them is written to its status.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Container from "./Container.ts"
import type * as Environment from "./Environment.ts"
import * as Events from "./Events.ts"
import * as PodStatus from "./PodStatus.ts"
import * as Volumes from "./PodVolumes.ts"
import * as Probes from "./Probes.ts"
import * as Program from "./Program.ts"
import * as SimulatedPods from "./SimulatedPods.ts"

/** What the pods of a node have in common. */
export interface Node {
  readonly name: string
  readonly ip: string
  readonly images: Program.Images
  /** Images that can't be pulled. */
  readonly unpullable: ReadonlyArray<string>
  readonly times: SimulatedPods.Times
  /** What pretended pods do that are not to do as the others. */
  readonly pods: SimulatedPods.Pods | undefined
  readonly places: Volumes.Places
  /** What every container is told besides what its pod says. */
  readonly environment: Environment.Variables
  /** An address for a new pod. */
  readonly address: () => string
}

/** A pod that is looked after. */
export interface Worker {
  /** What its watch tells: the newest state of the pod, or that it is gone without us. */
  readonly update: (pod: Pod | undefined) => Effect.Effect<void>
  /** Ends when there is nothing left to do: the pod is over and deleted. */
  readonly run: Effect.Effect<void, never, Client.Client | FileSystem.FileSystem>
}

/** Between two looks for something that a pod needs and that is missing. */
const patience = Duration.seconds(1)

/** How long a container that has failed so often waits: not at all, 10 s, 20 s, … 5 min. */
export const backOff = (restarts: number): Duration.Duration =>
  restarts === 0 ? Duration.zero : Duration.seconds(Math.min(10 * 2 ** (restarts - 1), 300))

const timestamp = Effect.map(Clock.currentTimeMillis, Time.seconds)

/** Looks after a pod. */
export const make = (node: Node, first: Pod): Effect.Effect<Worker> =>
  Effect.gen(function* () {
    let pod = first
    const spec = first.spec
    const initContainers = spec?.initContainers ?? []
    const containers = spec?.containers ?? []
    const startTime = yield* timestamp
    const ending = yield* Deferred.make<"deleted" | "gone">()
    const gone = yield* Deferred.make<void>()
    /** The containers that run, and whether it was told how they ended. */
    const running = new Map<string, { readonly process: Container.Running; readonly told: Deferred.Deferred<void> }>()
    /** From now on nothing is started any more. */
    let stopping = false
    const seen = new Map<string, PodStatus.ContainerStatus>()
    let ip: string | undefined
    let failed: Parameters<typeof PodStatus.of>[0]["failed"]

    const statusOf = ({ image = "", name }: Environment.Container): PodStatus.ContainerStatus =>
      seen.get(name) ??
      PodStatus.waiting(name, image, initContainers.length > 0 ? "PodInitializing" : "ContainerCreating")

    const one = yield* Effect.makeSemaphore(1)
    /** Writes what is known, in order. That the pod is gone meanwhile is told by the watch. */
    const publish = Effect.gen(function* () {
      const status = PodStatus.of({
        pod,
        init: initContainers.map(statusOf),
        containers: containers.map(statusOf),
        ip,
        hostIp: node.ip,
        startTime,
        failed,
        now: yield* timestamp
      })
      const { name, namespace = "default", uid } = pod.metadata
      pod = yield* Client.status.patch(Pod, { namespace, name }, PodStatus.patch(uid, status), {
        fieldManager: "kubelet"
      })
    }).pipe(
      Effect.retry({
        while: ({ _tag }) => _tag !== "NotFound" && _tag !== "Conflict" && _tag !== "Invalid",
        schedule: Events.calm
      }),
      Effect.ignoreLogged,
      one.withPermits(1)
    )
    const see = (container: Environment.Container, change: Partial<PodStatus.ContainerStatus>) =>
      Effect.zipRight(
        Effect.sync(() => seen.set(container.name, { ...statusOf(container), ...change })),
        publish
      )
    let events = 0
    const tell = (told: Events.Told) => Effect.suspend(() => Events.tell(node.name, pod, events++, told))

    /** Waits for what a pod names and is not there; `say` tells of it, once as long as it is the same. */
    const withPatience = <A, R, R2>(
      effect: Effect.Effect<A, { readonly message: string }, R>,
      say: (message: string) => Effect.Effect<void, never, R2>,
      said?: string
    ): Effect.Effect<A, never, R | R2> =>
      Effect.catchAll(effect, ({ message }) =>
        (message === said ? Effect.void : say(message)).pipe(
          Effect.zipRight(Effect.sleep(patience)),
          Effect.zipRight(withPatience(effect, say, message))
        )
      )

    const sayUnmounted = (message: string) => tell({ type: "Warning", reason: "FailedMount", message })

    const sayUnconfigured = (container: Environment.Container) => (message: string) =>
      Effect.zipRight(
        see(container, { state: { waiting: { reason: "CreateContainerConfigError", message } } }),
        tell({ type: "Warning", reason: "Failed", message: `Error: ${message}`, container: container.name })
      )

    const begin = (container: Environment.Container, isInit: boolean) =>
      Effect.gen(function* () {
        const program = Program.find(node.images, container.image ?? "")
        const start =
          program === undefined
            ? Container.pretend(SimulatedPods.plan(pod, node.times, isInit, node.pods))
            : yield* withPatience(Container.prepare(program, node, pod, container), sayUnconfigured(container))
        const told = yield* Deferred.make<void>()
        // In one piece with its start, so that none runs of which `stop` does not know.
        return yield* Effect.uninterruptible(
          Effect.suspend(() =>
            stopping
              ? Effect.interruptible(Effect.never)
              : Effect.map(start, (process) => {
                  running.set(container.name, { process, told })
                  return { process, told }
                })
          )
        )
      })

    const seeing = (container: Environment.Container) => ({
      started: see(container, { started: true }),
      ready: (ready: boolean) => see(container, { ready })
    })

    /** Asks a program how it is, and ends it when it is not well any more: its restart is the policy's. */
    const probe = (container: Environment.Container, process: Container.Running) =>
      Probes.run(container, {
        ...seeing(container),
        unhealthy: (message) => tell({ type: "Warning", reason: "Unhealthy", message, container: container.name })
      }).pipe(
        // Who is to end anyway does so by the grace of the pod's deletion.
        Effect.flatMap((message) =>
          stopping
            ? Effect.void
            : Effect.zipRight(tell({ reason: "Killing", message, container: container.name }), process.stop(grace()))
        )
      )

    /** Tells of a container from its start to its end. */
    const attend = (container: Environment.Container, isInit: boolean, process: Container.Running) =>
      Effect.gen(function* () {
        const { image = "", name } = container
        const startedAt = yield* timestamp
        const isProgram = Program.find(node.images, image) !== undefined
        const isProbed = !isInit && (isProgram || Probes.isDelayed(container))
        const containerID = `embedded://${pod.metadata.uid}/${name}/${statusOf(container).restartCount}`
        yield* see(container, {
          imageID: image,
          containerID,
          ...(isProbed ? Probes.atFirst(container) : { started: true, ready: !isInit }),
          state: { running: { startedAt } }
        })
        yield* tell({ reason: "Created", message: "Container created", container: name })
        yield* tell({ reason: "Started", message: "Container started", container: name })
        const probing = yield* Effect.fork(
          !isProbed ? Effect.void : isProgram ? probe(container, process) : Probes.pretend(container, seeing(container))
        )
        const { exitCode, message } = yield* Effect.ensuring(process.ended, Fiber.interrupt(probing))
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

    /** Waits as long as a container is only to pretend that it can't be started. */
    const pretendToWait = (container: Environment.Container, isInit: boolean) =>
      Effect.gen(function* () {
        if (Program.find(node.images, container.image ?? "") !== undefined) return
        let said = ""
        while (true) {
          const { waits } = SimulatedPods.plan(pod, node.times, isInit, node.pods)
          if (waits === undefined) return
          const { message, reason } = waits
          if (said !== `${reason} ${message}`) {
            said = `${reason} ${message}`
            if (reason === "FailedMount") yield* tell({ type: "Warning", reason, message })
            else {
              yield* see(container, { state: { waiting: { reason, message } } })
              yield* tell({
                type: "Warning",
                reason: "Failed",
                message: `Error: ${message}`,
                container: container.name
              })
            }
          }
          yield* Effect.sleep(SimulatedPods.patience)
        }
      })

    /** Runs a container until it is not to be restarted; gives its last exit code. */
    const work = (container: Environment.Container, isInit: boolean) =>
      Effect.gen(function* () {
        const { image = "", name } = container
        yield* pretendToWait(container, isInit)
        yield* tell({
          reason: "Pulled",
          message: `Container image ${JSON.stringify(image)} already present on machine`,
          container: name
        })
        while (true) {
          const { process, told } = yield* begin(container, isInit)
          const terminated = yield* Effect.ensuring(
            attend(container, isInit, process),
            Deferred.succeed(told, undefined)
          )
          running.delete(name)
          const { exitCode } = terminated
          const policy = spec?.restartPolicy ?? "Always"
          const again = isInit
            ? exitCode !== 0 && policy !== "Never"
            : policy === "Always" || (policy === "OnFailure" && exitCode !== 0)
          if (!again || stopping) return exitCode
          const { restartCount } = statusOf(container)
          const delay = backOff(restartCount)
          if (Duration.greaterThan(delay, Duration.zero)) {
            const text = `back-off ${Duration.format(delay)} restarting failed container=${name} pod=${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`
            yield* see(container, {
              state: { waiting: { reason: "CrashLoopBackOff", message: text } },
              lastState: { terminated }
            })
            yield* tell({
              type: "Warning",
              reason: "BackOff",
              message: `Back-off restarting failed container ${name} in pod ${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`,
              container: name
            })
            yield* Effect.sleep(delay)
          }
          seen.set(name, { ...statusOf(container), restartCount: restartCount + 1, lastState: { terminated } })
        }
      })

    /** The first image that can't be pulled, and what is said of that, at first and later. */
    const refused = () => {
      const said = pod.metadata.annotations?.[SimulatedPods.imagePullError]
      if (said !== undefined) {
        const image = containers[0]?.image
        return image === undefined ? undefined : { image, first: undefined, last: said === "" ? "" : `: ${said}` }
      }
      const image = containers.map(({ image = "" }) => image).find((one) => node.unpullable.includes(one))
      if (image === undefined) return undefined
      const first = `failed to pull and unpack image ${JSON.stringify(image)}: failed to resolve reference ${JSON.stringify(image)}: ${image}: not found`
      return { image, first, last: `: ErrImagePull: ${first}` }
    }

    const waitForImage = ({ first, image, last }: NonNullable<ReturnType<typeof refused>>) =>
      Effect.gen(function* () {
        const meant = containers.filter((one) => one.image === image)
        const say = (reason: string, message: string) =>
          Effect.zipRight(
            Effect.forEach(meant, ({ name }) =>
              Effect.sync(() => seen.set(name, PodStatus.waiting(name, image, reason, message)))
            ),
            publish
          )
        const failed = (message: string) => tell({ type: "Warning", reason: "Failed", message })
        if (first !== undefined) {
          yield* tell({ reason: "Pulling", message: `Pulling image ${JSON.stringify(image)}` })
          yield* say("ErrImagePull", first)
          yield* failed(`Failed to pull image ${JSON.stringify(image)}: ${first}`)
          yield* failed("Error: ErrImagePull")
          yield* Effect.sleep(patience)
          yield* tell({ reason: "BackOff", message: `Back-off pulling image ${JSON.stringify(image)}` })
        }
        yield* say("ImagePullBackOff", `Back-off pulling image ${JSON.stringify(image)}${last}`)
        yield* failed("Error: ImagePullBackOff")
        return yield* Effect.never
      })

    const isProgram = [...initContainers, ...containers].some(
      ({ image = "" }) => Program.find(node.images, image) !== undefined
    )

    const life = Effect.gen(function* () {
      yield* publish
      if (isProgram) yield* withPatience(Volumes.prepare(node.places, pod), sayUnmounted)
      else yield* Effect.sleep(node.times.startUp)
      ip = node.address()
      const image = refused()
      if (image !== undefined) return yield* waitForImage(image)
      for (const container of initContainers) {
        if ((yield* work(container, true)) !== 0) return
      }
      yield* Effect.forEach(containers, (container) => work(container, false), {
        concurrency: "unbounded",
        discard: true
      })
    })

    /** What makes a pod fail as a whole. */
    const fails = Effect.gen(function* () {
      const eviction = SimulatedPods.eviction(pod, node.times, node.pods)
      if (eviction !== undefined) {
        yield* Effect.sleep(eviction.after)
        return { reason: "Evicted", message: eviction.message, disruption: true }
      }
      if (spec?.activeDeadlineSeconds === undefined) return yield* Effect.never
      yield* Effect.sleep(Duration.seconds(spec.activeDeadlineSeconds))
      const message = "Pod was active on the node longer than the specified deadline"
      return { reason: "DeadlineExceeded", message, disruption: false }
    }).pipe(
      Effect.tap((why) =>
        Effect.zipRight(
          Effect.sync(() => {
            failed = why
          }),
          tell({ type: "Warning", reason: why.reason, message: why.message })
        )
      )
    )

    const grace = () =>
      Duration.seconds(pod.metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30)

    /** Stops the containers, and waits until they have said themselves how they ended. */
    const stop = Effect.suspend(() => {
      stopping = true
      return Effect.forEach(
        [...running],
        ([name, { process, told }]) =>
          tell({ reason: "Killing", message: `Stopping container ${name}`, container: name }).pipe(
            Effect.zipRight(process.stop(grace())),
            Effect.zipRight(Deferred.await(told))
          ),
        { concurrency: "unbounded", discard: true }
      )
    })

    /** Stops what still runs when the node itself ends, or when the pod is gone: there is nobody to be told. */
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

    const report = (cause: Cause.Cause<never>) =>
      Effect.logError(`The kubelet has lost pod ${first.metadata.name} by a mistake of its own`, cause)

    const live = Effect.gen(function* () {
      const living = yield* Effect.fork(Effect.catchAllCause(life, report))
      // Who waits for a Secret, for an image or for the end of a back-off waits no longer.
      const halt = Effect.zipRight(stop, Fiber.interrupt(living))
      const end = Deferred.await(ending)
      const how = yield* Effect.raceFirst(
        end,
        fails.pipe(Effect.zipRight(halt), Effect.zipRight(publish), Effect.zipRight(end))
      )
      if (how === "deleted") yield* halt
    })

    const run = Effect.gen(function* () {
      // Of a pod that is to go when it is first seen, nothing is begun.
      if (!(yield* Deferred.isDone(ending))) yield* live
      if ((yield* Deferred.await(ending)) === "deleted") yield* remove
      // A finalizer may hold it, and its logs can be read as long as it is there.
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
            return Effect.zipRight(Deferred.succeed(gone, undefined), Deferred.succeed(ending, "gone"))
          }
          pod = next
          return next.metadata.deletionTimestamp === undefined ? Effect.void : Deferred.succeed(ending, "deleted")
        })
    }
  })
