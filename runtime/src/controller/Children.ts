/** The children of an owner as a set: applies what is desired, and removes what is no longer desired. */
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import type * as Cache from "../cache/Cache.ts"
import { type ApiError, type BadRequest, Forbidden, type Invalid, type ServerError } from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import * as Refusal from "../client/Refusal.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type { Readiness } from "../resource/Readiness.ts"
import * as Resource from "../resource/Resource.ts"
import * as Child from "./Child.ts"
import { NotServed } from "./NotServed.ts"
import * as Ownership from "./Ownership.ts"
import type { Progress } from "./Progress.ts"
import { prune, type Removed } from "./Prune.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import type * as Removal from "./Removal.ts"
import * as Result from "./Result.ts"
import { TerminalError } from "./TerminalError.ts"
import { TooLarge } from "./TooLarge.ts"

/** A child that exists as desired. */
export interface Applied<out A> {
  readonly _tag: "Applied"
  /** The kind and name: `Deployment shop`. */
  readonly child: string
  readonly object: A
  /** Whether it has reached its spec. */
  readonly readiness: Readiness
}

/** A child that waits for others, and so is not created or changed. */
export interface Waiting<out A> {
  readonly _tag: "Waiting"
  readonly child: string
  /** The child as it is; absent if it does not exist. */
  readonly object?: A | undefined
  /** The children that it waits for: `Job migrate`. */
  readonly waitsFor: ReadonlyArray<string>
}

/** Why a child cannot be applied until something else changes. */
export type Refused =
  | Ownership.NotOwned
  | NotServed
  | TooLarge
  | Forbidden
  | Invalid
  | BadRequest
  | ServerError
  | TerminalError

/** A child that could not be applied. */
export interface Failed {
  readonly _tag: "Failed"
  readonly child: string
  readonly object?: undefined
  readonly error: Refused
}

/** The state of a desired child. */
export type State<A> = Applied<A> | Waiting<A> | Failed

/** Desired children: a list, or a struct whose undefined members are not desired. */
export type Desired = ReadonlyArray<Child.Child> | { readonly [name: string]: Child.Child | undefined }

/** The state of a child C. */
type StateOf<C> = C extends Child.Child<infer A> ? State<A> : undefined

/** The result of {@link all} for the children C. */
export interface Children<out C extends Desired = Desired> {
  /** The states of the desired children: a list in their order, or a struct with their names. */
  readonly states: { readonly [Member in keyof C]: StateOf<C[Member]> }
  /** The children that were removed. A desired child that waits or could not be applied keeps those that it may replace. */
  readonly removed: ReadonlyArray<Removed>
}

/** The errors that end an attempt at once. */
type Failure = ApiError | Ownership.OwnerGone | Resource.InvalidObject

/** Desired children by name. */
type Struct = { readonly [name: string]: Child.Child | undefined }

/** The states, without those of members that are not desired. */
const listed = ({ states }: Children): ReadonlyArray<State<KubernetesObject>> =>
  Object.values(states).filter((state) => state !== undefined)

const nameOf = ({ kind, metadata }: Child.Child): string => `${kind.kind} ${metadata.name}`

/**
 * Makes the children of the owner exactly those that are listed. As in `Effect.all`, a struct gives each child a name: its undefined
 * members are not desired, and `states` has the same names.
 *
 * First it applies the listed children, each as {@link apply}: dependencies before the children that need them. A new child is not
 * created before those of its `after` are ready, and its state says what it waits for. A change of them triggers the next reconcile.
 *
 * Then it deletes the children that this controller applied for this owner before and that are not listed, and reports them in `removed`.
 * It finds them in the cache, among the kinds of `owns`. So keep a kind in `owns` while such children may exist. A child with `after` is
 * deleted with its dependents before the children that it needs. If a listed child waits or fails, nothing is deleted that it may
 * replace: nothing at all without its option `replaces`. Children that another manager applied, or that were created without
 * {@link apply}, stay. If the API server has a newer version of the owner, it fails with `Conflict` instead: the newer intent may want
 * them.
 *
 * Without a difference it sends no request. If the API server refuses a child, or another owner has it, the others are applied before `all`
 * fails with that error. {@link allSettled} does not fail then.
 *
 * The controller must declare each kind in `owns`, and with `Owned.kind(…, { removes: true })` if its children are removed. Otherwise the
 * attempt fails with a permanent error.
 *
 * @example
 * ```ts
 * const controller = Controller.make("site", {
 *   for: Site,
 *   owns: [BuiltIn.ConfigMap, Owned.kind(BuiltIn.Service, { removes: true })],
 *   reconcile: (site) =>
 *     Effect.gen(function* () {
 *       const { name } = site.metadata
 *       const page = Owned.child(BuiltIn.ConfigMap, { metadata: { name }, data: { replicas: `${site.spec.replicas}` } })
 *       const service = Owned.child(BuiltIn.Service, { metadata: { name }, spec: { ports: [{ port: 80 }] } }, { after: [page] })
 *       yield* Owned.all(site, site.spec.replicas > 0 ? [page, service] : [page])
 *       return Result.done
 *     })
 * })
 * ```
 */
export const all = <const C extends Desired>(
  owner: KubernetesObject,
  children: C
): Effect.Effect<Children<C>, Failure | Refused, Child.Needs> =>
  Effect.flatMap(allSettled(owner, children), (result) => {
    const failed = listed(result).find((state) => state._tag === "Failed")
    return failed === undefined ? Effect.succeed(result) : Effect.fail(failed.error)
  })

/**
 * The same as {@link all}, with refused children as a state `Failed` instead of a failure. Use it to report the state of each child, and
 * then fail with the error: the runtime retries by it.
 *
 * @example
 * ```ts
 * const page = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * const { states } = yield* Owned.allSettled(site, [page])
 * states.map((state) => state._tag) // => ["Applied"]
 * ```
 */
export const allSettled = <const C extends Desired>(
  owner: KubernetesObject,
  children: C
): Effect.Effect<Children<C>, Failure | TerminalError, Child.Needs> =>
  Effect.suspend((): Effect.Effect<Children<C>, Failure | TerminalError, Child.Needs> => {
    const list = Object.values(children).filter((child) => child !== undefined)
    const places = new Map(list.map((child) => [Child.placeOf(child.kind, Child.keyOf(owner, child)), child]))
    const mistake = mistakeIn(list, places)
    if (mistake !== undefined) return Effect.fail(new TerminalError({ message: mistake }))
    const states = new Map<Child.Child, State<KubernetesObject>>()
    const found = (child: Child.Child | undefined) => child && states.get(child)
    // One state for each child, so that the states have the form of the list or struct.
    const formed = (removed: ReadonlyArray<Removed>): Children<C> => {
      const all = Array.isArray(children) ? children.map(found) : Record.map(children as Struct, found)
      return { states: all, removed } as object as Children<C>
    }
    return settle(owner, ordered(list), states, (isWhole) => {
      if (isWhole) return prune(owner, places, nothing, formed)
      const pending = list.filter((child) => states.get(child)?._tag !== "Applied")
      return pending.some(({ replaces }) => replaces === undefined)
        ? Effect.succeed(formed([]))
        : prune(owner, places, replacedBy(pending), formed)
    })
  })

const nothing: ReadonlySet<string> = new Set()

/** The names of the kinds of which these children may replace a child. */
const replacedBy = (children: ReadonlyArray<Child.Child>): ReadonlySet<string> =>
  new Set(children.flatMap(({ kind, replaces = [] }) => [kind, ...replaces].map(Resource.nameOf)))

/**
 * Applies the children from the index on, and records their states. Then it continues with whether each is applied. Every no-op
 * reconcile runs it.
 */
const settle = <B>(
  owner: KubernetesObject,
  children: ReadonlyArray<Child.Child>,
  states: Map<Child.Child, State<KubernetesObject>>,
  end: (isWhole: boolean) => Effect.Effect<B, Failure | TerminalError, Child.Needs>,
  from = 0
): Effect.Effect<B, Failure | TerminalError, Child.Needs> => {
  const child = children[from]
  if (child === undefined) return end(children.every((each) => states.get(each)?._tag === "Applied"))
  const waitsFor = child.after.length === 0 ? child.after : child.after.filter((other) => !isReady(states.get(other)))
  const name = nameOf(child)
  const next = (state: State<KubernetesObject>) => {
    states.set(child, state)
    return settle(owner, children, states, end, from + 1)
  }
  const onFailure = (error: Effect.Error<ReturnType<typeof child.apply>>) =>
    isRefused(error) ? next({ _tag: "Failed", child: name, error }) : Effect.fail(error)
  if (waitsFor.length === 0) {
    return Effect.matchEffect(child.apply(owner), {
      onFailure,
      onSuccess: (object) => next(appliedOf(child, name, object))
    })
  }
  return Effect.matchEffect(child.hold(owner), {
    onFailure,
    onSuccess: ({ isHeld, object }) =>
      next(
        isHeld || object === undefined
          ? { _tag: "Waiting", child: name, object, waitsFor: waitsFor.map(nameOf) }
          : appliedOf(child, name, object)
      )
  })
}

const appliedOf = <A extends KubernetesObject>(child: Child.Child, name: string, object: A): Applied<A> => ({
  _tag: "Applied",
  child: name,
  object,
  get readiness() {
    return child.readiness(object)
  }
})

/**
 * Removes all children that this controller applied for this owner, as {@link all} with an empty list. Returns `Result.done` when they
 * are gone, and a result for another run until then: for the clean-up of a finalizer that keeps an order or waits.
 *
 * Without such a finalizer, the garbage collector deletes the children after their owner, in any order. After `kubectl delete
 * --cascade=orphan` it removes nothing.
 *
 * @example
 * ```ts
 * const controller = Controller.make("site", {
 *   for: Site,
 *   owns: [Owned.kind(BuiltIn.ConfigMap, { removes: true })],
 *   finalizer: { name: "example.com/children", cleanup: (site) => Owned.removeAll(site) },
 *   reconcile: (site) =>
 *     Effect.as(Owned.apply(site, BuiltIn.ConfigMap, { metadata: { name: site.metadata.name } }), Result.done)
 * })
 * ```
 */
export const removeAll = (
  owner: KubernetesObject
): Effect.Effect<Result.Result, Removal.Failure, Reconciliation | Client.Client | Cache.Cache> =>
  isOrphaning(owner)
    ? Effect.succeed(Result.done)
    : prune(owner, new Map(), nothing, (removed) =>
        // The deletion of each child triggers the next run.
        removed.every(({ isGone }) => isGone) ? Result.done : Result.requeueAfter("1 minute")
      )

/** Whether the owner was deleted with `--cascade=orphan`: the garbage collector takes its reference from the children, which stay. */
const isOrphaning = ({ metadata: { deletionTimestamp, finalizers = [] } }: KubernetesObject): boolean =>
  deletionTimestamp !== undefined && finalizers.includes("orphan")

/** The most children that a message names. */
const mostNamed = 5

/**
 * The progress of an owner by its children, for `Status.progress`.
 *
 * It is `Stalled` if a child could not be applied or has failed. It is `Reconciling` while a child is not ready, waits for others, or is
 * being deleted. Otherwise it is `Ready`. The message names up to five of these children.
 *
 * @example
 * ```ts
 * const page = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * const children = yield* Owned.all(site, [page])
 * Owned.progress(children) // => { state: "Ready", reason: "ChildrenReady", message: "1 of 1 children are ready" }
 * ```
 */
export const progress = (children: Children): Progress => {
  const { removed } = children
  const states = listed(children)
  const joined = (texts: ReadonlyArray<string>): string => {
    const more = texts.length > mostNamed ? `; and ${texts.length - mostNamed} more` : ""
    return texts.slice(0, mostNamed).join("; ") + more
  }
  const refused = states.find((state) => state._tag === "Failed")
  if (refused !== undefined)
    return { state: "Stalled", reason: reasonOf(refused.error), message: refused.error.message }
  const judged = states.flatMap((state) =>
    state._tag === "Applied" && state.readiness.state !== "Current" ? [state] : []
  )
  const text = ({ child, readiness }: Applied<unknown>) => `${child}: ${readiness.message}`
  const failed = judged.filter(({ readiness }) => readiness.state === "Failed")
  if (failed.length > 0) return { state: "Stalled", reason: "ChildFailed", message: joined(failed.map(text)) }
  const waiting = states.flatMap((state) =>
    state._tag === "Waiting" ? [`${state.child} waits for ${state.waitsFor.join(" and ")}`] : []
  )
  const unready = [...judged.map(text), ...waiting]
  if (unready.length > 0) return { state: "Reconciling", reason: "ChildrenNotReady", message: joined(unready) }
  const left = removed.flatMap(({ child, isGone, waitsFor }) =>
    isGone
      ? []
      : [waitsFor.length === 0 ? `${child} is being deleted` : `${child} is deleted after ${waitsFor.join(" and ")}`]
  )
  if (left.length > 0) return { state: "Reconciling", reason: "RemovingChildren", message: joined(left) }
  const { length } = states
  return { state: "Ready", reason: "ChildrenReady", message: `${length} of ${length} children are ready` }
}

const reasonOf = (error: Refused): string => (error instanceof TerminalError ? "TerminalError" : error._tag)

const isReady = (state: State<KubernetesObject> | undefined): boolean =>
  state?._tag === "Applied" && state.readiness.state === "Current"

/**
 * Why a list cannot be applied.
 *
 * @param places the children with different places
 */
const mistakeIn = (
  children: ReadonlyArray<Child.Child>,
  places: ReadonlyMap<string, Child.Child>
): string | undefined => {
  const distinct = places.size === children.length ? undefined : new Set(places.values())
  for (const child of children) {
    if (distinct?.has(child) === false)
      return `${nameOf(child)} is twice in a list of children (remove one, or rename one)`
    const other = child.after.find((each) => !children.includes(each))
    if (other !== undefined) {
      return `${nameOf(child)} waits for ${nameOf(other)}, which is not in the list of children (add it to the list)`
    }
  }
  return undefined
}

/** The children, each behind those of its `after`. A child cannot be in its own `after`, because that exists before it. */
const ordered = (children: ReadonlyArray<Child.Child>): ReadonlyArray<Child.Child> => {
  if (children.every(({ after }) => after.length === 0)) return children
  const found = new Set<Child.Child>()
  const visit = (child: Child.Child): void => {
    if (found.has(child)) return
    child.after.forEach(visit)
    found.add(child)
  }
  children.forEach(visit)
  return [...found]
}

const isRefused = (error: unknown): error is Refused =>
  error instanceof Ownership.NotOwned ||
  error instanceof NotServed ||
  error instanceof TooLarge ||
  error instanceof Forbidden ||
  error instanceof TerminalError ||
  Refusal.isRejection(error) ||
  Refusal.isDenied(error) ||
  Refusal.isMistyped(error)
