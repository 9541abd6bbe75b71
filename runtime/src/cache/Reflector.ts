/**
 * Lists and watches one kind, as a state machine. `step` is pure: it takes an input and returns the next state and the actions.
 * `Watcher.run` executes the actions.
 *
 * A reflector works in three steps:
 *
 * 1. It lists in pages. A later list replaces the copy only when the list is complete. A WatchList would need one request, but
 *    kube-apiserver encodes each object of a JSON watch twice.
 * 2. It applies the events that follow. Every event and bookmark moves the resourceVersion from which it can resume.
 * 3. It resumes a watch that ended. It lists again only if the resourceVersion is too old or impossible, or if the watch breaks
 *    {@link breakLimit} times at one resourceVersion. An overloaded or unreachable server does not cause a list.
 *
 * Objects appear in the copy in the order of their writes. The copy may skip a state, but never the last one. No answer of the server,
 * and no missing answer, stops the reflector. A failed request leaves the copy as it is, even a 404 for the kind: before a deleted
 * CRD is gone, the watch delivers the deletion of all its objects.
 *
 * An optional kind may be absent: the server answers that it does not serve the path. Then the copy becomes empty, and the reflector looks
 * for the kind at a slow pace. No other error makes a kind absent.
 */
import { type ApiError, isUnserved } from "../client/ApiError.ts"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type { Page } from "./ListerWatcher.ts"
import * as Problem from "./Problem.ts"

/** A request to the server. */
export type Request =
  /** A page of a list; the first page has no `continue`. */
  | { readonly _tag: "List"; readonly continue: string | undefined }
  /** Events after `resourceVersion`. */
  | { readonly _tag: "Resume"; readonly resourceVersion: string }

/** The phase of a reflector. */
export type Phase =
  | { readonly _tag: "Waiting"; readonly request: Request }
  | { readonly _tag: "Asking"; readonly request: Request }
  /** A watch sends events; `quiet` until the first new one. */
  | { readonly _tag: "Watching"; readonly quiet: boolean }

/** The state of a reflector, without the objects, which are in the copy. */
export interface State {
  readonly phase: Phase
  /** The resourceVersion of the copy; `undefined` before the first list. */
  readonly resourceVersion: string | undefined
  /** Refused requests and watches that the server broke off since the last event. */
  readonly failures: number
  /**
   * Requests and watches that lost the connection since the last event. They are counted apart: after a long outage a server refuses
   * the first requests, and the delay for a refusal must start from the beginning then.
   */
  readonly losses: number
  /** Watches in a row that ended without an event. */
  readonly empties: number
  /** Watches in a row that the watchdog closed. */
  readonly idles: number
  /** Lists after the first one since the last event of a watch that lived for {@link shortMillis}. */
  readonly relists: number
  /** Watches in a row that broke before the first new event. */
  readonly breaks: number
  /** Answers in a row that the server does not serve the kind. */
  readonly unserved: number
  /** Whether the kind is optional, and the server does not serve it. Holds until the next complete list. */
  readonly isAbsent: boolean
  /** The current problem, if any. A watch that breaks is a problem from the {@link reportLimit}-th time on. */
  readonly problem: Problem.Problem | undefined
}

/** An input of the state machine. */
export type Input =
  /** The delay is over. This is also the first input. */
  | { readonly _tag: "Elapsed" }
  /** The server accepted the watch. */
  | { readonly _tag: "Opened" }
  | { readonly _tag: "Listed"; readonly page: Page }
  /** Events arrived, `livedMillis` after the server had accepted the watch. */
  | { readonly _tag: "Received"; readonly events: ReadonlyArray<Watch.Event>; readonly livedMillis: number }
  /** The server refused the request, or the watch broke. */
  | { readonly _tag: "Failed"; readonly error: ApiError }
  /** The server ended the watch without an error, `livedMillis` after it had accepted the watch. */
  | { readonly _tag: "Ended"; readonly livedMillis: number }
  /** The watchdog closed the watch: nothing arrived for too long, including bookmarks. */
  | { readonly _tag: "Idle" }

/** Why the reflector resumed a watch or listed again. */
export type Reason = "ended" | "broken" | "idle" | "expired" | "empty" | "refused" | "error"

/** A change of the copy. */
export type Edit =
  /** A list begins: objects that an earlier attempt staged no longer count. */
  | { readonly _tag: "Begin" }
  | { readonly _tag: "Stage"; readonly objects: ReadonlyArray<KubernetesObject> }
  /** The staged objects are the complete list as of `resourceVersion`. */
  | { readonly _tag: "Commit"; readonly resourceVersion: string }
  /** Events in order; those without an object only move the resourceVersion. */
  | { readonly _tag: "Apply"; readonly events: ReadonlyArray<Watch.Event>; readonly resourceVersion: string }
  /** The server does not serve the kind, which is optional: there are no objects. */
  | { readonly _tag: "Absent" }

/** An action for the watcher. The last action of a step is `Ask`, `Read` or `Wait`. */
export type Action =
  | Edit
  /** Count a resumed watch. */
  | { readonly _tag: "Restarted"; readonly reason: Reason }
  /** Count a list after the first one. */
  | { readonly _tag: "Relisted"; readonly reason: Reason }
  /** Close any open watch and send the request. */
  | { readonly _tag: "Ask"; readonly request: Request }
  /** Read the open watch. */
  | { readonly _tag: "Read" }
  /** Close any open watch and wait. `millis` has no jitter, which may only lengthen it. */
  | { readonly _tag: "Wait"; readonly millis: number }

type Step = readonly [state: State, actions: ReadonlyArray<Action>]

/** Watches in a row without an event after which the reflector lists: a server sends nothing for a resourceVersion that is too new. */
export const emptyLimit = 3
/** Watches in a row that the watchdog closes before the reflector lists. The cause of the first one is often the network. */
export const idleLimit = 2
/** Watches in a row that break without an event before the reflector reports a problem. An idle kind gets a bookmark every minute. */
export const reportLimit = 5
/** Watches in a row that break without an event before the reflector lists: an event may be unreadable. */
export const breakLimit = 10
/**
 * Answers in a row that the server does not serve a kind, after which the copy of an optional kind becomes empty. One answer may come from
 * a server that does not have a new version of the CRD yet.
 */
export const absentLimit = 3
/** A watch that ends sooner counts as failed: to resume it, or to list, at once would be a hot loop. */
export const shortMillis = 1000

const verbOf = (request: Request): Problem.Problem["verb"] => (request._tag === "List" ? "list" : "watch")

const first: Request = { _tag: "List", continue: undefined }

const resume = (state: State): Request =>
  state.resourceVersion === undefined ? first : { _tag: "Resume", resourceVersion: state.resourceVersion }

const isFirst = (request: Request): boolean => request._tag === "List" && request.continue === undefined

const ask = (state: State, request: Request, before: ReadonlyArray<Action> = []): Step => [
  { ...state, phase: { _tag: "Asking", request } },
  isFirst(request) ? [...before, { _tag: "Begin" }, { _tag: "Ask", request }] : [...before, { _tag: "Ask", request }]
]

const wait = (state: State, request: Request, millis: number, before: ReadonlyArray<Action> = []): Step => [
  { ...state, phase: { _tag: "Waiting", request } },
  [...before, { _tag: "Wait", millis }]
]

/** Lists again: at once, or with growing delays if the last lists were followed by no event, or only by short watches. */
const relist = (state: State, reason: Reason, before: ReadonlyArray<Action> = []): Step => {
  const next: State = { ...state, relists: state.relists + 1, empties: 0, idles: 0, breaks: 0 }
  const actions: ReadonlyArray<Action> = [...before, { _tag: "Relisted", reason }]
  return state.relists === 0
    ? ask(next, first, actions)
    : wait(next, first, Problem.delay("expired", state.relists), actions)
}

/** Counts a failure and returns the delay after it. */
const counted = (state: State, kind: Problem.Kind, error: ApiError | undefined): readonly [State, millis: number] => {
  const lost = kind === "unreachable"
  const next: State = lost ? { ...state, losses: state.losses + 1 } : { ...state, failures: state.failures + 1 }
  return [next, Problem.delay(kind, lost ? next.losses : next.failures, Problem.retryAfter(error))]
}

/** Retries the request after a delay. */
const retry = (state: State, request: Request, problem: Problem.Problem, before: ReadonlyArray<Action> = []): Step => {
  const [next, millis] = counted(state, problem.kind, problem.error)
  return wait({ ...next, problem }, request, millis, before)
}

/** The server does not serve an optional kind. Without a copy, the first answer is enough: objects that were never there cannot be lost. */
const unserved = (state: State, problem: Problem.Problem): Step => {
  const next: State = { ...state, unserved: state.unserved + 1, problem }
  const millis = Problem.lookMillis(next.unserved)
  if (state.isAbsent || (state.resourceVersion !== undefined && next.unserved < absentLimit)) {
    return wait(next, resume(next), millis)
  }
  return wait({ ...next, ...absent }, first, millis, [{ _tag: "Absent" }])
}

const absent = { isAbsent: true, resourceVersion: undefined } as const

const refused = (before: State, request: Request, error: ApiError, isOptional: boolean): Step => {
  const problem = Problem.of(error, verbOf(request))
  if (isOptional && isUnserved(error)) return unserved(before, problem)
  const state: State = before.unserved === 0 ? before : { ...before, unserved: 0 }
  switch (problem.kind) {
    case "expired":
      return isFirst(request) ? retry(state, request, problem) : relist(state, "expired")
    case "refused":
      // The server refuses the special part of the request: the token or the version.
      return isFirst(request) ? retry(state, request, problem) : relist(state, "refused")
    default:
      return retry(state, request, problem)
  }
}

/** A watch broke, or sent an ERROR event. */
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

const ended = (state: State, quiet: boolean, livedMillis: number): Step => {
  const next: State = { ...state, empties: quiet ? state.empties + 1 : 0, idles: 0 }
  if (next.empties >= emptyLimit) return relist(next, "empty")
  const restarted: ReadonlyArray<Action> = [{ _tag: "Restarted", reason: "ended" }]
  if (livedMillis >= shortMillis) return ask(quiet ? next : { ...next, relists: 0 }, resume(next), restarted)
  const failures = next.failures + 1
  return wait({ ...next, failures }, resume(next), Problem.delay("unavailable", failures), restarted)
}

const idle = (state: State): Step => {
  const next: State = { ...state, idles: state.idles + 1 }
  return next.idles >= idleLimit
    ? relist(next, "idle")
    : ask(next, resume(next), [{ _tag: "Restarted", reason: "idle" }])
}

/** The counters of a state without a problem. */
const well = { failures: 0, losses: 0, empties: 0, idles: 0, breaks: 0, unserved: 0, problem: undefined }

/** The resourceVersion after these events; `before` if they contain none. */
const reached = (events: ReadonlyArray<Watch.Event>, before: string): string => {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]
    if (event === undefined || event.type === "ERROR") continue
    const version = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion
    if (version !== undefined && version !== "") return version
  }
  return before
}

const received = (
  state: State,
  quiet: boolean,
  { events, livedMillis }: Extract<Input, { readonly _tag: "Received" }>
): Step => {
  const from = state.resourceVersion ?? ""
  const error = events.findIndex(({ type }) => type === "ERROR")
  const failure = events[error]
  const live = error < 0 ? events : events.slice(0, error)
  const resourceVersion = reached(live, from)
  // A bookmark with the known resourceVersion does not count: some servers send one to every new watch.
  const news = resourceVersion !== from || live.some(({ type }) => type !== "BOOKMARK")
  const next: State = news
    ? {
        ...state,
        ...well,
        relists: livedMillis < shortMillis ? state.relists : 0,
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
  isAbsent: false,
  phase: { _tag: "Watching", quiet: false },
  resourceVersion
})

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

/** The initial state; its first input is `Elapsed`. */
export const initial: State = {
  phase: { _tag: "Waiting", request: first },
  resourceVersion: undefined,
  ...well,
  relists: 0,
  isAbsent: false
}

/**
 * One transition. An input that is impossible in the phase changes nothing and returns no action.
 *
 * @param isOptional whether the copy of a kind that the server does not serve is empty
 */
export const step = (state: State, input: Input, isOptional = false): Step => {
  const { phase } = state
  switch (phase._tag) {
    case "Waiting":
      return input._tag === "Elapsed" ? ask(state, phase.request) : [state, []]
    case "Asking":
      if (input._tag === "Failed") return refused(state, phase.request, input.error, isOptional)
      if (input._tag === "Listed") return phase.request._tag === "List" ? listed(state, input.page) : [state, []]
      if (input._tag !== "Opened" || phase.request._tag === "List") return [state, []]
      return [
        {
          ...state,
          phase: { _tag: "Watching", quiet: true },
          unserved: 0,
          problem: state.problem?.isInStream === true ? state.problem : undefined
        },
        [{ _tag: "Read" }]
      ]
    case "Watching":
      switch (input._tag) {
        case "Received":
          return received(state, phase.quiet, input)
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
