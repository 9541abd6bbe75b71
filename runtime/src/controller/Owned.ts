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
 * The controller declares the child's kind in `owns`. Otherwise the attempt fails and is not retried.
 *
 * Needs the rights to get, list, watch and patch the child's kind, and to create it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import type { ApiError, Invalid } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { Exchanges, type Ledger } from "../client/Exchange.ts"
import * as FieldManager from "../client/FieldManager.ts"
import * as Patch from "../client/Patch.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { controllerOf, type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { type Settings, Tracing } from "../telemetry/Tracing.ts"
import * as Claim from "./Claim.ts"
import * as Drift from "./Drift.ts"
import * as HotLoopDetector from "./HotLoopDetector.ts"
import * as Intent from "./Intent.ts"
import { type Correction, Reconciliation } from "./Reconciliation.ts"

export { NotOwned, OwnerGone } from "./Claim.ts"
export { intentAnnotation } from "./Intent.ts"

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

/**
 * Makes a child be as `desired` says, and returns it as it is now.
 *
 * An Event `<Kind>Created` or `<Kind>Updated` (with the names of the fields, never their values) is recorded on the owner when
 * the server changed something. Of a child that the cache did not know yet although it was there, made by another process a
 * moment ago, nothing is told: what it was like before is not known.
 *
 * @param owner the object being reconciled
 * @param desired the whole intent. The namespace defaults to the owner's
 */
export const apply = <A extends KubernetesObject, D extends Intent.Intended>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, D>,
  desired: D,
  options: Options<A> = {}
): Effect.Effect<
  A,
  ApiError | Claim.NotOwned | Claim.OwnerGone | Resource.InvalidObject,
  Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder
> =>
  Effect.gen(function* () {
    const { applied, controller, memory, resource } = yield* Reconciliation
    const name = Resource.nameOf(kind)
    if (!applied.has(name)) {
      const message = `controller ${controller} applies ${name} and does not declare it: add ${kind.kind} to owns`
      return yield* Effect.die(new Undeclared({ message }))
    }
    const tracing = yield* Tracing
    const intent = Intent.of(owner, resource, kind, desired)
    const key = Intent.keyOf(kind, intent)
    const place = `${Resource.identityOf(kind)} ${keyString(key)}`
    const cached = Option.getOrUndefined(yield* Cache.get(kind, key))

    const claim = cached === undefined ? "ours" : Claim.of(owner, resource, cached, options)
    const lacking = cached === undefined ? [] : missing(intent, cached)
    const drifted = lacking.length > 0 && !memory.accepted(owner.metadata.uid, place, lacking)
    if (
      cached !== undefined &&
      claim === "ours" &&
      !drifted &&
      Intent.strangersIn(intent, cached, options.exclusive, tracing).length === 0
    ) {
      memory.unblock(place, keyString(owner.metadata))
      // Nearly always so: what it costs, every reconcile that has nothing to do pays.
      yield* Recording.mark(SpanName.dependent(kind.kind), () => ({
        ...placeOf(kind, key),
        [Attribute.dependentResult]: "matched"
      }))
      return cached
    }
    return yield* Recording.step(SpanName.dependent(kind.kind), (span) =>
      make({ owner, kind, intent, key, place, cached, claim, lacking, drifted, options, tracing, span })
    )
  })

/** What is known of a child that is to be made as it is wanted. */
interface Task<A extends KubernetesObject, D> {
  readonly owner: KubernetesObject
  readonly kind: Resource.Resource<A, D>
  readonly intent: D
  readonly key: ObjectKey
  readonly place: string
  readonly cached: A | undefined
  readonly claim: Claim.Claim
  readonly lacking: ReadonlyArray<Drift.Difference>
  readonly drifted: boolean
  readonly options: Options<A>
  readonly tracing: Settings | undefined
  readonly span: Recording.Span | undefined
}

/** Makes a child as it is wanted, and tells of it. */
const make = <A extends KubernetesObject, D extends Intent.Intended>(task: Task<A, D>) =>
  Effect.gen(function* () {
    const { owner, kind, intent, key, place, cached, claim, lacking, drifted, options, tracing, span } = task
    const { corrected, memory, resource } = yield* Reconciliation
    for (const [name, value] of Object.entries(placeOf(kind, key))) span?.attribute(name, value)

    if (cached !== undefined && claim === "none") {
      return yield* Claim.refuse(owner, kind, cached, memory.block(place, keyString(owner.metadata)))
    }
    memory.unblock(place, keyString(owner.metadata))
    if (claim === "adoptable") yield* Claim.confirm(owner, resource)

    const sent = (child: A | undefined) => Intent.traced(intent, child, tracing, span)
    const answer: Answer<A> =
      cached === undefined
        ? yield* create(owner, kind, sent, place)
        : drifted
          ? yield* watched(
              owner,
              kind,
              intent,
              cached,
              [...lacking, ...Intent.strangersIn(intent, cached, options.exclusive, tracing)],
              correct(kind, intent, sent, cached, options, tracing)
            )
          : { child: cached, expelled: [] }
    if (cached === undefined || drifted) yield* learn(owner, kind, place, answer.child, missing(intent, answer.child))

    const strangers = Intent.strangersIn(intent, answer.child, options.exclusive, tracing)
    const expel = () =>
      amend(
        kind,
        answer.child,
        strangers.map(({ pointer }) => ({ op: "remove", path: pointer }))
      )
    const current =
      strangers.length === 0
        ? answer.child
        : cached === undefined || drifted
          ? yield* expel()
          : (yield* watched(
              owner,
              kind,
              intent,
              cached,
              strangers,
              Effect.map(expel(), (child) => ({ child }))
            )).child

    const before = cached ?? answer.found
    const differed = cached === undefined && before !== undefined ? missing(intent, before) : lacking
    const fields = [...differed, ...answer.expelled, ...strangers]
      .map(({ path }) => path)
      .filter((path) => !path.includes(Intent.intentAnnotation))
    const isNew = answer.created === true
    // Of a child that was there before the cache knew of it, no more is certain than what was taken out of it.
    const since = before ?? (isNew ? undefined : answer.child)
    const changed = current.metadata.resourceVersion !== since?.metadata.resourceVersion
    const isSame = before === undefined || Intent.hashOf(before) === Intent.hashOf(intent)
    const reason = isNew ? "created" : isSame ? "drift" : "intent"
    if (span !== undefined) describe(span, changed ? reason : undefined, before !== undefined, fields)
    if (!changed) return current
    corrected({ kind: kind.kind, key: keyString(key), reason, fields })
    if (reason === "created") yield* tell(owner, `${kind.kind}Created`, `Created ${kind.kind} ${key.name}`)
    else {
      const what = fields.join(", ") || "metadata"
      yield* tell(owner, `${kind.kind}Updated`, `Updated ${kind.kind} ${key.name} (${what})`)
    }
    return current
  })

/** What came of making a child as it is wanted. */
interface Answer<A> {
  readonly child: A
  /** Strangers that were taken out on the way. */
  readonly expelled: ReadonlyArray<Drift.Stranger>
  /** Whether it was not there before. */
  readonly created?: boolean
  /** The child as it was before, where it had to be looked at. */
  readonly found?: A | undefined
}

const missing = (intent: object, child: object) => Drift.missing(Drift.json(intent), Drift.json(child))

/** Fields of a child beyond this number are not named on its span. */
const mostFields = 32

const placeOf = (kind: Resource.Any, { name, namespace }: ObjectKey): Record<string, string> => ({
  [Attribute.objectKind]: kind.kind,
  [Attribute.objectName]: name,
  ...(namespace !== undefined && { [Attribute.namespace]: namespace })
})

/** Tells on a child's span what became of it. `known`: as what it was before is known. */
const describe = (
  span: Recording.Span,
  reason: Correction["reason"] | undefined,
  known: boolean,
  fields: ReadonlyArray<string>
): void => {
  const unchanged = known ? "matched" : "found"
  const result = reason === undefined ? unchanged : reason === "created" ? reason : "updated"
  span.attribute(Attribute.dependentResult, result)
  if (reason !== undefined) span.attribute(Attribute.dependentReason, reason)
  if (fields.length > 0) span.attribute(Attribute.dependentFields, fields.slice(0, mostFields))
}

/**
 * Sends the whole intent to a child of ours that lacks something of it. What strangers put in the place of something of
 * ours is exchanged for that in one step, before: our own beside theirs may be refused, and both would start a rollout.
 */
const correct = <A extends KubernetesObject, D extends Intent.Intended>(
  kind: Resource.Resource<A, D>,
  intent: D,
  sent: (child: A) => D,
  child: A,
  { exclusive = [], handOver }: Options<A>,
  tracing: Settings | undefined
) =>
  Effect.gen(function* () {
    const isNew = Intent.hashOf(child) !== Intent.hashOf(intent)
    const base = handOver !== undefined && isNew ? yield* handedOver(kind, child, handOver(child)) : child
    const claim = ({ metadata }: A) =>
      Client.apply(kind, sent(child), { force: true, before: metadata.resourceVersion })
    const expelled = Intent.strangersIn(intent, base, exclusive, tracing)
    if (expelled.length === 0) return { child: yield* claim(base), expelled }

    const restore = amend(kind, base, Intent.restorationOf(intent, base, exclusive, tracing))
    const restored = Effect.flatMap(restore, claim)
    if (!isNew) return { child: yield* restored, expelled }
    // With a new intent they are rather what the old one wanted, and go with the apply; unless somebody else holds them too.
    const refused = (error: Invalid): boolean =>
      error.causes.some(({ field }) => expelled.some(({ pointer }) => isWithin(pointer, field)))
    return yield* claim(base).pipe(
      Effect.map((child) => ({ child, expelled: [] })),
      Effect.catchTag("Invalid", (error) =>
        refused(error) ? Effect.map(restored, (child) => ({ child, expelled })) : Effect.fail(error)
      )
    )
  })

/** Holds fields in the name of nobody's, until their new owner writes them: only an intent that stops naming them needs it. */
const handedOver = <A extends KubernetesObject, D extends Intent.Intended>(
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
    return Client.apply(kind, part, {
      force: true,
      fieldManager: FieldManager.handover(fieldManager),
      before: resourceVersion
    })
  })

/** Whether a field that the server complains of, such as `spec.ports[0].name`, is in the same list or map as the stranger. */
const isWithin = (pointer: string, field: string): boolean =>
  field.startsWith(
    pointer
      .slice(1, pointer.lastIndexOf("/"))
      .replaceAll("/", ".")
      .replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]")
  )

/** Has it noticed if a child is put right again and again, because somebody keeps changing it. */
const watched = <B extends { readonly child: KubernetesObject }, E, R>(
  owner: KubernetesObject,
  kind: Resource.Any,
  intent: Intent.Intended,
  child: KubernetesObject,
  places: ReadonlyArray<{ readonly path: string }>,
  repair: Effect.Effect<B, E, R>
) => {
  const paths = places.map(({ path }) => path)
  const fields = paths.filter((path) => !path.includes(Intent.intentAnnotation))
  const hashes = { stands: Intent.hashOf(child), wanted: Intent.hashOf(intent) ?? "" }
  return HotLoopDetector.correcting(owner, kind, child, intent, hashes, fields.length > 0 ? fields : paths, repair)
}

/** Remembers what the server made of an intent, and says once what it dropped or stored in its own way. */
const learn = (
  owner: KubernetesObject,
  kind: Resource.Any,
  place: string,
  child: KubernetesObject,
  answer: ReadonlyArray<Drift.Difference>
) =>
  Effect.flatMap(Reconciliation, ({ memory }) => {
    memory.accept(owner.metadata.uid, place, answer)
    const dropped = answer.filter(({ have }) => have === undefined).map(({ path }) => path)
    const line = `The API server drops ${dropped.join(", ")} of a ${kind.kind}: its schema does not know them`
    const told =
      dropped.length > 0 && memory.isNews(line)
        ? Effect.zipRight(
            Effect.logWarning(line),
            EventRecorder.record({ regarding: owner, type: "Warning", reason: "FieldDropped", note: line })
          )
        : Effect.void
    return Effect.zipRight(told, HotLoopDetector.answered(owner, kind, child, answer))
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
    ]),
    { before: child.metadata.resourceVersion }
  )

const tell = (regarding: KubernetesObject, reason: string, note: string) =>
  EventRecorder.record({ regarding, type: "Normal", reason, note })

/**
 * The cache is synced and lacks the child, so it is new, unless somebody was faster by a moment: hence without force, and a
 * conflict is looked at instead of won. Where there is none, the answer's status tells whether it was new: see {@link isCreated}.
 */
const create = <A extends KubernetesObject, D extends Intent.Intended>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, D>,
  sent: (child: A | undefined) => D,
  place: string
) => {
  const intent = sent(undefined)
  return Client.apply(kind, intent, { force: false }).pipe(
    Effect.flatMap((child) =>
      Effect.map(Exchanges, (ledger): Answer<A> => ({ child, expelled: [], created: isCreated(kind, child, ledger) }))
    ),
    Effect.catchTag("Conflict", () =>
      Effect.gen(function* () {
        const { memory } = yield* Reconciliation
        const found = yield* Client.get(kind, Intent.keyOf(kind, intent))
        if (controllerOf(found)?.uid !== owner.metadata.uid) {
          return yield* Claim.refuse(owner, kind, found, memory.block(place, keyString(owner.metadata)))
        }
        const child = yield* Client.apply(kind, sent(found), { force: true, before: found.metadata.resourceVersion })
        return { child, expelled: [], found } satisfies Answer<A>
      })
    )
  )
}

/**
 * Whether an apply made a child. One that was sent again, as its answer was lost, finds what it made itself, and is believed to
 * have made it; so is one beyond those that a ledger has room for.
 */
const isCreated = (kind: Resource.Any, { metadata }: KubernetesObject, ledger: Ledger | undefined): boolean => {
  const exchange = ledger?.answeredWith(kind.kind, metadata.name, metadata.resourceVersion)
  return exchange === undefined || exchange.status === 201 || exchange.resends > 0
}
