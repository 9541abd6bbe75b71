/**
 * Tells people of work that undoes itself, with the names of the fields and of the other manager: one Event on the object that is
 * reconciled, one log line, an event of the span, a count. The work itself goes on as it is.
 *
 * - `fight`: a field was put back, or a child was deleted and created again, {@link HotLoop.repairs} times within the window. Before the last of these repairs the object is
 *   looked at once: by then the rival still owns the field, and after it nobody could tell any more who it was.
 * - `altered`: the answer to a write has another value than was sent, and not only in another spelling.
 * - `rewrite`: a field was written {@link HotLoop.rewrites} times within the window by reconciles which nothing woke but their own
 *   writes, or their own wish to run again within a second: see `HotLoopObserver`.
 *
 * None of them: writes for a new generation or a new intent, writes that change nothing, retries (they back off).
 *
 * Needs the right to get the kinds that are written.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Client from "../client/Client.ts"
import * as FieldManager from "../client/FieldManager.ts"
import { type KubernetesObject, keyOf, keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Drift from "./Drift.ts"
import * as FieldOwner from "./FieldOwner.ts"
import * as HotLoop from "./HotLoop.ts"
import * as HotLoopReport from "./HotLoopReport.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Spelling from "./Spelling.ts"

/** Who changes a field, and how that is known. */
type Rival =
  | { readonly _tag: "Owner"; readonly manager: string }
  | { readonly _tag: "LastWriter"; readonly manager: string }
  | { readonly _tag: "Namesake"; readonly manager: string }
  | { readonly _tag: "Unknown" }
  /** The object could not be looked at, so nothing is known of who owns what. */
  | { readonly _tag: "Unseen"; readonly error: string }

/** Whether a manager is ours: the controller's own, or the one under which it hands fields over. */
const isOurs = (manager: string | undefined, ours: string): boolean =>
  manager === ours || manager === FieldManager.handover(ours)

const placeOf = (kind: Resource.Any, object: KubernetesObject): string => `${kind.kind} ${keyString(object.metadata)}`

/**
 * Makes a child of ours be as it is wanted. That puts it back if it says by itself that it is meant to be so, or if we have made it
 * just so before; otherwise something new is wanted. See {@link repairing}.
 *
 * @param wanted the whole intent
 * @param hashes of the intent that stands on the child, and of the one that is wanted
 */
export const correcting = <B extends { readonly child: KubernetesObject }, E, R>(
  owner: KubernetesObject,
  kind: Resource.Any,
  child: KubernetesObject,
  wanted: object,
  hashes: { readonly stands: string | undefined; readonly wanted: string },
  fields: ReadonlyArray<string>,
  repair: Effect.Effect<B, E, R>
): Effect.Effect<B, E, R | Reconciliation | Client.Client> =>
  Effect.flatMap(Reconciliation, ({ memory: { hotLoop } }) => {
    const at = { uid: owner.metadata.uid, place: placeOf(kind, child) }
    const isSameAsBefore = hotLoop.intends(at, hashes.wanted)
    if (!isSameAsBefore && hashes.stands !== hashes.wanted) return repair
    return repairing(owner, kind, child, fields, repair, (answer) => ({
      object: answer.child,
      lost: Drift.missing(Drift.json(wanted), Drift.json(answer.child)).map(({ path }) => path)
    }))
  })

/**
 * Whether a child was created again within the window after a deletion. Then its owner may be gone, which the cache has
 * not seen yet: the garbage collector deletes each child of such an owner.
 */
export const isRecreated = (owner: KubernetesObject, kind: Resource.Any, key: string) =>
  Effect.zipWith(Reconciliation, Effect.clock, ({ memory: { hotLoop } }, clock) => {
    const at = HotLoop.recreated(owner.metadata.uid, kind.kind, key)
    return hotLoop.due(at, [HotLoop.untold], clock.unsafeCurrentTimeMillis(), 2).length > 0
  })

/**
 * Puts fields back that somebody else has changed, and tells of it if that happens again and again.
 *
 * @param owner the object being reconciled
 * @param object what is repaired, as the cache has it: a child, or the owner itself
 * @param fields paths of what differs
 * @param outcome the object as it is after the repair, and the paths of what the server has not stored as it was sent
 */
const repairing = <B, E, R>(
  owner: KubernetesObject,
  kind: Resource.Any,
  object: KubernetesObject,
  fields: ReadonlyArray<string>,
  repair: Effect.Effect<B, E, R>,
  outcome: (answer: B) => { readonly object: KubernetesObject; readonly lost: ReadonlyArray<string> }
): Effect.Effect<B, E, R | Reconciliation | Client.Client> =>
  Effect.gen(function* () {
    const reconciliation = yield* Reconciliation
    const { hotLoop } = reconciliation.memory
    const clock = yield* Effect.clock
    const { uid } = owner.metadata
    const place = placeOf(kind, object)
    const at = { uid, place }
    hotLoop.generation(uid, reconciliation.object.metadata.generation)

    const due = hotLoop.due(at, fields, clock.unsafeCurrentTimeMillis(), HotLoop.repairs)
    const rivals = due.length === 0 ? [] : yield* rivalsOf(kind, object, due)
    const answer = yield* repair
    const after = outcome(answer)
    // Nothing was to be done: the cache had not heard yet that all is as it should be.
    if (after.object.metadata.resourceVersion === object.metadata.resourceVersion) return answer

    const now = clock.unsafeCurrentTimeMillis()
    const lost = new Set(after.lost)
    hotLoop.wrote(
      at,
      fields.filter((field) => !lost.has(field)),
      now
    )
    for (const [rival, theirs] of rivals) {
      const news = hotLoop.report("fight", at, theirs, now)
      if (news.length > 0) yield* HotLoopReport.report(owner, fightOf(owner, place, news, rival))
    }
    return answer
  })

/** The fields by who changes them, as the server has the object now. */
const rivalsOf = (kind: Resource.Any, object: KubernetesObject, fields: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { fieldManager } = yield* Reconciliation
    // A look for information only: it must not hold up the repair.
    const live = yield* Effect.either(
      Client.get(Resource.metadataOnly(kind), keyOf(object), { retry: false, timeoutMillis: lookMillis })
    )
    const groups = new Map<string, [Rival, Array<string>]>()
    for (const field of fields) {
      const rival: Rival = Either.match(live, {
        onLeft: ({ _tag }) => ({ _tag: "Unseen", error: _tag }),
        onRight: ({ metadata }) => rivalOf(metadata, object, field, fieldManager)
      })
      const key = "manager" in rival ? `${rival._tag} ${rival.manager}` : rival._tag
      const group = groups.get(key) ?? [rival, []]
      group[1].push(field)
      groups.set(key, group)
    }
    return Array.from(groups.values())
  })

const lookMillis = 2000

const rivalOf = (
  { managedFields = [], resourceVersion }: KubernetesObject["metadata"],
  object: KubernetesObject,
  field: string,
  ours: string
): Rival => {
  const owners = FieldOwner.owners(managedFields, field, Drift.json(object))
  const rivals = new Set(owners.flatMap((entry) => (isOurs(entry.manager, ours) ? [] : [entry.manager ?? "unknown"])))
  if (rivals.size > 0) return { _tag: "Owner", manager: Array.from(rivals).join(" and ") }
  // Ours, and yet not as we want it, in the very state that is to be repaired.
  const isSeen = resourceVersion === object.metadata.resourceVersion
  if (isSeen && owners.length > 0) return { _tag: "Namesake", manager: ours }
  // Who only writes the status changes nothing else.
  const writesHere = managedFields.filter(
    (entry) => !isOurs(entry.manager, ours) && (entry.subresource === "status") === field.startsWith("status")
  )
  const last = FieldOwner.lastWriter(writesHere)?.manager
  return last === undefined ? { _tag: "Unknown" } : { _tag: "LastWriter", manager: last }
}

const fightOf = (
  owner: KubernetesObject,
  place: string,
  fields: ReadonlyArray<string>,
  rival: Rival
): HotLoopReport.Finding => {
  const many = fields.length > 1
  const it = many ? "them" : "it"
  const was = `${HotLoopReport.named(fields, place)} ${many ? "were" : "was"} put back ${HotLoop.repairs} times within ${HotLoopReport.seconds} s`
  const asker = `${owner.kind ?? "the object"} ${keyString(owner.metadata)}`
  const give = (manager: string) =>
    `Give ${many ? "each field" : "the field"} to one of the two: either ${manager} stops setting ${it}, or ${asker} stops asking for ${it}.`
  switch (rival._tag) {
    case "Owner": {
      const { manager } = rival
      return {
        reason: "fight",
        place,
        fields,
        manager,
        note: `${was}: ${manager} keeps changing ${it}. ${give(manager)}`
      }
    }
    case "LastWriter": {
      const { manager } = rival
      const note = `${was}: somebody keeps changing ${it}, probably ${manager}, who wrote last. ${give(manager)}`
      return { reason: "fight", place, fields, manager, note }
    }
    case "Namesake": {
      const { manager } = rival
      const note = `${was}: somebody else who writes as ${manager} keeps changing ${it}. Is this program running twice, in another version? Otherwise give the other one a field manager of its own.`
      return { reason: "fight", place, fields, manager, note }
    }
    case "Unknown": {
      const note = `${was}: somebody keeps changing ${it} who owns no field any more; the API server's audit log says who. ${give("the other one")}`
      return { reason: "fight", place, fields, manager: undefined, note }
    }
    case "Unseen": {
      const note = `${was}: somebody keeps changing ${it}. Who could not be looked up (${rival.error}); the API server's audit log says who. ${give("the other one")}`
      return { reason: "fight", place, fields, manager: undefined, note }
    }
  }
}

/**
 * Tells if a server stores other values than were sent to it. What it has in another spelling is no alteration, nor what it
 * lacks: of that its schema is the reason, as a rule, and it concerns the whole kind.
 *
 * @param child as the server answered
 */
export const answered = (
  owner: KubernetesObject,
  kind: Resource.Any,
  child: KubernetesObject,
  differences: ReadonlyArray<Drift.Difference>
): Effect.Effect<void, never, Reconciliation> =>
  Effect.suspend(() => {
    const altered = differences.flatMap(({ have, path, want }) =>
      have === undefined || Spelling.isSame(want, have) ? [] : [path]
    )
    if (altered.length === 0) return Effect.void
    return Effect.gen(function* () {
      const { fieldManager, memory } = yield* Reconciliation
      const clock = yield* Effect.clock
      const place = placeOf(kind, child)
      const now = clock.unsafeCurrentTimeMillis()
      const fields = memory.hotLoop.report("altered", { uid: owner.metadata.uid, place }, altered, now)
      if (fields.length === 0) return
      const entries = fields.flatMap((field) =>
        FieldOwner.owners(child.metadata.managedFields ?? [], field, Drift.json(child))
      )
      const managers = new Set(
        entries.flatMap(({ manager }) => (manager === undefined || isOurs(manager, fieldManager) ? [] : [manager]))
      )
      const manager = managers.size === 0 ? undefined : Array.from(managers).join(" and ")
      const [it, is] = fields.length > 1 ? ["they", "were"] : ["it", "was"]
      const who = manager === undefined ? "a mutating webhook, as a rule" : `${manager}, or a mutating webhook`
      const note = `The API server stores ${HotLoopReport.named(fields, place)} otherwise than ${it} ${is} sent. Who changes that on the way: ${who}. It is left so; exempt the object from the change, or ask for the value that comes of it.`
      // It is true of each object of the kind: said once in the log, and once where somebody looks at one.
      const isNews = memory.isNews(`altered ${kind.kind} ${manager} ${fields.join()}`)
      yield* HotLoopReport.report(owner, { reason: "altered", place, fields, manager, note }, isNews)
    })
  })

/**
 * Writes a part of an object that carries no hash of what is wanted, such as its status. A field counts as put back if it had the
 * very value that it is to have when it was written last, and somebody has touched the part since. See {@link repairing}.
 *
 * @param part where it is, how it is found in the object, and how it is to be
 */
export const restating = <B extends KubernetesObject, E, R>(
  object: KubernetesObject,
  kind: Resource.Any,
  part: {
    readonly path: string
    readonly of: (object: KubernetesObject) => Drift.Json
    readonly wanted: Drift.Json
  },
  write: Effect.Effect<B, E, R>
): Effect.Effect<B, E, R | Reconciliation | Client.Client> =>
  Effect.flatMap(Reconciliation, ({ memory: { hotLoop } }) => {
    const { of, path, wanted } = part
    const at = { uid: object.metadata.uid, place: placeOf(kind, object) }
    const changed = changes(of(object), wanted, path)
    const whole = (part: Drift.Json): HotLoop.Valued => [`all of ${path}`, hash(part)]
    const isUntouched = hotLoop.undone(at, [whole(of(object))]).length > 0
    const undone = isUntouched ? [] : hotLoop.undone(at, changed)
    const lost = (answer: B) => Drift.missing(wanted, of(answer), path).map(({ path }) => path)
    const written =
      undone.length === 0
        ? write
        : repairing(object, kind, object, undone, write, (answer) => ({ object: answer, lost: lost(answer) }))
    return Effect.tap(written, (answer) =>
      Effect.sync(() => {
        const unwritten = new Set(lost(answer))
        hotLoop.valued(at, [whole(of(answer)), ...changed.filter(([field]) => !unwritten.has(field))])
      })
    )
  })

/** The hash of a value, so that nothing keeps the value. Both sides of a comparison have their keys in one order: the server's, or the author's. */
const hash = (value: Drift.Json | undefined): string => Bun.hash(JSON.stringify(value) ?? "").toString(36)

/** What a write changes: the fields at a path that will be otherwise, each with a hash of what it will be. */
const changes = (before: Drift.Json, after: Drift.Json, path: string): ReadonlyArray<HotLoop.Valued> => [
  ...Drift.missing(after, before, path).map(({ path, want }): HotLoop.Valued => [path, hash(want)]),
  ...Drift.missing(before, after, path).flatMap(
    ({ have, path }): ReadonlyArray<HotLoop.Valued> => (have === undefined ? [[path, "gone"]] : [])
  )
]
