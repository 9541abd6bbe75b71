/**
 * Gathers the facts about an object from the queue, the journal and the caches of this process, and from the API server. The API
 * server returns only the metadata of the object and of its children, because caches do not keep their field managers.
 *
 * Needs the permissions to get the kind and its children. Controllers with children have both. For the object itself, the permission
 * to list is enough.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Cache from "../../cache/Cache.ts"
import type { Informer } from "../../cache/Cache.ts"
import * as CachedState from "../../cache/CachedState.ts"
import * as LabelSelector from "../../cache/LabelSelector.ts"
import * as Selection from "../../cache/Selection.ts"
import * as Client from "../../client/Client.ts"
import * as Permission from "../../client/Permission.ts"
import type { Controller } from "../../controller/Controller.ts"
import { Reachability } from "../../controller/Reachability.ts"
import type { Runner } from "../../controller/Runner.ts"
import * as CpuUse from "../../queue/CpuUse.ts"
import { type KubernetesObject, keyOf, keyString, type ObjectKey, parseKey } from "../../resource/KubernetesObject.ts"
import * as Resource from "../../resource/Resource.ts"
import * as Time from "../../resource/Time.ts"
import { hindrance } from "../CacheReadiness.ts"
import type { LeaderElection } from "../LeaderElection.ts"
import type { Admissions } from "./Admissions.ts"
import type { ChildFact, Facts, Live } from "./Facts.ts"
import type { Ignored, Journal } from "./Journal.ts"

/** A runner with the journal of its objects. */
export interface Journaled extends Runner {
  readonly journal: Journal
  /** The trace ID of the recording of an attempt, by its `reconcileID`; undefined without a recording. */
  readonly recordingOf: (id: string) => string | undefined
  /** Why no object of the kind is reconciled: the CRD of the cluster lacks fields. */
  readonly narrowed?: (() => string | undefined) | undefined
}

/** A controller in this process. */
export interface Subject {
  readonly controller: Controller<unknown>
  readonly runner: Journaled
  /** The election that it takes part in. */
  readonly election: LeaderElection | undefined
  /** The answers of the program's webhooks; absent if this process serves none. */
  readonly admissions: Admissions | undefined
  /** When it was added, in milliseconds of the Clock. */
  readonly since: number
}

/** The services that gathering needs. */
export type Needs = Client.Client | Cache.Cache | Reachability

/** The timeout of a request: the caller waits, and the port cuts off answers after ten seconds. */
const timeoutMillis = 3000

/** The timeout of all requests for one object. With the discovery of kinds before them, an answer takes at most 6 s. */
const patience = "4 seconds"

/** The largest number of children that are read, and of namespaces with the same name that are shown. */
const mostChildren = 12
const mostElsewhere = 3

/** The caches of a controller; that of its own kind first. */
const cachesOf = ({ runner }: Subject): ReadonlyArray<Informer> => runner.informers

const primaryOf = (subject: Subject): Informer | undefined => cachesOf(subject)[0]

/** The caches of other kinds, with the triggers that they feed. */
const watchedBy = ({ controller, runner }: Subject) =>
  controller.triggers.flatMap((trigger, at) => {
    const informer = runner.informers[at + 1]
    return informer === undefined ? [] : [{ trigger, informer }]
  })

/** The object's current metadata on the API server. */
export const look = (resource: Resource.Any, key: ObjectKey): Effect.Effect<Live, never, Client.Client> =>
  Effect.flatMap(Client.Client, (client) => lookWith(client, resource, key))

const lookWith = (client: Client.Client["Service"], resource: Resource.Any, key: ObjectKey): Effect.Effect<Live> => {
  const metadata = Resource.metadataOnly(resource)
  const there = (object: KubernetesObject): Live => ({ _tag: "There", object })
  const notThere: Live = { _tag: "NotThere" }
  const once = { retry: false, timeoutMillis } as const
  return client.get(metadata, key, once).pipe(
    Effect.map(there),
    Effect.catchTags({
      NotFound: () => Effect.succeed(notThere),
      // A controller without children may lack the permission to get its objects, but it may list them.
      Forbidden: (forbidden) =>
        client
          .list(metadata, { ...once, namespace: key.namespace, fieldSelector: `metadata.name=${key.name}`, limit: 1 })
          .pipe(
            Effect.map(({ items: [object] }) => (object === undefined ? notThere : there(object))),
            Effect.catchTag("Forbidden", () => Effect.fail(forbidden))
          )
    }),
    Effect.catch((error) => Effect.succeed<Live>({ _tag: "Unknown", reason: Permission.reasonOf(error) })),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed<Live>({ _tag: "Unknown", reason: `no answer within ${patience}` })
    })
  )
}

/** Whether a trigger maps an object to the key. The map function of a controller may fail or be slow. */
const concerns = (trigger: Controller<unknown>["triggers"][number], object: KubernetesObject, key: string): boolean => {
  try {
    const keys = trigger.map(object)
    return !Effect.isEffect(keys) && Array.from(keys, keyString).includes(key)
  } catch {
    return false
  }
}

/** Ignored changes of the object, and of others that now map to it. */
const ignoredOf = (subject: Subject, key: string): ReadonlyArray<Ignored> => {
  const { journal } = subject.runner
  const others = watchedBy(subject).flatMap(({ informer, trigger }) =>
    Array.from(journal.elsewhere(trigger)).filter(({ source }) => {
      const object = informer.store.get(source.key)
      return object !== undefined && concerns(trigger, object, key)
    })
  )
  return [...(journal.of(key)?.ignored ?? []), ...others].sort((a, b) => a.at - b.at)
}

/** Namespaces with an object of this name. O(objects), once per request of a person. */
const elsewhereOf = (informer: Informer | undefined, { name, namespace }: ObjectKey): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const key of informer?.store.keys() ?? []) {
    const place = parseKey(key)
    if (place.name === name && place.namespace !== undefined && place.namespace !== namespace)
      found.push(place.namespace)
    if (found.length === mostElsewhere) break
  }
  return found
}

/** The children of an object, of the kinds that its controller owns. */
const childrenOf = (subject: Subject, owner: KubernetesObject) =>
  watchedBy(subject)
    .filter(({ trigger }) => trigger.relation === "owned")
    .flatMap(({ informer, trigger }) =>
      informer.store.byOwner(owner).map((object) => ({ resource: trigger.resource, key: keyOf(object) }))
    )

/** The CPU time of the attempts in the object's namespace, in ms, if that is over the share. */
const overShare = ({ runner }: Subject, { namespace }: ObjectKey, at: number): number | undefined => {
  const used = namespace === undefined ? 0 : runner.use.of(namespace, at)
  return used > CpuUse.shareMillis ? Math.round(used) : undefined
}

/** The label selector of the manager, without that of the controller. */
const flagOf = (all: string | undefined, own: string | undefined): string | undefined =>
  own === undefined || all === undefined ? all : all === own ? undefined : all.slice(0, -own.length - 1)

/** Why the controller does not select the object. */
const unselected = (
  { select = {}, selects }: Controller<unknown>,
  { namespace }: ObjectKey,
  cached: KubernetesObject | undefined,
  live: Live
): string | undefined => {
  const { fields, labels, namespaces } = select
  const selecting = (selection: Selection.Selection) => `it selects ${Selection.describe(selection)}`
  if (namespaces !== undefined && namespace !== undefined && !namespaces.includes(namespace)) {
    return selecting({ namespaces })
  }
  if (cached !== undefined) {
    try {
      return selects?.(cached) === false ? "its `when` is false for it" : undefined
    } catch {
      return undefined
    }
  }
  if (live._tag !== "There") return undefined
  if (LabelSelector.parse(labels)?.(live.object.metadata.labels) === false) return selecting({ labels })
  return fields === undefined ? undefined : selecting({ fields })
}

/** Gathers the facts about an object of the controller's kind. */
export const gather = (subject: Subject, key: ObjectKey): Effect.Effect<Facts, never, Needs> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const reachability = yield* Reachability
    const { admissions, controller, election, runner, since } = subject
    const { resource } = controller
    const primary = primaryOf(subject)
    const text = keyString(key)
    const owner = primary?.store.get(text)
    const isServed = primary?.state().cause?.kind !== "missing"
    const [live, children] = yield* Effect.all(
      [
        isServed
          ? lookWith(client, resource, key)
          : Effect.succeed<Live>({
              _tag: "Unknown",
              reason: `the API server does not serve ${Resource.nameOf(resource)}`
            }),
        Effect.forEach(
          owner === undefined ? [] : childrenOf(subject, owner).slice(0, mostChildren),
          (child) =>
            Effect.map(
              lookWith(client, child.resource, child.key),
              (state): ChildFact => ({ kind: child.resource.kind, key: keyString(child.key), live: state })
            ),
          // Few requests, and an unavailable server costs one timeout.
          { concurrency: "unbounded" }
        )
      ],
      { concurrency: "unbounded" }
    )

    // Synchronous from here, so that all facts are from the same moment.
    const clock = yield* Clock.Clock
    const now = clock.currentTimeMillisUnsafe()
    const queue = Option.getOrUndefined(runner.queue())
    const state = election?.state()
    const cached = primary?.store.get(text)
    return {
      now,
      kind: resource.kind,
      resource: Resource.nameOf(resource),
      key,
      controller: {
        name: controller.name,
        fieldManager: controller.fieldManager,
        finalizers: controller.finalizers,
        workers: runner.concurrency
      },
      since,
      election:
        election === undefined || state === undefined
          ? undefined
          : { ...state, identity: election.identity, lease: election.lease },
      reachable: reachability.isReached(),
      narrowed: runner.narrowed?.(),
      caches: cachesOf(subject).map((informer) => ({
        resource: Resource.nameOf(informer.resource),
        synced: informer.state().synced,
        problem: hindrance(informer) ?? informer.state().problem,
        ...(informer.state().status === "absent" && { absent: true })
      })),
      namespaces: resource.namespaced ? (primary?.namespaces ?? []) : [],
      labelSelector: flagOf(primary?.labelSelector, controller.select?.labels),
      unselected: unselected(controller, key, cached, live),
      cached,
      state: cached === undefined ? "Unknown" : CachedState.of(resource, cached),
      loop: cached === undefined ? undefined : runner.lastLoop(cached.metadata.uid),
      live,
      elsewhere: elsewhereOf(primary, key),
      entry: runner.journal.of(text),
      ignored: ignoredOf(subject, text).map((each) => ({
        ...each,
        own: runner.writes.find({ ...each.source, uid: each.uid }) !== undefined
      })),
      admissions: admissions?.of(resource, key) ?? [],
      queue:
        queue === undefined
          ? undefined
          : {
              position: queue.position(text),
              ...queue.pending(text),
              busy: queue.snapshot().processing,
              overShareMillis: overShare(subject, key, Time.monotonic(clock)),
              heldWorkers: key.namespace === undefined ? undefined : queue.heldBefore(key.namespace)
            },
      children,
      recordingOf: runner.recordingOf,
      // Not by kind and key, because an object of another group may have the same.
      isOwn: (source) => runner.writes.find(source) !== undefined
    }
  })
