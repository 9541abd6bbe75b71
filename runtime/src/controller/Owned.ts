/**
 * Children: objects that a controller makes for the object it reconciles.
 *
 * Flow of {@link apply}: the intent (what the author gave, an owner reference, and a hash of it all as an annotation) is
 * compared with the child in the cache. Where the child lacks nothing and holds no stranger in a place that is ours alone,
 * nothing is sent. Otherwise the whole intent is sent by server-side apply under the controller's one field manager, and
 * strangers are taken out by a JSON patch.
 *
 * Guarantees:
 * - Fields the intent does not name stay as they are: sidecars, foreign labels, restart annotations survive.
 * - A field that a newer version of the program no longer names goes, because the hash changed and the apply drops it.
 * - An object of that name which is not ours is not touched: {@link NotOwned}, and the owner is woken when it changes or goes.
 * - What the server stores otherwise than it was sent (a quantity in another spelling, a field it prunes) is learnt from the
 *   answer and not taken for drift again.
 *
 * Assumes that the controller declares the child's kind in `owns`, so that the cache holds it.
 *
 * Needs the rights to get, list, watch and patch the child's kind, and to create it.
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import type { ApiError, Invalid } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import {
  controllerOf,
  type DesiredMeta,
  type KubernetesObject,
  keyString,
  type OwnerReference
} from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Drift from "./Drift.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** Annotation on each child: the hash of the intent that was applied last. */
export const intentAnnotation = "homeostat.dev/intent"

/** The place of a child is taken by an object that the owner does not control. */
export class NotOwned extends Data.TaggedError("NotOwned")<{
  readonly kind: string
  readonly key: string
  /** Such as `Deployment shop`, or nothing where no controller holds it. */
  readonly holder: string | undefined
  /** True when this was not known before: the time to tell somebody. */
  readonly news: boolean
}> {
  override get message(): string {
    return `${this.kind} ${this.key} exists and is ${
      this.holder === undefined ? "controlled by nobody" : `controlled by ${this.holder}`
    }; it is left alone until it is removed or given away`
  }
}

/**
 * A child was about to be adopted for an owner that is gone or going, which the cache has not seen yet: adopted, the garbage
 * collector would take it along, though somebody may have asked for it to stay.
 */
export class OwnerGone extends Data.TaggedError("OwnerGone")<{ readonly kind: string; readonly key: string }> {
  override get message(): string {
    return `${this.kind} ${this.key} was deleted, or made anew, a moment ago`
  }
}

/** How a child is applied. */
export interface Options<A> {
  /**
   * Places of the intent that are ours alone, each a path of steps: entries that others add there are removed. Elsewhere
   * additions of others are left.
   */
  readonly exclusive?: ReadonlyArray<ReadonlyArray<Drift.Step>> | undefined
  /** An annotation which, set to `"true"` on an object that nobody controls, hands it over to us. */
  readonly adoptAnnotation?: string | undefined
  /**
   * Fields that the intent stopped naming because somebody else sets them from now on, with the values they have. Without
   * it, the server resets a field that nobody owns any more to its default, before its new owner has spoken.
   */
  readonly handOver?: ((child: A) => object) | undefined
}

/** What a child of type D is made from: metadata without the fields that {@link apply} fills in. */
type Intended = { readonly metadata: DesiredMeta }

/**
 * Makes a child be as `desired` says, and returns it as it is now.
 *
 * An Event `<Kind>Created` or `<Kind>Updated` (with the names of the fields, never their values) is recorded on the owner when
 * the server changed something.
 *
 * @param owner the object being reconciled
 * @param desired the whole intent. The namespace defaults to the owner's
 */
export const apply = <A extends KubernetesObject, D extends Intended>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, D>,
  desired: D,
  options: Options<A> = {}
): Effect.Effect<
  A,
  ApiError | NotOwned | OwnerGone | Resource.InvalidObject,
  Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder
> =>
  Effect.gen(function* () {
    const { memory, resource } = yield* Reconciliation
    const intent = intend(owner, resource, kind, desired)
    const key = keyOf(kind, intent)
    const place = `${Resource.identityOf(kind)} ${keyString(key)}`
    const cached = Option.getOrUndefined(yield* Cache.get(kind, key))

    const claim = cached === undefined ? "ours" : claimOn(owner, resource, cached, options)
    if (cached !== undefined && claim === "none") {
      return yield* refuse(owner, kind, cached, memory.block(place, keyString(owner.metadata)))
    }
    memory.unblock(place, keyString(owner.metadata))
    if (claim === "adoptable") yield* confirm(owner, resource)

    const lacking = cached === undefined ? [] : Drift.missing(Drift.json(intent), Drift.json(cached))
    const drifted = lacking.length > 0 && !memory.accepted(owner.metadata.uid, place, lacking)
    const answer =
      cached === undefined
        ? { child: yield* create(owner, kind, intent, place), expelled: [] }
        : drifted
          ? yield* correct(kind, intent, cached, options)
          : { child: cached, expelled: [] }
    if (cached === undefined || drifted)
      yield* learn(owner, kind, place, Drift.missing(Drift.json(intent), Drift.json(answer.child)))

    const strangers = Drift.strangers(Drift.json(intent), Drift.json(answer.child), options.exclusive ?? [])
    const current =
      strangers.length === 0
        ? answer.child
        : yield* amend(
            kind,
            answer.child,
            strangers.map(({ pointer }) => ({ op: "remove", path: pointer }))
          )

    if (cached === undefined) yield* tell(owner, `${kind.kind}Created`, `Created ${kind.kind} ${key.name}`)
    else if (current.metadata.resourceVersion !== cached.metadata.resourceVersion) {
      const fields = [...lacking, ...answer.expelled, ...strangers]
        .map(({ path }) => path)
        .filter((path) => !path.includes(intentAnnotation))
      yield* tell(owner, `${kind.kind}Updated`, `Updated ${kind.kind} ${key.name} (${fields.join(", ") || "metadata"})`)
    }
    return current
  })

/**
 * Sends the whole intent to a child of ours that lacks something of it. What strangers put in the place of something of
 * ours is exchanged for that in one step, before: our own beside theirs may be refused, and both would start a rollout.
 */
const correct = <A extends KubernetesObject, D extends Intended>(
  kind: Resource.Resource<A, D>,
  intent: D,
  child: A,
  { exclusive = [], handOver }: Options<A>
) =>
  Effect.gen(function* () {
    const isNew = hashOf(child) !== hashOf(intent)
    const base = handOver !== undefined && isNew ? yield* handedOver(kind, child, handOver(child)) : child
    const claim = Client.apply(kind, intent, { force: true })
    const expelled = Drift.strangers(Drift.json(intent), Drift.json(base), exclusive)
    if (expelled.length === 0) return { child: yield* claim, expelled }

    const restore = amend(kind, base, Drift.restoration(Drift.json(intent), Drift.json(base), exclusive))
    if (!isNew) return { child: yield* Effect.zipRight(restore, claim), expelled }
    // With a new intent they are rather what the old one wanted, and go with the apply; unless somebody else holds them too.
    const refused = (error: Invalid): boolean =>
      error.causes.some(({ field }) => expelled.some(({ pointer }) => isWithin(pointer, field)))
    return yield* claim.pipe(
      Effect.map((child) => ({ child, expelled: [] })),
      Effect.catchTag("Invalid", (error) =>
        refused(error)
          ? Effect.map(Effect.zipRight(restore, claim), (child) => ({ child, expelled }))
          : Effect.fail(error)
      )
    )
  })

/** Holds fields in the name of nobody's, until their new owner writes them: only an intent that stops naming them needs it. */
const handedOver = <A extends KubernetesObject, D extends Intended>(
  kind: Resource.Resource<A, D>,
  child: A,
  fields: object
) =>
  Effect.flatMap(Reconciliation, ({ fieldManager }) => {
    const { name, namespace, resourceVersion } = child.metadata
    // With the state it was read from: the values of a child that has changed since are not to be brought back.
    const metadata = { name, namespace, resourceVersion }
    // Not a whole child, as a `D` is, but a part of one under another manager: the server takes any part.
    const part = { ...fields, metadata } as object as D
    return Client.apply(kind, part, { force: true, fieldManager: `${fieldManager}-handover` })
  })

const hashOf = ({ metadata }: Intended): string | undefined => metadata.annotations?.[intentAnnotation]

/** Whether a field that the server complains of, such as `spec.ports[0].name`, is in the same list or map as the stranger. */
const isWithin = (pointer: string, field: string): boolean =>
  field.startsWith(
    pointer
      .slice(1, pointer.lastIndexOf("/"))
      .replaceAll("/", ".")
      .replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]")
  )

/** Remembers what the server made of an intent, and says once what it dropped. */
const learn = (owner: KubernetesObject, kind: Resource.Any, place: string, answer: ReadonlyArray<Drift.Difference>) =>
  Effect.flatMap(Reconciliation, ({ memory }) => {
    memory.accept(owner.metadata.uid, place, answer)
    const dropped = answer.filter(({ have }) => have === undefined).map(({ path }) => path)
    const line = `The API server drops ${dropped.join(", ")} of a ${kind.kind}: its schema does not know them`
    return dropped.length > 0 && memory.isNews(line) ? Effect.logWarning(line) : Effect.void
  })

/** Changes parts of a child; the test makes the server refuse if it is not any more as it was looked at. */
const amend = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  child: A,
  operations: ReadonlyArray<Patch.Operation>
) =>
  Client.patch(
    kind,
    { name: child.metadata.name, namespace: child.metadata.namespace },
    Patch.json([
      { op: "test", path: "/metadata/resourceVersion", value: child.metadata.resourceVersion },
      ...operations
    ])
  )

const tell = (regarding: KubernetesObject, reason: string, note: string) =>
  EventRecorder.record({ regarding, type: "Normal", reason, note })

/** What the author wants, with our owner reference and the hash of it all. */
const intend = <D extends Intended>(
  owner: KubernetesObject,
  resource: Resource.Any,
  kind: Resource.Resource<KubernetesObject, D>,
  desired: D
): D => {
  const namespace = kind.namespaced ? (desired.metadata.namespace ?? owner.metadata.namespace) : undefined
  const metadata: DesiredMeta = {
    ...desired.metadata,
    ...(namespace === undefined ? {} : { namespace }),
    ownerReferences: [
      {
        apiVersion: Resource.apiVersionOf(resource),
        kind: resource.kind,
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true
      }
    ]
  }
  const hash = createHash("sha256")
    .update(Drift.canonical(Drift.json({ ...desired, metadata })))
    .digest("hex")
    .slice(0, 16)
  return { ...desired, metadata: { ...metadata, annotations: { ...metadata.annotations, [intentAnnotation]: hash } } }
}

const keyOf = (kind: Resource.Any, intent: Intended) => {
  const { name, namespace } = intent.metadata
  if (name === undefined) throw new Error(`Owned.apply needs metadata.name on a ${kind.kind}`)
  return { name, namespace }
}

/**
 * Whether a child is ours, or may become ours. It may where nobody controls it and either it was ours before (an owner
 * deleted with its children orphaned, then made again) or its owner gives it away; and where its controller is an earlier
 * object of our owner's name, which is gone, since the name is free: the garbage collector has only not come by yet.
 */
const claimOn = (
  owner: KubernetesObject,
  resource: Resource.Any,
  child: KubernetesObject,
  options: Pick<Options<never>, "adoptAnnotation">
): "ours" | "adoptable" | "none" => {
  const holder = controllerOf(child)
  if (holder?.uid === owner.metadata.uid) return "ours"
  const annotations = child.metadata.annotations ?? {}
  const wasOurs = annotations[intentAnnotation] !== undefined
  const isGivenAway = options.adoptAnnotation !== undefined && annotations[options.adoptAnnotation] === "true"
  const isFree = holder === undefined ? wasOurs || isGivenAway : wasOurs && isNamesake(owner, resource, holder)
  return isFree ? "adoptable" : "none"
}

const isNamesake = (owner: KubernetesObject, resource: Resource.Any, holder: OwnerReference): boolean =>
  holder.kind === resource.kind &&
  holder.name === owner.metadata.name &&
  holder.apiVersion.split("/").slice(0, -1).join("/") === resource.group

/** Looks past the cache whether the owner lives. */
const confirm = (owner: KubernetesObject, resource: Resource.Any) => {
  const gone = Effect.fail(new OwnerGone({ kind: resource.kind, key: keyString(owner.metadata) }))
  const { name, namespace, uid } = owner.metadata
  return Client.get(Resource.metadataOnly(resource), { name, namespace }).pipe(
    Effect.catchTag("NotFound", () => gone),
    Effect.flatMap(({ metadata }) =>
      metadata.uid === uid && metadata.deletionTimestamp === undefined ? Effect.void : gone
    )
  )
}

const refuse = (owner: KubernetesObject, kind: Resource.Any, child: KubernetesObject, news: boolean) => {
  const holder = controllerOf(child)
  const error = new NotOwned({
    kind: kind.kind,
    key: keyString(child.metadata),
    holder: holder === undefined ? undefined : `${holder.kind} ${holder.name}`,
    news
  })
  const told = news
    ? EventRecorder.record({ regarding: owner, type: "Warning", reason: "NameConflict", note: error.message })
    : Effect.void
  return Effect.zipRight(told, Effect.fail(error))
}

/**
 * The cache is synced and lacks the child, so it is new, unless somebody was faster by a moment: hence without force, and a
 * conflict is looked at instead of won.
 */
const create = <A extends KubernetesObject, D extends Intended>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, D>,
  intent: D,
  place: string
) =>
  Client.apply(kind, intent, { force: false }).pipe(
    Effect.catchTag("Conflict", () =>
      Effect.gen(function* () {
        const { memory } = yield* Reconciliation
        const found = yield* Client.get(kind, keyOf(kind, intent))
        if (controllerOf(found)?.uid === owner.metadata.uid) return yield* Client.apply(kind, intent, { force: true })
        return yield* refuse(owner, kind, found, memory.block(place, keyString(owner.metadata)))
      })
    )
  )
