/**
 * The setup of each backup test in virtual time: an in-memory cluster, and a namespace with two bound claims and a Secret.
 * The test plans the movers. The clock starts on Friday, 2026-11-20, at midnight UTC.
 */
import { backup, restore } from "@homeostat/backup"
import { Backup, type BackupStatus } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Job, Namespace, Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import type * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Clock, type Duration, Effect, Random, References, type Scope } from "effect"
import type { Spec } from "./Backups.ts"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as VirtualManager from "./VirtualManager.ts"

/** The start of the tests, in epoch milliseconds. */
export const begin = Date.parse("2026-11-20T00:00:00Z")

/** The namespace of the tests. */
export const namespace = "shop"

/** A cluster in virtual time with backups. */
export interface Virtual {
  readonly cluster: EmbeddedCluster.EmbeddedCluster
  /** Faults between the managers and the API server. */
  readonly faults: Faults.Faults
  /** Advances the clock by a duration. */
  readonly pass: (duration: Duration.Input) => Effect.Effect<void>
  /** Advances the clock to this moment, as RFC 3339. */
  readonly until: (moment: string) => Effect.Effect<void>
  /** Sets the system clock to this moment, as an administrator does. */
  readonly setClock: (moment: string) => Effect.Effect<void>
  /** Plans the movers that start from now on. */
  readonly movers: (movers: PretendedMover.Movers) => void
  /** All movers that have started, one for each pod, oldest first. */
  readonly begun: () => ReadonlyArray<PretendedMover.PretendedMover>
  /** The movers that save, without those of the maintenance. */
  readonly saving: () => ReadonlyArray<PretendedMover.PretendedMover>
  /** The simulated pods, for a further node. */
  readonly pods: SimulatedPods.Pods
  /** Starts a manager. */
  readonly manage: (
    options?: VirtualManager.Options
  ) => Effect.Effect<VirtualManager.VirtualManager, never, Scope.Scope>
  /** The reasons of all managers' Events about a Backup, oldest first. */
  readonly eventReasons: (name: string) => ReadonlyArray<string>
  /** The notes of a Backup's Events with this reason. */
  readonly notes: (name: string, reason: string) => ReadonlyArray<string>
}

const roles = Rbac.of([backup, restore], { lease: { namespace: "default", name: "homeostat" } })

type Body<A, E> = (world: Virtual) => Effect.Effect<A, E, Scope.Scope | Client.Client>

/** Declares a test. The seed drives the random choices of the cluster and its faults. */
export const test = <A, E>(name: string, body: Body<A, E>, timeoutMillis = 120_000, seed = 1): void => {
  const course = (time: VirtualTime.VirtualTime) =>
    Effect.gen(function* () {
      const begun = new Map<string, PretendedMover.PretendedMover>()
      let movers: PretendedMover.Movers = () => undefined
      const pods: SimulatedPods.Pods = (pod) => {
        const mover = PretendedMover.read(pod)
        if (mover === undefined) return undefined
        begun.set(pod.metadata.uid, mover)
        return movers(mover) ?? PretendedMover.succeeds(mover)
      }
      const managers: Array<VirtualManager.VirtualManager> = []
      const about = (name: string) =>
        managers
          .flatMap(({ events }) => events)
          .filter(({ regarding }) => regarding.kind === "Backup" && regarding.metadata.name === name)
      const cluster = yield* EmbeddedCluster.make({
        seed,
        crds: [Crd.of(Backup), Crd.of(Restore)],
        kubelet: { pods }
      })
      const faults = Faults.make(seed)
      const world: Virtual = {
        cluster,
        faults,
        pass: time.pass,
        until: (moment) => Effect.flatMap(Clock.currentTimeMillis, (now) => time.pass(Date.parse(moment) - now)),
        setClock: (moment) => time.set(Date.parse(moment)),
        movers: (next) => {
          movers = next
        },
        begun: () => [...begun.values()],
        saving: () => [...begun.values()].filter(({ operations }) => operations.includes("backup")),
        pods,
        manage: (options) =>
          Effect.tap(
            // The manager has exactly the permissions that the project ships.
            Effect.flatMap(cluster.bind(roles), (own) =>
              VirtualManager.start(faults.over(own.transport), time, options)
            ),
            (manager) => Effect.sync(() => void managers.push(manager))
          ),
        eventReasons: (name) => about(name).map(({ reason }) => reason),
        notes: (name, reason) =>
          about(name)
            .filter((entry) => entry.reason === reason)
            .map(({ note }) => note)
      }
      const scene = Effect.gen(function* () {
        yield* Client.create(Namespace, { metadata: { name: namespace } })
        yield* secret("shop")
        yield* Claims.bound(namespace, "app")
        yield* Claims.bound(namespace, "store")
        return yield* body(world)
      })
      yield* Effect.provide(Effect.scoped(scene), cluster.client)
    })
  live(
    name,
    () =>
      Effect.suspend(() => {
        const time = VirtualTime.make(begin)
        return course(time).pipe(
          Effect.scoped,
          // Movers take minutes here, and each check costs time, so the test checks every 500 virtual milliseconds.
          Effect.provideService(Eventually.pace, () => time.pass("500 millis")),
          Random.withSeed(seed),
          time.within,
          Effect.provideService(References.MinimumLogLevel, "None")
        )
      }),
    timeoutMillis
  )
}

/** The key of an object in the namespace. */
export const key = (name: string) => ({ namespace, name })

/** Creates the Secret that opens the repository of a Backup. */
export const secret = (
  backup: string,
  stringData: { readonly [variable: string]: string } = { RESTIC_PASSWORD: "correct horse" }
) => Client.create(Secret, { metadata: key(`${backup}-backup-credentials`), stringData })

/** Creates a Backup of the claim `app` into the claim `store`, unless the spec differs. It uses the Secret of `shop`. */
export const create = (name: string, spec: Spec = {}, annotations: { readonly [name: string]: string } = {}) =>
  Client.create(Backup, {
    metadata: { ...key(name), annotations },
    spec: {
      source: "app",
      destination: "pvc://store",
      repository: { credentialsSecretRef: { name: "shop-backup-credentials" } },
      ...spec
    }
  })

/** Changes the spec or the annotations of a Backup. */
export const change = (
  name: string,
  wanted: { readonly spec?: object; readonly metadata?: { readonly annotations: object } }
) => Client.patch(Backup, key(name), Patch.merge(wanted))

/** Sets an annotation of a Backup, for example to request a run. */
export const annotate = (name: string, annotation: string, value: string) =>
  change(name, { metadata: { annotations: { [`backup.example.com/${annotation}`]: value } } })

/** Reads a Backup. */
export const get = (name: string) => Client.get(Backup, key(name))

/** The status of a Backup, or an empty status. */
export const status = (name: string) => Effect.map(get(name), ({ status }): BackupStatus => status ?? {})

/** Waits until the status of a Backup matches. */
export const until = (
  name: string,
  what: string,
  isSo: (status: BackupStatus, backup: Backup) => boolean,
  timeout?: Duration.Input
) => Eventually.eventually(what, get(name), (backup) => isSo(backup.status ?? {}, backup), timeout)

/** Waits until a Backup has an active run. */
export const runs = (name: string) => until(name, "a run goes on", ({ active }) => active !== undefined)

/** Waits until a Backup has no active run and at least one finished run. */
export const rests = (name: string, timeout: Duration.Input = "5 minutes") =>
  until(name, "no run goes on", ({ active, lastRun }) => active === undefined && lastRun !== undefined, timeout)

/** The condition of a Backup with this type. */
export const condition = ({ status }: Backup, type: string) =>
  status?.conditions?.find((condition) => condition.type === type)

/** The Jobs of movers, oldest first. */
export const jobs = Effect.map(Client.list(Job, { namespace }), ({ items }) =>
  items.toSorted(({ metadata: one }, { metadata: other }) =>
    (one.creationTimestamp + one.name).localeCompare(other.creationTimestamp + other.name)
  )
)

/** The Jobs of runs, oldest first, without those of the maintenance. */
export const runJobs = Effect.map(jobs, (all) =>
  all.filter(({ metadata }) => metadata.labels?.["backup.example.com/trigger"] !== "maintenance")
)

/** The pods of movers. */
export const pods = Effect.map(Client.list(Pod, { namespace }), ({ items }) => items)
