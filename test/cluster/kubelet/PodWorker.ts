/**
 * The life of one pod on a node: its containers are started in order, restarted by its policy, and stopped when it is deleted.
 * What is seen of them is written to its status.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Container from "./Container.ts"
import type * as Environment from "./Environment.ts"
import * as Events from "./Events.ts"
import * as PodStatus from "./PodStatus.ts"
import * as Pretence from "./Pretence.ts"
import * as Program from "./Program.ts"
import * as Volumes from "./Volumes.ts"

/** What the pods of a node have in common. */
export interface Node {
  readonly name: string
  readonly ip: string
  readonly images: Program.Images
  /** Images that can't be pulled. */
  readonly unpullable: ReadonlyArray<string>
  readonly times: Pretence.Times
  readonly places: Volumes.Places
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
    const running = new Map<string, Container.Running>()
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
      pod = yield* Client.status.patch(Pod, { namespace, name }, Patch.merge({ metadata: { uid }, status }), {
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

    /** Waits for what a pod names and is not there, and says so meanwhile. */
    const withPatience = <A, R>(
      container: Environment.Container | undefined,
      effect: Effect.Effect<A, { readonly message: string }, R>
    ): Effect.Effect<A, never, R | Client.Client> =>
      Effect.catchAll(effect, ({ message }) =>
        Effect.gen(function* () {
          const waiting = { reason: "CreateContainerConfigError", message }
          if (container !== undefined && statusOf(container).state?.waiting?.message !== message) {
            yield* see(container, { state: { waiting } })
            yield* tell({ type: "Warning", reason: "Failed", message: `Error: ${message}`, container: container.name })
          }
          if (container === undefined) {
            yield* tell({ type: "Warning", reason: "FailedMount", message: `MountVolume.SetUp failed: ${message}` })
          }
          yield* Effect.sleep(patience)
          return yield* withPatience(container, effect)
        })
      )

    const begin = (container: Environment.Container, isInit: boolean) => {
      const program = Program.find(node.images, container.image ?? "")
      return program === undefined
        ? Container.pretend(Pretence.plan(pod, node.times, isInit))
        : withPatience(container, Container.launch(program, node.places, pod, container))
    }

    /** Runs a container until it is not to be restarted. */
    const work = (container: Environment.Container, isInit: boolean) =>
      Effect.gen(function* () {
        const { image = "", name } = container
        yield* tell({
          reason: "Pulled",
          message: `Container image ${JSON.stringify(image)} already present on machine`,
          container: name
        })
        while (true) {
          const process = yield* begin(container, isInit)
          running.set(name, process)
          const startedAt = yield* timestamp
          const containerID = `embedded://${pod.metadata.uid}/${name}/${statusOf(container).restartCount}`
          yield* see(container, {
            imageID: image,
            containerID,
            ready: !isInit,
            started: true,
            state: { running: { startedAt } }
          })
          yield* tell({ reason: "Created", message: "Container created", container: name })
          yield* tell({ reason: "Started", message: "Container started", container: name })
          const { exitCode, message } = yield* process.ended
          running.delete(name)
          const terminated = {
            exitCode,
            reason: exitCode === 0 ? "Completed" : "Error",
            ...(message === "" ? {} : { message }),
            startedAt,
            finishedAt: yield* timestamp,
            containerID
          }
          yield* see(container, { ready: isInit && exitCode === 0, started: false, state: { terminated } })
          const policy = spec?.restartPolicy ?? "Always"
          const again = isInit
            ? exitCode !== 0 && policy !== "Never"
            : policy === "Always" || (policy === "OnFailure" && exitCode !== 0)
          if (!again || (yield* Deferred.isDone(ending))) return exitCode
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

    /** The first image that can't be pulled, and what the registry says. */
    const refused = () => {
      const said = pod.metadata.annotations?.[Pretence.imagePullError]
      const image =
        said === undefined
          ? containers.map(({ image = "" }) => image).find((one) => node.unpullable.includes(one))
          : containers[0]?.image
      return image === undefined ? undefined : { image, said: said ?? "" }
    }

    const waitForImage = ({ image, said }: { readonly image: string; readonly said: string }) =>
      Effect.gen(function* () {
        const message = `Back-off pulling image ${JSON.stringify(image)}${said === "" ? "" : `: ${said}`}`
        for (const container of containers.filter((one) => one.image === image)) {
          seen.set(container.name, PodStatus.waiting(container.name, image, "ImagePullBackOff", message))
        }
        yield* publish
        yield* tell({ type: "Warning", reason: "Failed", message: "Error: ImagePullBackOff" })
        return yield* Effect.never
      })

    const isProgram = [...initContainers, ...containers].some(
      ({ image = "" }) => Program.find(node.images, image) !== undefined
    )

    const life = Effect.gen(function* () {
      yield* publish
      if (isProgram) yield* withPatience(undefined, Volumes.prepare(node.places, pod))
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
      const evicted = pod.metadata.annotations?.[Pretence.evicted]
      if (evicted !== undefined) {
        yield* Effect.sleep(Duration.sum(node.times.startUp, node.times.run))
        const message = evicted === "" ? "The node was low on resource: memory." : evicted
        return { reason: "Evicted", message, disruption: true }
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

    const stop = Effect.suspend(() =>
      Effect.forEach(
        [...running],
        ([name, process]) =>
          Effect.zipRight(
            tell({ reason: "Killing", message: `Stopping container ${name}`, container: name }),
            process.stop(
              Duration.seconds(pod.metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30)
            )
          ),
        { concurrency: "unbounded", discard: true }
      )
    )

    const remove = Effect.suspend(() => {
      const { name, namespace = "default", uid } = pod.metadata
      return Client.delete(Pod, { namespace, name }, { uid, gracePeriodSeconds: 0 })
    }).pipe(
      Effect.retry({ while: ({ _tag }) => _tag !== "NotFound" && _tag !== "Conflict", schedule: Events.calm }),
      Effect.ignore
    )

    const run = Effect.gen(function* () {
      const lived = yield* Effect.fork(life)
      const end = yield* Effect.raceFirst(
        Deferred.await(ending),
        Effect.raceFirst(
          Effect.zipRight(Effect.fromFiber(lived), Effect.never),
          Effect.zipRight(Effect.zipRight(fails, Effect.zipRight(stop, publish)), Deferred.await(ending))
        )
      )
      if (end === "deleted") {
        // The containers say themselves how they ended, before the pod goes.
        yield* stop
        yield* Effect.timeoutOption(Effect.fromFiber(lived), "1 second")
        yield* remove
      }
    }).pipe(
      Effect.ensuring(Effect.orDie(stop)),
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
          if (next === undefined) return Deferred.succeed(ending, "gone")
          pod = next
          return next.metadata.deletionTimestamp === undefined ? Effect.void : Deferred.succeed(ending, "deleted")
        })
    }
  })
