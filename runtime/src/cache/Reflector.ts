/**
 * How a copy of one kind is kept in step with the API server, as a table of transitions. `step` is pure: what happened goes
 * in, what to do comes out. `Watcher.run` does it.
 *
 * The way of a reflector:
 *
 * 1. It asks for the present state: with a watch that begins with it (WatchList), or, where the server refuses that, in
 *    pages. The copy is replaced as a whole when the state is complete, never before.
 * 2. It applies the events that follow. Every event and bookmark moves the resourceVersion from which it can go on.
 * 3. A watch that ended goes on from there. Only a resourceVersion that is too old (or that cannot be right) sends it back
 *    to 1, or a watch that breaks at one resourceVersion {@link breakLimit} times; an overloaded or absent server does not.
 *
 * What it guarantees: objects appear in the copy in the order of their writes; a state may be skipped, the last one never is;
 * no answer of the server, and no silence, stops it for good. A request that fails leaves the copy as it is, also one that says
 * that the kind is not served: the watch reports the deletion of all objects before a deleted CRD is gone.
 */
import type { ApiError } from "../client/ApiError.ts"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Problem from "./Problem.ts"
import type { Page } from "./Source.ts"

/** What is asked of the server. */
export type Request =
  /** The present state and then events, in one watch. */
  | { readonly _tag: "Stream" }
  /** A page of the present state; the first one has no `continue`. */
  | { readonly _tag: "List"; readonly continue: string | undefined }
  /** Events after `resourceVersion`. */
  | { readonly _tag: "Resume"; readonly resourceVersion: string }

/** Where a reflector is. */
export type Phase =
  | { readonly _tag: "Waiting"; readonly request: Request }
  | { readonly _tag: "Asking"; readonly request: Request }
  /** A watch is telling the present state. */
  | { readonly _tag: "Streaming" }
  /** A watch is telling what happens; `quiet` until it has told anything new. */
  | { readonly _tag: "Watching"; readonly quiet: boolean }

/** Everything a reflector remembers. The objects are not in it: they are in the copy. */
export interface State {
  readonly phase: Phase
  /** `stream` until the server does not complete the present state. */
  readonly strategy: "stream" | "pages"
  /** How far the copy is; `undefined` while there is none. */
  readonly resourceVersion: string | undefined
  /** Requests that were refused and watches that the server broke off since it last told anything. */
  readonly failures: number
  /**
   * Requests and watches that were lost on the way in that time. Counted apart, as a server that was away for long begins
   * with refusals, and those are not to be waited out as if it had refused all the while.
   */
  readonly losses: number
  /** Watches in a row that ended without a word. */
  readonly empties: number
  /** Watches in a row that the watchdog gave up. */
  readonly idles: number
  /** Times the state was asked for anew since an event last arrived. */
  readonly relists: number
  /** Watches in a row that were accepted and broke before they brought anything new. */
  readonly breaks: number
  /** The current problem; `undefined` if there is none. A watch that breaks is one from the {@link reportLimit}-th time on. */
  readonly problem: Problem.Problem | undefined
}

/** What happened. */
export type Input =
  /** The delay is over. Also how it begins. */
  | { readonly _tag: "Elapsed" }
  /** The watch was accepted. */
  | { readonly _tag: "Opened" }
  | { readonly _tag: "Listed"; readonly page: Page }
  | { readonly _tag: "Told"; readonly events: ReadonlyArray<Watch.Event> }
  /** The request was refused or the watch broke. */
  | { readonly _tag: "Failed"; readonly error: ApiError }
  /** The server ended the watch in order, `livedMillis` after it was accepted. */
  | { readonly _tag: "Ended"; readonly livedMillis: number }
  /** Nothing arrived for so long, bookmarks included, that the connection must be dead. */
  | { readonly _tag: "Idle" }

/** Why a watch was opened again, or the state asked for anew. */
export type Reason = "ended" | "broken" | "idle" | "expired" | "empty" | "refused" | "error"

/** What to do to the copy. */
export type Edit =
  /** The state is about to be asked for: what is staged from an earlier attempt is void. */
  | { readonly _tag: "Begin" }
  | { readonly _tag: "Stage"; readonly objects: ReadonlyArray<KubernetesObject> }
  | { readonly _tag: "Unstage"; readonly object: KubernetesObject }
  /** What is staged is the state as of `resourceVersion`. */
  | { readonly _tag: "Commit"; readonly resourceVersion: string }
  /** Events in order; those without an object only move the resourceVersion. */
  | { readonly _tag: "Apply"; readonly events: ReadonlyArray<Watch.Event>; readonly resourceVersion: string }

/** What to do. The last action of a step is the one to wait for: `Ask`, `Read` or `Wait`. */
export type Action =
  | Edit
  /** To be counted: a watch is resumed. */
  | { readonly _tag: "Restarted"; readonly reason: Reason }
  /** To be counted: the state is asked for anew. */
  | { readonly _tag: "Relisted"; readonly reason: Reason }
  /** Any open watch is closed, and the request made. */
  | { readonly _tag: "Ask"; readonly request: Request }
  /** The open watch is read on. */
  | { readonly _tag: "Read" }
  /** Any open watch is closed. `millis` is without jitter, which may only lengthen it. */
  | { readonly _tag: "Wait"; readonly millis: number }

type Step = readonly [state: State, actions: ReadonlyArray<Action>]

/** Watches in a row that end without a word before the resourceVersion is taken to be wrong: one that is too new gets silence. */
export const emptyLimit = 3
/** Watches in a row without a sign of life before the same is assumed. The first may well have been the network. */
export const idleLimit = 2
/** Watches in a row that break without news before that is a problem to report. A kind at rest has news once a minute, a bookmark. */
export const reportLimit = 5
/** Watches in a row that break without news before the state is asked for: there may be an event that cannot be read. */
export const breakLimit = 10
/** Watches in a row that end before the present state is complete, before it is asked for in pages. */
export const cutLimit = 2
/** A watch that ends sooner has failed: going on at once would be a busy loop. */
export const shortMillis = 1000

const verbOf = (request: Request): Problem.Problem["verb"] => (request._tag === "List" ? "list" : "watch")

const first = (state: State): Request =>
  state.strategy === "stream" ? { _tag: "Stream" } : { _tag: "List", continue: undefined }

const resume = (state: State): Request =>
  state.resourceVersion === undefined ? first(state) : { _tag: "Resume", resourceVersion: state.resourceVersion }

const isFirst = (request: Request): boolean =>
  request._tag === "Stream" || (request._tag === "List" && request.continue === undefined)

const ask = (state: State, request: Request, before: ReadonlyArray<Action> = []): Step => [
  { ...state, phase: { _tag: "Asking", request } },
  isFirst(request) ? [...before, { _tag: "Begin" }, { _tag: "Ask", request }] : [...before, { _tag: "Ask", request }]
]

const wait = (state: State, request: Request, millis: number, before: ReadonlyArray<Action> = []): Step => [
  { ...state, phase: { _tag: "Waiting", request } },
  [...before, { _tag: "Wait", millis }]
]

/** Asks for the state anew: at once, but with growing delays if that brought no event the last times. */
const relist = (state: State, reason: Reason, before: ReadonlyArray<Action> = []): Step => {
  const next: State = { ...state, relists: state.relists + 1, empties: 0, idles: 0, breaks: 0 }
  const actions: ReadonlyArray<Action> = [...before, { _tag: "Relisted", reason }]
  return state.relists === 0
    ? ask(next, first(next), actions)
    : wait(next, first(next), Problem.delay("expired", state.relists), actions)
}

/** One more failure, and how long to wait after it. */
const counted = (state: State, kind: Problem.Kind, error: ApiError | undefined): readonly [State, millis: number] => {
  const lost = kind === "unreachable"
  const next: State = lost ? { ...state, losses: state.losses + 1 } : { ...state, failures: state.failures + 1 }
  return [next, Problem.delay(kind, lost ? next.losses : next.failures, Problem.retryAfter(error))]
}

/** Makes the request again, later. */
const retry = (state: State, request: Request, problem: Problem.Problem, before: ReadonlyArray<Action> = []): Step => {
  const [next, millis] = counted(state, problem.kind, problem.error)
  return wait({ ...next, problem }, request, millis, before)
}

const refused = (state: State, request: Request, error: ApiError): Step => {
  const problem = Problem.of(error, verbOf(request))
  switch (problem.kind) {
    case "expired":
      return isFirst(request) ? retry(state, request, problem) : relist(state, "expired")
    case "refused":
      // What the server objects to is what makes this request special: the initial events, the token, the version.
      // The next relist asks for a stream again: a proxy on the way may have given this answer.
      if (request._tag === "Stream") return ask(state, { _tag: "List", continue: undefined })
      return isFirst(request) ? retry(state, request, problem) : relist(state, "refused")
    default:
      return retry(state, request, problem)
  }
}

/** A watch that was telling what happens broke, or told of an error. */
const interrupted = (state: State, error: ApiError, reason: Reason, before: ReadonlyArray<Action> = []): Step => {
  const problem: Problem.Problem = { ...Problem.of(error, "watch"), isInStream: true }
  if (problem.kind === "expired" || problem.kind === "refused") return relist(state, problem.kind, before)
  const [failed, millis] = counted(state, problem.kind, error)
  const breaks = state.breaks + 1
  const next: State = { ...failed, idles: 0, breaks, problem: breaks >= reportLimit ? problem : state.problem }
  return breaks >= breakLimit
    ? relist(next, reason, before)
    : wait(next, resume(state), millis, [...before, { _tag: "Restarted", reason }])
}

/** A watch that was telling the present state broke or ended. */
const unfinished = (state: State, problem: Problem.Problem, limit: number): Step => {
  const breaks = state.breaks + 1
  const strategy = breaks >= limit ? "pages" : state.strategy
  const next: State = { ...state, breaks: breaks >= limit ? 0 : breaks, strategy }
  return retry(next, first(next), { ...problem, isInStream: true })
}

const ended = (state: State, quiet: boolean, livedMillis: number): Step => {
  const next: State = { ...state, empties: quiet ? state.empties + 1 : 0, idles: 0 }
  if (next.empties >= emptyLimit) return relist(next, "empty")
  const restarted: ReadonlyArray<Action> = [{ _tag: "Restarted", reason: "ended" }]
  if (livedMillis >= shortMillis) return ask(next, resume(next), restarted)
  const failures = next.failures + 1
  return wait({ ...next, failures }, resume(next), Problem.delay("unavailable", failures), restarted)
}

const idle = (state: State): Step => {
  const next: State = { ...state, idles: state.idles + 1 }
  return next.idles >= idleLimit
    ? relist(next, "idle")
    : ask(next, resume(next), [{ _tag: "Restarted", reason: "idle" }])
}

/** The counters of a state that has nothing to report. */
const well = { failures: 0, losses: 0, empties: 0, idles: 0, breaks: 0, problem: undefined }

/** The resourceVersion after these events, as far as they say it. */
const reached = (events: ReadonlyArray<Watch.Event>, before: string): string => {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]
    if (event === undefined || event.type === "ERROR") continue
    const version = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion
    if (version !== undefined && version !== "") return version
  }
  return before
}

const told = (state: State, quiet: boolean, from: string, events: ReadonlyArray<Watch.Event>): Step => {
  const error = events.findIndex(({ type }) => type === "ERROR")
  const failure = events[error]
  const live = error < 0 ? events : events.slice(0, error)
  const resourceVersion = reached(live, from)
  // A bookmark that only repeats where we are is a sign of life, but no news: some servers send one to every new watch.
  const news = resourceVersion !== from || live.some(({ type }) => type !== "BOOKMARK")
  const next: State = news
    ? {
        ...state,
        ...well,
        relists: 0,
        phase: { _tag: "Watching", quiet: false },
        resourceVersion
      }
    : { ...state, phase: { _tag: "Watching", quiet }, idles: 0 }
  const applied: ReadonlyArray<Action> = news ? [{ _tag: "Apply", events: live, resourceVersion }] : []
  return failure?.type === "ERROR"
    ? interrupted(next, failure.error, "error", applied)
    : [next, [...applied, { _tag: "Read" }]]
}

const committed = (state: State, resourceVersion: string): State => ({
  ...state,
  ...well,
  phase: { _tag: "Watching", quiet: false },
  resourceVersion
})

/** The watch that was telling the present state failed. */
const failedEarly = (state: State, error: ApiError): Step => {
  const problem = Problem.of(error, "watch")
  return problem.kind === "unreachable" || problem.kind === "unavailable"
    ? unfinished(state, problem, breakLimit)
    : refused(state, first(state), error)
}

const streamed = (state: State, events: ReadonlyArray<Watch.Event>): Step => {
  const actions: Array<Action> = []
  let objects: Array<KubernetesObject> = []
  const stage = (): void => {
    if (objects.length > 0) actions.push({ _tag: "Stage", objects })
    objects = []
  }
  for (let index = 0; index < events.length; index++) {
    const event = events[index]
    switch (event?.type) {
      case "ADDED":
      case "MODIFIED":
        objects.push(event.object)
        break
      case "DELETED":
        stage()
        actions.push({ _tag: "Unstage", object: event.object })
        break
      case "ERROR":
        // What came so far is void.
        return failedEarly(state, event.error)
      case "BOOKMARK": {
        if (!event.initialEventsEnd) break
        stage()
        actions.push({ _tag: "Commit", resourceVersion: event.resourceVersion })
        const [next, more] = told(
          committed(state, event.resourceVersion),
          false,
          event.resourceVersion,
          events.slice(index + 1)
        )
        return [next, [...actions, ...more]]
      }
    }
  }
  stage()
  return [state, [...actions, { _tag: "Read" }]]
}

const listed = (state: State, page: Page): Step => {
  const staged: ReadonlyArray<Action> = page.items.length === 0 ? [] : [{ _tag: "Stage", objects: page.items }]
  if (page.continue !== undefined && page.continue !== "") {
    return ask(
      { ...state, failures: 0, losses: 0, problem: undefined },
      { _tag: "List", continue: page.continue },
      staged
    )
  }
  const next = committed(state, page.resourceVersion)
  return ask(next, resume(next), [...staged, { _tag: "Commit", resourceVersion: page.resourceVersion }])
}

const cut: Problem.Problem = {
  kind: "unavailable",
  verb: "watch",
  message: "the server ended the watch before the initial state was complete",
  error: undefined
}

/** Where a reflector begins; its first input is `Elapsed`. */
export const initial = (strategy: State["strategy"] = "stream"): State => ({
  phase: {
    _tag: "Waiting",
    request: strategy === "stream" ? { _tag: "Stream" } : { _tag: "List", continue: undefined }
  },
  strategy,
  resourceVersion: undefined,
  ...well,
  relists: 0
})

/**
 * One transition. An input that cannot happen in a phase changes nothing and asks for nothing.
 */
export const step = (state: State, input: Input): Step => {
  const { phase } = state
  switch (phase._tag) {
    case "Waiting":
      return input._tag === "Elapsed" ? ask(state, phase.request) : [state, []]
    case "Asking":
      if (input._tag === "Failed") return refused(state, phase.request, input.error)
      if (input._tag === "Listed") return phase.request._tag === "List" ? listed(state, input.page) : [state, []]
      if (input._tag !== "Opened" || phase.request._tag === "List") return [state, []]
      return [
        {
          ...state,
          phase: phase.request._tag === "Stream" ? { _tag: "Streaming" } : { _tag: "Watching", quiet: true },
          problem: state.problem?.isInStream === true ? state.problem : undefined
        },
        [{ _tag: "Read" }]
      ]
    case "Streaming":
      switch (input._tag) {
        case "Told":
          return streamed(state, input.events)
        case "Failed":
          return failedEarly(state, input.error)
        case "Ended":
          return unfinished(state, cut, cutLimit)
        case "Idle": {
          // A server that takes the request but never finishes the initial state does not know WatchList.
          const paged: State = { ...state, strategy: "pages" }
          return ask(paged, first(paged), [{ _tag: "Relisted", reason: "idle" }])
        }
        default:
          return [state, []]
      }
    case "Watching":
      switch (input._tag) {
        case "Told":
          return told(state, phase.quiet, state.resourceVersion ?? "", input.events)
        case "Failed":
          return interrupted(state, input.error, "broken")
        case "Ended":
          return ended(state, phase.quiet, input.livedMillis)
        case "Idle":
          return idle(state)
        default:
          return [state, []]
      }
  }
}
