/**
 * Children: objects that a controller makes for the object it reconciles.
 *
 * Flow of {@link apply}: the intent (what the author gave, an owner reference, and a hash of it all as an annotation) is
 * compared with the child in the cache. Where the child lacks nothing and has no foreign field in a place that is ours alone,
 * nothing is sent. Otherwise the whole intent is sent by server-side apply under the controller's one field manager, and
 * a JSON patch removes foreign fields.
 *
 * Guarantees:
 * - Fields the intent does not name stay as they are: sidecars, foreign labels, restart annotations survive.
 * - A field that a newer version of the program no longer names goes, because the hash changed and the apply drops it.
 * - An object of that name which is not ours is not touched, whether the cache has it yet or not: {@link NotOwned}, and the owner
 *   is woken when the object changes or goes.
 * - A value in another spelling (`1000m` stored as `1`) is not drift. The server's answers show what else it stores otherwise,
 *   such as a field that it prunes or an empty value that it drops. That is not sent again, but once after a restart.
 *
 * The controller declares the child's kind in `owns`. Otherwise the attempt fails and is not retried.
 *
 * Needs the rights to get, list, watch and patch the child's kind, and to create it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import { Undeclared } from "../cache/Undeclared.ts"
import type { ApiError, Invalid } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { Exchanges } from "../client/Exchange.ts"
import * as FieldManager from "../client/FieldManager.ts"
import * as Patch from "../client/Patch.ts"
import { infoOf } from "../client/Request.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { type Settings, Tracing } from "../telemetry/Tracing.ts"
import * as Claim from "./Claim.ts"
import * as Drift from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"
import * as Intent from "./Intent.ts"
import type { Memory } from "./Memory.ts"
import { type Correction, Reconciliation } from "./Reconciliation.ts"
import * as Rival from "./Rival.ts"
import * as Spelling from "./Spelling.ts"
import { TerminalError } from "./TerminalError.ts"

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
 * Where the server changed something, the owner gets an Event `<Kind>Updated` (with the names of the fields, never their values), or
 * at the end of the attempt `<Kind>Created`. Several children of one attempt share one Event `ChildrenCreated`.
 *
 * Fails as a permanent error (`TerminalError`) where the owner cannot own the child: a namespaced owner owns objects of its own
 * namespace only. The garbage collector deletes a child whose owner it does not find in the namespace of the child.
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
  ApiError | Claim.NotOwned | Claim.OwnerGone | Resource.InvalidObject | TerminalError,
  Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder
> =>
  Effect.withFiberRuntime((fiber) => {
    // Plain code up to the first request: every reconcile that has nothing to do pays for it.
    const services = fiber.currentContext as Context.Context<Reconciliation | Cache.Cache>
    const { applied, controller, memory, resource } = Context.get(services, Reconciliation)
    const name = Resource.nameOf(kind)
    if (!applied.has(name)) {
      const message = `controller ${controller} applies ${name} and does not declare it: add ${kind.kind} to owns`
      return Effect.die(new Undeclared({ message }))
    }
    const tracing = Context.get(services, Tracing)
    const key = Intent.keyOf(owner, kind, desired)
    const mistake = Claim.mistakeIn(owner, resource, kind, key)
    if (mistake !== undefined) return Effect.fail(new TerminalError({ message: mistake }))
    const place = `${Resource.identityOf(kind)} ${keyString(key)}`
    return Effect.flatMap(Context.get(services, Cache.Cache).get(kind, key), (held) => {
      const cached = Option.getOrUndefined(held)
      const intent = Intent.of(owner, resource, key, desired, cached)
      const aim = { owner, kind, intent, key, place, options, tracing }
      const found = cached === undefined ? nothing : look(aim, resource, memory, cached)
      const isMatched =
        cached !== undefined && found.claim === "ours" && !found.drifted && found.foreignFields.length === 0
      if (!isMatched) return Recording.step(SpanName.dependent(kind.kind), (span) => make({ ...aim, ...found, span }))
      memory.unblock(place, keyString(owner.metadata))
      if (Recording.current(fiber) === undefined) return Effect.succeed(cached)
      const facts = () => ({ ...placeOf(kind, key), [Attribute.dependentResult]: "matched" })
      return Effect.as(Recording.mark(SpanName.dependent(kind.kind), facts), cached)
    })
  })

/** A child as it is wanted. */
interface Aim<A extends KubernetesObject, D> {
  readonly owner: KubernetesObject
  readonly kind: Resource.Resource<A, D>
  readonly intent: D
  readonly key: ObjectKey
  readonly place: string
  readonly options: Options<A>
  readonly tracing: Settings | undefined
}

/** The child as it is: in the cache, or on the server where the cache was late. */
interface Found<A> {
  readonly cached: A | undefined
  readonly claim: Claim.Claim
  readonly lacking: ReadonlyArray<Drift.Difference>
  readonly drifted: boolean
  /** The fields of others in the places that are ours alone. */
  readonly foreignFields: ReadonlyArray<Drift.ForeignField>
}

interface Task<A extends KubernetesObject, D> extends Aim<A, D>, Found<A> {
  /** Whether the owner starts to wait for the place of the child; absent if that is not known yet. */
  readonly news?: boolean | undefined
  readonly span: Recording.Span | undefined
}

const nothing: Found<never> = { cached: undefined, claim: "ours", lacking: [], drifted: false, foreignFields: [] }

const look = <A extends KubernetesObject, D extends Intent.Intended>(
  { kind, owner, intent, place, options, tracing }: Aim<A, D>,
  resource: Resource.Any,
  memory: Memory,
  cached: A
): Found<A> => {
  const lacking = unmet(kind, intent, cached, memory, missing(intent, cached))
  const drifted = lacking.length > 0 && !memory.accepted(owner.metadata.uid, place, lacking)
  const foreignFields = Intent.foreignFieldsIn(intent, cached, options.exclusive, tracing)
  return { cached, claim: Claim.of(owner, resource, cached, options), lacking, drifted, foreignFields }
}

/** Makes a child as it is wanted, and tells of it. */
const make = <A extends KubernetesObject, D extends Intent.Intended>(
  task: Task<A, D>
): ReturnType<typeof apply<A, D>> =>
  Effect.gen(function* () {
    const { owner, kind, intent, key, place, cached, claim, lacking, drifted, options, tracing, span } = task
    const { changed, corrected, fieldManager, memory, resource } = yield* Reconciliation
    const block = () => memory.block(place, keyString(owner.metadata))
    for (const [name, value] of Object.entries(placeOf(kind, key))) span?.attribute(name, value)

    if (cached !== undefined && claim === "none") {
      return yield* Claim.refuse(owner, kind, cached, task.news ?? block())
    }
    if (cached !== undefined && claim === "orphan" && !(yield* Claim.wasOurs(kind, cached, fieldManager))) {
      return yield* Claim.refuse(owner, kind, cached, task.news ?? block())
    }
    if (claim !== "ours") yield* Claim.confirm(owner, resource)
    const written = `${kind.kind} ${keyString(key)}`
    const seen = cached === undefined ? undefined : yield* Rival.look(kind, cached)
    // The garbage collector deletes each child of an owner that is gone, which the cache has not seen yet.
    const clock = yield* Effect.clock
    if (
      cached === undefined &&
      memory.hotLoop.isCreated(owner.metadata.uid, written, clock.unsafeCurrentTimeMillis())
    ) {
      yield* Claim.live(owner)
    }

    const sent = (child: A | undefined) => Intent.traced(intent, child, tracing, span)
    const made =
      cached === undefined
        ? yield* create(kind, intent, sent(undefined), key, block)
        : { child: cached, isNew: false, news: false }
    if (cached === undefined && !made.isNew) {
      const again = { ...task, intent: Intent.as(intent, made.child) }
      return yield* make({ ...again, ...look(again, resource, memory, made.child), news: made.news })
    }
    memory.unblock(place, keyString(owner.metadata))
    const answer: Answer<A> =
      cached !== undefined && drifted
        ? yield* correct(kind, intent, sent, cached, options, tracing)
        : { child: made.child, expelled: [] }
    const learnt = cached === undefined || drifted ? yield* learn(owner, kind, place, intent, answer.child) : none

    const foreignFields =
      answer.child === cached
        ? task.foreignFields
        : Intent.foreignFieldsIn(intent, answer.child, options.exclusive, tracing)
    const current =
      foreignFields.length === 0
        ? answer.child
        : yield* amend(
            kind,
            answer.child,
            foreignFields.map(({ pointer }) => ({ op: "remove", path: pointer }))
          )

    const fields = [...lacking, ...answer.expelled, ...foreignFields]
      .map(({ path }) => path)
      .filter((path) => !path.includes(Intent.intentAnnotation))
    const isWritten = current.metadata.resourceVersion !== cached?.metadata.resourceVersion
    const isSame = cached !== undefined && Intent.hashOf(cached) === Intent.hashOf(intent)
    const reason = cached === undefined ? "created" : isSame ? "drift" : "intent"
    if (span !== undefined) describe(span, isWritten ? reason : undefined, fields)
    if (!isWritten) return current
    corrected({ kind: kind.kind, key: keyString(key), reason, fields })
    const put = fields.length === 0 ? ["metadata"] : fields.filter((field) => !learnt.unmet.has(field))
    const hash = Intent.hashOf(intent) ?? ""
    changed({
      place: written,
      written: () => (cached === undefined ? [[HotLoop.existence, ""]] : put.map((field) => [field, hash])),
      seen,
      altered: learnt.altered
    })
    if (reason !== "created") {
      const what = fields.join(", ") || "metadata"
      const note = `Updated ${kind.kind} ${key.name} (${what})`
      yield* EventRecorder.record({ regarding: owner, type: "Normal", reason: `${kind.kind}Updated`, note })
    }
    return current
  })

/** What came of making a child as it is wanted. */
interface Answer<A> {
  readonly child: A
  /** The foreign fields that were removed on the way. */
  readonly expelled: ReadonlyArray<Drift.ForeignField>
}

/**
 * The differences that are drift: not another spelling of what was applied before, and no empty value that the API server is
 * known to drop.
 */
const unmet = (
  kind: Resource.Any,
  intent: Intent.Intended,
  child: KubernetesObject,
  memory: Memory,
  differences: ReadonlyArray<Drift.Difference>
): ReadonlyArray<Drift.Difference> => {
  if (differences.length === 0) return differences
  const isApplied = Intent.hashOf(child) === Intent.hashOf(intent)
  return differences.filter(
    (each) =>
      !(isApplied && Spelling.isStored(each)) &&
      !(isEmptied(each) && memory.isDropped(Resource.identityOf(kind), each.path))
  )
}

const isEmptied = ({ have, want }: Drift.Difference): boolean => have === undefined && Drift.isEmpty(want)

const missing = (intent: object, child: object) => Drift.missing(Drift.json(intent), Drift.json(child))

/** Fields of a child beyond this number are not named on its span. */
const mostFields = 32

const placeOf = (kind: Resource.Any, { name, namespace }: ObjectKey): Record<string, string> => ({
  [Attribute.objectKind]: kind.kind,
  [Attribute.objectName]: name,
  ...(namespace !== undefined && { [Attribute.namespace]: namespace })
})

/** Tells on a child's span what became of it. */
const describe = (
  span: Recording.Span,
  reason: Correction["reason"] | undefined,
  fields: ReadonlyArray<string>
): void => {
  const result = reason === undefined ? "matched" : reason === "created" ? reason : "updated"
  span.attribute(Attribute.dependentResult, result)
  if (reason !== undefined) span.attribute(Attribute.dependentReason, reason)
  if (fields.length > 0) span.attribute(Attribute.dependentFields, fields.slice(0, mostFields))
}

/**
 * Sends the whole intent to a child of ours that lacks something of it. Foreign fields in the place of something of
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
    const expelled = Intent.foreignFieldsIn(intent, base, exclusive, tracing)
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

/** Whether a field that the server complains of, such as `spec.ports[0].name`, is in the same list or map as the foreign field. */
const isWithin = (pointer: string, field: string): boolean =>
  field.startsWith(
    pointer
      .slice(1, pointer.lastIndexOf("/"))
      .replaceAll("/", ".")
      .replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]")
  )

/** The stored object, and how it differs from the intent, by the answer to a write. */
interface Learnt {
  /** The paths that the server stores otherwise, or not at all. */
  readonly unmet: ReadonlySet<string>
  readonly altered?: HotLoop.Altered | undefined
}

const none: Learnt = { unmet: new Set() }

/** Compares the stored object with the intent. It reports the fields that the server dropped once per kind. */
const learn = (
  owner: KubernetesObject,
  kind: Resource.Any,
  place: string,
  intent: Intent.Intended,
  child: KubernetesObject
): Effect.Effect<Learnt, never, Reconciliation | EventRecorder.EventRecorder> =>
  Effect.flatMap(Reconciliation, ({ memory }) => {
    const answer = missing(intent, child)
    for (const each of answer) if (isEmptied(each)) memory.drop(Resource.identityOf(kind), each.path)
    const left = unmet(kind, intent, child, memory, answer)
    const isKnown = memory.accepted(owner.metadata.uid, place, left)
    memory.accept(owner.metadata.uid, place, left)
    const dropped = answer.filter((each) => each.have === undefined && !isEmptied(each)).map(({ path }) => path)
    const line = `The API server drops ${dropped.join(", ")} of a ${kind.kind}: its schema does not know them`
    const reported =
      dropped.length > 0 && memory.isNews(line)
        ? Effect.zipRight(
            Effect.logWarning(line),
            EventRecorder.record({ regarding: owner, type: "Warning", reason: "FieldDropped", note: line })
          )
        : Effect.void
    const fields = answer
      .filter(({ have, want }) => have !== undefined && !Spelling.isSame(want, have))
      .map(({ path }) => path)
    // It is true of each object of the kind.
    const isNews = fields.length > 0 && memory.isNews(`altered ${kind.kind} ${fields.join()}`)
    return Effect.as(reported, {
      unmet: new Set(left.map(({ path }) => path)),
      altered: isKnown || fields.length === 0 ? undefined : { fields, answer: child, isNews }
    })
  })

/** Changes parts of a child. Fails with Conflict if the child has changed since it was read. */
const amend = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  child: A,
  operations: ReadonlyArray<Patch.Operation>
) =>
  Client.patch(
    kind,
    { name: child.metadata.name, namespace: child.metadata.namespace },
    Patch.json([
      { op: "replace", path: "/metadata/resourceVersion", value: child.metadata.resourceVersion },
      ...operations
    ]),
    { before: child.metadata.resourceVersion }
  ).pipe(Patch.guarded)

/** No object has it: etcd gives 1 to the empty database, and the API server compares it with the object that is there. */
const absent = "1"

/**
 * Creates a child, or reads the one that is there already, which the cache does not have yet. An apply with a resourceVersion
 * creates an object, but fails with a Conflict where one exists: an object of others is never written to.
 *
 * The Conflict may come from our own object: the client sends an apply again when it gets no answer to the first one.
 */
const create = <A extends KubernetesObject, D extends Intent.Intended>(
  kind: Resource.Resource<A, D>,
  intent: D,
  sent: D,
  key: ObjectKey,
  block: () => boolean
) =>
  Client.apply(kind, { ...sent, metadata: { ...sent.metadata, resourceVersion: absent } }, { force: false }).pipe(
    Effect.map((child) => ({ child, isNew: true, news: false })),
    Effect.catchTag("Conflict", ({ request }) =>
      Effect.gen(function* () {
        // Before the read: a change that it does not show must wake the owner.
        const news = block()
        const exchange = (yield* Exchanges)?.all().findLast((each) => infoOf(each.request).path === request.path)
        const child = yield* Client.get(kind, key)
        const isOurs = exchange !== undefined && exchange.resends > 0 && Intent.isOf(intent, child)
        return { child, isNew: isOurs, news }
      })
    )
  )
