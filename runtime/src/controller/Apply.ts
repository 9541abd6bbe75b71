/** Creates and corrects one child: the implementation of `Owned.apply`. */
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
import type * as EventRecorder from "../events/EventRecorder.ts"
import { type KubernetesObject, keyOf, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Unions from "../resource/Unions.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import { type Settings, Tracing } from "../telemetry/Tracing.ts"
import * as Drift from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"
import * as Intent from "./Intent.ts"
import type { Memory } from "./Memory.ts"
import * as NotServed from "./NotServed.ts"
import * as OneCluster from "./OneCluster.ts"
import * as OwnedKind from "./OwnedKind.ts"
import * as Ownership from "./Ownership.ts"
import { type Correction, Reconciliation } from "./Reconciliation.ts"
import * as Replacement from "./Replacement.ts"
import * as Rival from "./Rival.ts"
import * as ServerChanges from "./ServerChanges.ts"
import * as Siblings from "./Siblings.ts"
import { TerminalError } from "./TerminalError.ts"
import * as TooLarge from "./TooLarge.ts"

/** The options of {@link apply}. */
export interface Options<A> {
  /** The parts of the intent that the controller owns alone, each a path of steps. `apply` removes entries of other managers there. */
  readonly exclusive?: ReadonlyArray<ReadonlyArray<Drift.Step>> | undefined
  /** An annotation that, set to `"true"` on an object without a controller, lets the owner adopt the object. */
  readonly adoptAnnotation?: string | undefined
  /**
   * Fields that the intent no longer sets because another manager sets them from now on, with their current values. Without it, the
   * server resets such a field to its default before the new manager has written it.
   */
  readonly handOver?: ((child: A) => object) | undefined
  /**
   * The reaction if the API server refuses a change because a field is immutable, such as the template of a Job. `Replace` deletes the
   * child with its dependents, and creates it again when it is gone: the kind must be declared with `Owned.kind(…, { removes: true })`.
   * Until then `apply` returns the child that is being deleted. It fails with `Invalid` if the API server has another objection, or if
   * the owner does not control the child yet. Default `Fail`: `apply` always fails with `Invalid`.
   */
  readonly onImmutable?: "Fail" | "Replace" | undefined
}

/**
 * Creates or corrects a child, and returns its current state.
 *
 * If the server changed something, the owner gets an Event `<Kind>Created`, or `<Kind>Updated` with the names of the fields, at the end of
 * the attempt. Several new children of one attempt share one Event `ChildrenCreated`, and new and updated ones `ChildrenApplied`.
 *
 * Fails with a permanent error (`TerminalError`) if the owner cannot own the child: a namespaced owner owns only objects of its own
 * namespace. Fails with `NotServed`, without a request, if the API server does not serve the kind, which is optional. Fails with
 * `TooLarge`, after it has corrected the child, if the child takes more than 512 KiB in the cache.
 *
 * @param owner the reconciled object
 * @param desired the whole intent. The namespace defaults to the owner's
 *
 * @example
 * ```ts
 * const child = yield* Owned.apply(site, BuiltIn.ConfigMap, {
 *   metadata: { name: `${site.metadata.name}-page` },
 *   data: { replicas: String(site.spec.replicas) }
 * })
 * child.data // => { replicas: "2" }
 * ```
 */
export const apply = <A extends KubernetesObject, D extends Intent.Intended>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, D>,
  desired: NoInfer<D>,
  options: Options<A> = {}
): Effect.Effect<
  A,
  | ApiError
  | Ownership.NotOwned
  | NotServed.NotServed
  | Ownership.OwnerGone
  | Resource.InvalidObject
  | TerminalError
  | TooLarge.TooLarge,
  Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder
> =>
  Effect.withFiber((fiber) => {
    // Plain code up to the first request, because every no-op reconcile runs it.
    const services = fiber.context as Context.Context<Reconciliation | Cache.Cache>
    const { applied, controller, memory, resource, selectors } = Context.get(services, Reconciliation)
    const tracing = Context.get(services, Tracing)
    const key = Intent.keyOf(owner, kind, desired)
    const mistake = Ownership.mistakeIn(owner, resource, kind, key)
    if (mistake !== undefined) return Effect.fail(new TerminalError({ message: mistake }))
    const name = Resource.nameOf(kind)
    if (!applied.has(name)) {
      const message = `controller ${controller} applies ${name} and does not declare it: add ${kind.kind} to owns`
      return Effect.die(new Undeclared({ message }))
    }
    const selector = selectors.size === 0 ? undefined : selectors.get(name)
    const unselected = selector === undefined ? undefined : OwnedKind.unselected(selector, kind, desired.metadata)
    if (unselected !== undefined) return Effect.fail(new TerminalError({ message: unselected }))
    const unserved = memory.unserved().size === 0 ? undefined : NotServed.of(memory, owner, kind)
    if (unserved !== undefined) return Effect.fail(unserved)
    const place = `${Resource.identityOf(kind)} ${keyString(key)}`
    return Effect.flatMap(Context.get(services, Cache.Cache).get(kind, key, fiber), (held) => {
      const cached = Option.getOrUndefined(held)
      const intent = Intent.of(owner, resource, key, Intent.encoded(kind, desired), cached)
      const aim = { owner, kind, intent, key, place, options, tracing }
      const found = cached === undefined ? nothing : look(aim, resource, memory, cached)
      const isMatched =
        cached !== undefined && found.claim === "ours" && !found.drifted && found.foreignFields.length === 0
      if (!isMatched) {
        const isWanted = options.onImmutable === "Replace"
        const isLeaving = isWanted && found.claim === "ours" && cached?.metadata.deletionTimestamp !== undefined
        if (isLeaving) return Effect.succeed(cached)
        const made =
          OneCluster.refused(fiber.context, "Owned.apply of", kind, key) ??
          Recording.step(SpanName.dependent(kind.kind), (span) => make({ ...aim, ...found, span }))
        const create = Effect.suspend(() => apply(owner, kind, desired, { ...options, onImmutable: "Fail" }))
        return cached === undefined
          ? made
          : Effect.catchTag(made, "Invalid", (error) =>
              Replacement.of(owner, kind, cached, error, { create, isWanted })
            )
      }
      memory.unblock(place, keyString(owner.metadata))
      const checked = TooLarge.checked(kind, cached)
      if (Recording.current(fiber) === undefined) return checked
      const facts = () => ({ ...placeOf(kind, key), [Attribute.dependentResult]: "matched" })
      return Effect.andThen(Recording.mark(SpanName.dependent(kind.kind), facts), checked)
    })
  })

/** A desired child. */
interface Aim<A extends KubernetesObject, D> {
  readonly owner: KubernetesObject
  readonly kind: Resource.Resource<A, D>
  readonly intent: D
  readonly key: ObjectKey
  readonly place: string
  readonly options: Options<A>
  readonly tracing: Settings | undefined
}

/** The current child: from the cache, or from the server if the cache did not have it. */
interface Found<A> {
  readonly cached: A | undefined
  readonly claim: Ownership.Ownership
  readonly lacking: ReadonlyArray<Drift.Difference>
  readonly drifted: boolean
  /** The foreign fields in the parts that the controller owns alone. */
  readonly foreignFields: ReadonlyArray<Drift.ForeignField>
}

interface Task<A extends KubernetesObject, D> extends Aim<A, D>, Found<A> {
  /** Whether the owner starts to wait for the name of the child; absent if unknown. */
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
  const lacking = ServerChanges.unmet(kind, intent, cached, memory)
  const drifted = lacking.length > 0 && !memory.accepted(owner.metadata.uid, place, lacking)
  const foreignFields = Intent.foreignFieldsIn(intent, cached, options.exclusive, tracing)
  return { cached, claim: Ownership.of(owner, resource, cached, options), lacking, drifted, foreignFields }
}

/** Creates or corrects a child, and records the Event. */
const make = <A extends KubernetesObject, D extends Intent.Intended>(
  task: Task<A, D>
): ReturnType<typeof apply<A, D>> =>
  Effect.gen(function* () {
    const { owner, kind, intent, key, place, cached, claim, lacking, drifted, options, tracing, span } = task
    const { changed, corrected, fieldManager, memory, resource } = yield* Reconciliation
    const block = () => memory.block(place, keyString(owner.metadata))
    const refuse = (child: A) => Ownership.refuse(owner, kind, child, { ...options, news: task.news ?? block() })
    for (const [name, value] of Object.entries(placeOf(kind, key))) span?.attribute(name, value)

    if (cached !== undefined && claim === "none") return yield* refuse(cached)
    if (cached !== undefined && claim === "orphan" && !(yield* Ownership.wasOurs(kind, cached, fieldManager))) {
      return yield* refuse(cached)
    }
    if (claim !== "ours") {
      // The child names its owner only after the adoption. If that fails, a change of the child must trigger the next attempt.
      block()
      yield* Ownership.confirm(owner, resource)
    }
    const seen = cached === undefined ? undefined : yield* Rival.look(kind, cached)
    // The garbage collector deletes every child of a deleted owner, even if the cache does not have the deletion yet.
    if (cached === undefined && memory.bereft.has(owner.metadata.uid)) {
      // A finalizer may create children of an object that the cache knows to be deleted.
      const isLeaving = owner.metadata.deletionTimestamp !== undefined
      yield* isLeaving ? Ownership.live(owner) : Ownership.confirm(owner, resource)
      memory.bereft.delete(owner.metadata.uid)
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
    const managerOf = cached && memory.foreignWriters.of(cached)
    const answer: Answer<A> =
      cached !== undefined && drifted
        ? yield* correct(kind, intent, sent, cached, options, tracing)
        : { child: made.child, expelled: [] }
    memory.unblock(place, keyString(owner.metadata))
    memory.removeForeign(owner.metadata.uid, made.child.metadata.uid)
    const serverChanges =
      cached === undefined || drifted
        ? yield* ServerChanges.record(owner, kind, place, intent, answer.child)
        : ServerChanges.none

    const foreignFields =
      answer.child === cached
        ? task.foreignFields
        : Intent.foreignFieldsIn(intent, answer.child, options.exclusive, tracing)
    const current =
      foreignFields.length === 0
        ? answer.child
        : yield* applyCorrection(
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
    if (!isWritten) return yield* TooLarge.checked(kind, current)
    const manager = reason === "drift" ? managerOf?.(fields) : undefined
    corrected({ kind: kind.kind, key: keyString(key), reason, fields, ...(manager !== undefined && { manager }) })
    const put = fields.length === 0 ? ["metadata"] : fields.filter((field) => !serverChanges.unmet.has(field))
    const hash = Intent.hashOf(intent) ?? ""
    changed({
      place: `${kind.kind} ${keyString(key)}`,
      written: () => (cached === undefined ? [[HotLoop.existence, ""]] : put.map((field) => [field, hash])),
      seen,
      altered: serverChanges.altered
    })
    return yield* TooLarge.checked(kind, current)
  })

/** The result of creating or correcting a child. */
interface Answer<A> {
  readonly child: A
  /** The foreign fields that were removed. */
  readonly expelled: ReadonlyArray<Drift.ForeignField>
}

/** The span of a child names at most this many fields. */
const mostFields = 32

const placeOf = (kind: Resource.Any, { name, namespace }: ObjectKey): Record<string, string> => ({
  [Attribute.objectKind]: kind.kind,
  [Attribute.objectName]: name,
  ...(namespace !== undefined && { [Attribute.namespace]: namespace })
})

/** Sets the result on the span of a child. */
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
 * Sends the whole intent to a child that differs from it. A patch first replaces foreign fields by intended ones in one step: the server
 * may refuse both side by side, and two steps would start two rollouts.
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
    const whole = sent(child)
    // The creation of a child that is gone would lack the field that is handed over. With a UID, the apply fails with a Conflict instead.
    const aim = handOver === undefined ? whole : { ...whole, metadata: { ...whole.metadata, uid: child.metadata.uid } }
    const send = ({ metadata }: A) => Client.apply(kind, aim, { force: true, before: metadata.resourceVersion })
    type Outcome = Effect.Effect<Answer<A>, Effect.Error<ReturnType<typeof send>>, Client.Client>
    /** The answer to a refusal because of foreign fields. */
    const yielded = (current: A, expelled: Answer<A>["expelled"], error: Invalid, isRead = false): Outcome => {
      // The unions of a cached child were tried before.
      const shape = isRead ? Unions.of(kind) : undefined
      const { fields, operations } = Siblings.refused(shape, Drift.json(intent), Drift.json(current), error.causes)
      if (operations.length === 0) {
        return isRead
          ? Effect.fail(error)
          : // Another manager may have changed the child since the cache saw it.
            Effect.flatMap(Client.get(kind, keyOf(current)), (read) =>
              read.metadata.resourceVersion === current.metadata.resourceVersion
                ? Effect.fail(error)
                : yielded(read, expelled, error, true)
            )
      }
      return Effect.flatMap(applyCorrection(kind, current, operations), send).pipe(
        Effect.map((child) => ({ child, expelled: [...expelled, ...fields] })),
        // The API server may refuse the intent for another reason, too.
        Effect.mapError((again) => (again._tag === "Invalid" ? error : again))
      )
    }
    const claim = (current: A, expelled: Answer<A>["expelled"]): Outcome =>
      send(current).pipe(
        Effect.map((child) => ({ child, expelled })),
        Effect.catchTag("Invalid", (error) => yielded(current, expelled, error))
      )

    const foreign = Intent.foreignFieldsIn(intent, base, exclusive, tracing)
    const restoration = foreign.length === 0 ? [] : Intent.restorationOf(intent, base, exclusive, tracing)
    const siblings = Siblings.outside(
      Siblings.of(Unions.of(kind), Drift.json(intent), Drift.json(base)),
      restoration.map(({ path }) => path)
    )
    const expelled = [...foreign, ...siblings.fields]
    if (expelled.length === 0) return yield* claim(base, expelled)
    const restore = applyCorrection(kind, base, [...restoration, ...siblings.operations])
    const restored = Effect.flatMap(restore, (current) => claim(current, expelled))
    // Nothing of a child without a hash is of an old intent.
    if (!isNew || Intent.hashOf(child) === undefined) return yield* restored
    // With a new intent, these are mostly fields of the old intent, which the apply removes unless another manager owns them too.
    const places = [...foreign.map(({ pointer }) => pointer), ...siblings.operations.map(({ path }) => path)]
    const refused = ({ causes }: Invalid): boolean =>
      causes.some(({ field }) => places.some((pointer) => isWithin(pointer, field)))
    return yield* send(base).pipe(
      Effect.map((child): Answer<A> => ({ child, expelled: [] })),
      Effect.catchTag("Invalid", (error) => (refused(error) ? restored : yielded(base, [], error)))
    )
  })

/** Applies released fields under a separate manager until their new manager writes them. Only a new intent needs it. */
const handedOver = <A extends KubernetesObject, D extends Intent.Intended>(
  kind: Resource.Resource<A, D>,
  child: A,
  fields: object
) =>
  Effect.flatMap(Reconciliation, ({ fieldManager }) => {
    const { name, namespace, resourceVersion, uid } = child.metadata
    // With the resourceVersion of the read, so that the apply cannot restore old values of a child that has changed since.
    const metadata = { name, namespace, resourceVersion, uid }
    // Only a part of a child, under another manager: the server accepts any part.
    const part = { ...fields, metadata } as object as D
    return Client.apply(kind, part, {
      force: true,
      fieldManager: FieldManager.handover(fieldManager),
      before: resourceVersion
    })
  })

/**
 * Whether a field of a refusal, such as `spec.ports[0].name`, is in the same list, map or struct as the foreign field. An apply may move
 * the items of a list, so their places do not count.
 */
const isWithin = (pointer: string, field: string): boolean =>
  field.replaceAll(/\[[^[\]]*\]/g, "").startsWith(
    pointer
      .slice(1, pointer.lastIndexOf("/"))
      .replaceAll(/\/\d+(?=\/|$)/g, "")
      .replaceAll("/", ".")
  )

/**
 * Changes parts of a child. Fails with Conflict if the child has changed since it was read. A new status does not count: during a rollout,
 * each attempt might meet one. A kind without generations has no controller that writes a status often.
 */
const applyCorrection = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  child: A,
  operations: ReadonlyArray<Patch.Operation>
) =>
  Client.patch(
    kind,
    { name: child.metadata.name, namespace: child.metadata.namespace },
    Patch.json([...unchanged(child), ...operations]),
    { before: child.metadata.resourceVersion }
  ).pipe(Patch.guarded)

const unchanged = ({
  metadata: { generation, resourceVersion, uid }
}: KubernetesObject): ReadonlyArray<Patch.Operation> =>
  generation === undefined
    ? [{ op: "replace", path: "/metadata/resourceVersion", value: resourceVersion }]
    : [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "test", path: "/metadata/generation", value: generation }
      ]

/** A resourceVersion that no object has: 1 is the revision of an empty etcd. The API server compares it with an existing object. */
const absent = "1"

/**
 * Creates a child, or reads an existing one that is not cached yet. An apply with a resourceVersion creates an object, and fails with a
 * Conflict if one exists, so it never changes a foreign object.
 *
 * The own object may cause the Conflict: the client retries an apply that got no answer.
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
        // Before the read: a later change must trigger a reconcile of the owner.
        const news = block()
        const exchange = (yield* Exchanges)?.all().findLast((each) => infoOf(each.request).path === request.path)
        const child = yield* Client.get(kind, key)
        const isOurs = exchange !== undefined && exchange.resends > 0 && Intent.isOf(intent, child)
        return { child, isNew: isOurs, news }
      })
    )
  )
