import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import type * as ApiError from "../client/ApiError.ts"
import type * as Watch from "../client/Watch.ts"
import {
  type Action,
  type Input,
  initial,
  type Phase,
  type Request,
  type State,
  shortMillis,
  step
} from "./Reflector.ts"
import { refusal, unreachable, web } from "./Scripted.fixture.ts"

const list: Request = { _tag: "List", continue: undefined }
const more: Request = { _tag: "List", continue: "c1" }
const resume: Request = { _tag: "Resume", resourceVersion: "10" }

const at = (phase: Phase, change: Partial<State> = {}): State => ({
  ...initial,
  resourceVersion: "10",
  phase,
  ...change
})

/** All states that differ in their transitions. */
const rows: { readonly [name: string]: State } = {
  "waiting to list": at({ _tag: "Waiting", request: list }),
  "waiting to list on": at({ _tag: "Waiting", request: more }),
  "waiting to resume": at({ _tag: "Waiting", request: resume }),
  "asking to list": at({ _tag: "Asking", request: list }),
  "asking to list on": at({ _tag: "Asking", request: more }),
  "asking to resume": at({ _tag: "Asking", request: resume }),
  "watching, no event yet": at({ _tag: "Watching", quiet: true }),
  watching: at({ _tag: "Watching", quiet: false })
}

const added = (name: string, rv: string): Watch.Event => ({ type: "ADDED", object: web({ name, rv }) })
const bookmark = (resourceVersion: string): Watch.Event => ({
  type: "BOOKMARK",
  resourceVersion,
  initialEventsEnd: false
})
const error = (code: number, reason: string): Watch.Event => ({ type: "ERROR", error: refusal(code, reason) })
const receivedAfter = (livedMillis: number, ...events: ReadonlyArray<Watch.Event>): Input => ({
  _tag: "Received",
  events,
  livedMillis
})
const received = (...events: ReadonlyArray<Watch.Event>): Input => receivedAfter(shortMillis, ...events)
const failed = (failure: ApiError.ApiError): Input => ({ _tag: "Failed", error: failure })

const inputs: { readonly [name: string]: Input } = {
  elapsed: { _tag: "Elapsed" },
  opened: { _tag: "Opened" },
  "last page": { _tag: "Listed", page: { items: [web({ name: "a", rv: "9" })], resourceVersion: "20" } },
  "page of more": { _tag: "Listed", page: { items: [], resourceVersion: "20", continue: "c2" } },
  "an event": received(added("a", "11")),
  "a bookmark": received(bookmark("12")),
  "a bookmark of where we are": received(bookmark("10")),
  "events with a bookmark between": received(
    added("a", "13"),
    { type: "DELETED", object: web({ name: "b", rv: "14" }) },
    bookmark("20"),
    added("c", "21")
  ),
  "410 in the watch": received(added("a", "11"), error(410, "Expired")),
  "429 in the watch": received(error(429, "TooManyRequests")),
  "400 in the watch": received(error(400, "BadRequest")),
  "404 in the watch": received(error(404, "NotFound")),
  "410": failed(refusal(410, "Expired")),
  "404": failed(refusal(404, "")),
  "403": failed(refusal(403, "Forbidden")),
  "401": failed(refusal(401, "Unauthorized")),
  "400": failed(refusal(400, "BadRequest")),
  "422": failed(refusal(422, "Invalid")),
  "429": failed(refusal(429, "TooManyRequests", 3)),
  "500": failed(refusal(500, "InternalError")),
  "504 too large resource version": failed(refusal(504, "Timeout", 1, "Too large resource version: 99, current: 10")),
  "connection lost": failed(unreachable),
  "clean end": { _tag: "Ended", livedMillis: 300_000 },
  "clean end at once": { _tag: "Ended", livedMillis: 10 },
  idle: { _tag: "Idle" }
}

const showRequest = (request: Request): string => {
  switch (request._tag) {
    case "List":
      return request.continue === undefined ? "list" : `list ${request.continue}`
    case "Resume":
      return `resume ${request.resourceVersion}`
  }
}

const showAction = (action: Action): string => {
  switch (action._tag) {
    case "Stage":
      return `stage ${action.objects.map(({ metadata }) => metadata.name).join(" ")}`
    case "Commit":
      return `commit ${action.resourceVersion}`
    case "Apply":
      return `apply ${action.events.length} to ${action.resourceVersion}`
    case "Restarted":
    case "Relisted":
      return `${action._tag.toLowerCase()}:${action.reason}`
    case "Ask":
      return `ask ${showRequest(action.request)}`
    case "Wait":
      return `wait ${action.millis}`
    default:
      return action._tag.toLowerCase()
  }
}

/** The actions of a step. For a delay, it includes the action after the delay. */
const show = (state: State, input: Input): string => {
  const [next, actions] = step(state, input)
  if (actions.length === 0) return next === state ? "-" : "changed without an action"
  const then = next.phase._tag === "Waiting" ? ` then ${showRequest(next.phase.request)}` : ""
  return actions.map(showAction).join(", ") + then
}

/** All transitions with an action. All other combinations cannot occur, and must change nothing. */
const table: { readonly [row: string]: { readonly [input: string]: string } } = {
  "waiting to list": { elapsed: "begin, ask list" },
  "waiting to list on": { elapsed: "ask list c1" },
  "waiting to resume": { elapsed: "ask resume 10" },
  "asking to list": {
    "last page": "stage a, commit 20, ask resume 20",
    "page of more": "ask list c2",
    "410": "wait 200 then list",
    "404": "wait 1000 then list",
    "403": "wait 200 then list",
    "401": "wait 200 then list",
    "400": "wait 200 then list",
    "422": "wait 200 then list",
    "429": "wait 3000 then list",
    "500": "wait 200 then list",
    "504 too large resource version": "wait 1000 then list",
    "connection lost": "wait 200 then list"
  },
  "asking to list on": {
    "last page": "stage a, commit 20, ask resume 20",
    "page of more": "ask list c2",
    "410": "relisted:expired, begin, ask list",
    "404": "wait 1000 then list c1",
    "403": "wait 200 then list c1",
    "401": "wait 200 then list c1",
    "400": "relisted:refused, begin, ask list",
    "422": "relisted:refused, begin, ask list",
    "429": "wait 3000 then list c1",
    "500": "wait 200 then list c1",
    "504 too large resource version": "relisted:expired, begin, ask list",
    "connection lost": "wait 200 then list c1"
  },
  "asking to resume": {
    opened: "read",
    "410": "relisted:expired, begin, ask list",
    "404": "wait 1000 then resume 10",
    "403": "wait 200 then resume 10",
    "401": "wait 200 then resume 10",
    "400": "relisted:refused, begin, ask list",
    "422": "relisted:refused, begin, ask list",
    "429": "wait 3000 then resume 10",
    "500": "wait 200 then resume 10",
    "504 too large resource version": "relisted:expired, begin, ask list",
    "connection lost": "wait 200 then resume 10"
  },
  "watching, no event yet": {
    "an event": "apply 1 to 11, read",
    "a bookmark": "apply 1 to 12, read",
    "a bookmark of where we are": "read",
    "events with a bookmark between": "apply 4 to 21, read",
    "410 in the watch": "apply 1 to 11, relisted:expired, begin, ask list",
    "429 in the watch": "restarted:error, wait 1000 then resume 10",
    "400 in the watch": "relisted:refused, begin, ask list",
    "404 in the watch": "restarted:error, wait 1000 then resume 10",
    "410": "relisted:expired, begin, ask list",
    "404": "restarted:broken, wait 1000 then resume 10",
    "403": "restarted:broken, wait 200 then resume 10",
    "401": "restarted:broken, wait 200 then resume 10",
    "400": "relisted:refused, begin, ask list",
    "422": "relisted:refused, begin, ask list",
    "429": "restarted:broken, wait 3000 then resume 10",
    "500": "restarted:broken, wait 200 then resume 10",
    "504 too large resource version": "relisted:expired, begin, ask list",
    "connection lost": "restarted:broken, wait 200 then resume 10",
    "clean end": "restarted:ended, ask resume 10",
    "clean end at once": "restarted:ended, wait 200 then resume 10",
    idle: "restarted:idle, ask resume 10"
  },
  watching: {
    "an event": "apply 1 to 11, read",
    "a bookmark": "apply 1 to 12, read",
    "a bookmark of where we are": "read",
    "events with a bookmark between": "apply 4 to 21, read",
    "410 in the watch": "apply 1 to 11, relisted:expired, begin, ask list",
    "429 in the watch": "restarted:error, wait 1000 then resume 10",
    "400 in the watch": "relisted:refused, begin, ask list",
    "404 in the watch": "restarted:error, wait 1000 then resume 10",
    "410": "relisted:expired, begin, ask list",
    "404": "restarted:broken, wait 1000 then resume 10",
    "403": "restarted:broken, wait 200 then resume 10",
    "401": "restarted:broken, wait 200 then resume 10",
    "400": "relisted:refused, begin, ask list",
    "422": "relisted:refused, begin, ask list",
    "429": "restarted:broken, wait 3000 then resume 10",
    "500": "restarted:broken, wait 200 then resume 10",
    "504 too large resource version": "relisted:expired, begin, ask list",
    "connection lost": "restarted:broken, wait 200 then resume 10",
    "clean end": "restarted:ended, ask resume 10",
    "clean end at once": "restarted:ended, wait 200 then resume 10",
    idle: "restarted:idle, ask resume 10"
  }
}

describe("Each row of the state table", () => {
  for (const [row, state] of Object.entries(rows)) {
    test(row, () => {
      const actual = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, show(state, input)]))
      const expected = Object.fromEntries(Object.keys(inputs).map((name) => [name, table[row]?.[name] ?? "-"]))
      expect(actual).toEqual(expected)
    })
  }
})

/** The state after these inputs, each of which must be possible. */
const after = (state: State, ...all: ReadonlyArray<Input>): State =>
  all.reduce((current, input) => {
    const [next, actions] = step(current, input)
    expect(actions.length).toBeGreaterThan(0)
    return next
  }, state)

const watching = at({ _tag: "Watching", quiet: false })
const elapsed: Input = { _tag: "Elapsed" }
const opened: Input = { _tag: "Opened" }
const clean: Input = { _tag: "Ended", livedMillis: 300_000 }
const short: Input = { _tag: "Ended", livedMillis: 10 }
const idle: Input = { _tag: "Idle" }

/** The delays in ms after the same failure, repeated. */
const delays = (state: State, input: Input, count: number): ReadonlyArray<number> => {
  const all: Array<number> = []
  let current = state
  for (let attempt = 0; attempt < count; attempt++) {
    const [next, actions] = step(current, input)
    const last = actions.at(-1)
    all.push(last?._tag === "Wait" ? last.millis : -1)
    current = after(next, elapsed)
  }
  return all
}

describe("The delay", () => {
  const asking = at({ _tag: "Asking", request: resume })

  test("doubles from 200 ms to 30 s while the server rejects the request", () => {
    expect(delays(asking, failed(refusal(403, "Forbidden")), 10)).toEqual([
      200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000
    ])
  })

  test("is at most 2 s while the server is unreachable, and grows after 127 attempts", () => {
    expect(delays(asking, failed(unreachable), 8)).toEqual([200, 400, 800, 1600, 2000, 2000, 2000, 2000])
    expect(delays(asking, failed(unreachable), 134).slice(126)).toEqual([
      2000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000
    ])
  })

  test("grows from 1 s to 5 s while the kind is not served", () => {
    expect(delays(at({ _tag: "Asking", request: list }), failed(refusal(404, "")), 5)).toEqual([
      1000, 2000, 4000, 5000, 5000
    ])
  })

  test("is never shorter than retryAfter of the server", () => {
    expect(delays(asking, failed(refusal(429, "TooManyRequests", 60)), 2)).toEqual([60_000, 60_000])
  })

  test("is reset when the server sends an event", () => {
    const refusing = failed(refusal(503, "ServiceUnavailable"))
    const failing = after(asking, failed(unreachable), elapsed, refusing, elapsed, refusing, elapsed)
    expect(failing).toMatchObject({ failures: 2, losses: 1 })
    expect(after(failing, opened)).toMatchObject({ failures: 2, losses: 1 })
    expect(after(failing, opened, received(added("a", "11")))).toMatchObject({ failures: 0, losses: 0 })
  })

  test("is short again for a server that was unreachable for long and is starting", () => {
    const away = Array.from({ length: 20 }, () => [failed(unreachable), elapsed]).flat()
    const starting = failed(refusal(503, "ServiceUnavailable"))
    expect(delays(after(asking, ...away), starting, 3)).toEqual([200, 400, 800])
  })

  test("grows while watches are accepted and broken without an event", () => {
    const broken = after(watching, failed(unreachable), elapsed, opened, failed(unreachable), elapsed, opened)
    expect(show(broken, failed(unreachable))).toBe("restarted:broken, wait 800 then resume 10")
  })
})

describe("A resourceVersion that the server has not reached", () => {
  test("is dropped after three watches that end without an event", () => {
    const quiet = after(watching, clean, opened, clean, opened, clean, opened)
    expect(show(quiet, clean)).toBe("relisted:empty, begin, ask list")
  })

  test("is dropped after three watches that end at once", () => {
    const quiet = after(at({ _tag: "Watching", quiet: true }), short, elapsed, opened, short, elapsed, opened)
    expect(show(quiet, short)).toBe("relisted:empty, begin, ask list")
  })

  test("is kept if one of the watches sent a bookmark", () => {
    const heard = after(watching, clean, opened, clean, opened, received(bookmark("11")), clean, opened)
    expect(show(heard, clean)).toBe("restarted:ended, ask resume 11")
  })

  test("is dropped after two idle watches in a row, but not with an event or a clean end in between", () => {
    const once = after(watching, idle, opened)
    expect(show(once, idle)).toBe("relisted:idle, begin, ask list")
    expect(show(after(once, received(bookmark("10"))), idle)).toBe("restarted:idle, ask resume 10")
    expect(show(after(once, clean, opened), idle)).toBe("restarted:idle, ask resume 10")
  })
})

describe("A later list", () => {
  test("is delayed more each time while no event follows it", () => {
    const expired = failed(refusal(410, "Expired"))
    const page: Input = { _tag: "Listed", page: { items: [], resourceVersion: "20" } }
    const synced = (state: State) => after(state, page, opened)
    const once = synced(after(watching, expired))
    expect(show(once, expired)).toBe("relisted:expired, wait 200 then list")
    const twice = synced(after(once, expired, elapsed))
    expect(show(twice, expired)).toBe("relisted:expired, wait 400 then list")
    expect(show(after(twice, received(added("a", "21"))), expired)).toBe("relisted:expired, begin, ask list")
    // A server that sends an event and a 410 to each new watch must not cause a list at full speed.
    const short = after(twice, receivedAfter(shortMillis - 1, added("a", "21")))
    expect(show(short, expired)).toBe("relisted:expired, wait 400 then list")
  })
})

describe("A kind that is not served", () => {
  const missing = failed(refusal(404, ""))

  test("keeps its objects, and resumes when the server serves it again", () => {
    const asking = after(watching, clean)
    expect(delays(asking, missing, 20).every((millis) => millis > 0)).toBe(true)
    const gone = after(asking, ...Array.from({ length: 20 }, () => [missing, elapsed]).flat())
    expect(gone).toMatchObject({ resourceVersion: "10", problem: { kind: "missing" } })
    expect(show(gone, missing)).toBe("wait 5000 then resume 10")
    expect(after(gone, opened).problem).toBeUndefined()
  })
})

describe("A problem", () => {
  test("of a request ends when the server accepts a request", () => {
    const asking = at({ _tag: "Asking", request: list })
    const denied = after(asking, failed(refusal(403, "Forbidden")))
    expect(denied.problem).toMatchObject({ kind: "denied", verb: "list" })
    expect(after(denied, elapsed, inputs["page of more"] ?? elapsed).problem).toBeUndefined()
  })

  for (const [what, end, message] of [
    ["breaks", failed(unreachable), "ECONNREFUSED"],
    ["reports an error", received(error(500, "InternalError")), "InternalError"]
  ] as const) {
    test(`is a watch that ${what} five times without an event, until the next event`, () => {
      const four = after(watching, ...Array.from({ length: 4 }, () => [end, elapsed, opened]).flat())
      expect(four.problem).toBeUndefined()
      const five = after(four, end)
      expect(five.problem).toMatchObject({ verb: "watch", isInStream: true })
      expect(five.problem?.message).toContain(message)
      const accepted = after(five, elapsed, opened)
      expect(accepted.problem).toEqual(five.problem)
      expect(after(accepted, received(bookmark("10"))).problem).toEqual(five.problem)
      expect(after(accepted, received(bookmark("11")))).toMatchObject({ problem: undefined, breaks: 0 })
    })

    test(`causes a new list when a watch ${what} for the tenth time at one resourceVersion`, () => {
      const nine = after(watching, ...Array.from({ length: 9 }, () => [end, elapsed, opened]).flat())
      expect(show(nine, end)).toMatch(/^relisted:(broken|error), begin, ask list$/)
      expect(after(nine, received(bookmark("11")), end)).toMatchObject({ breaks: 1 })
    })
  }
})

test("A step always ends with exactly one action to wait for, for any sequence of inputs", () => {
  let commits = 0
  const walk = (choices: ReadonlyArray<number>) => {
    let state = initial
    let begun = false
    for (const choice of choices) {
      const steps = Object.values(inputs)
        .map((input) => step(state, input))
        .filter(([, actions]) => actions.length > 0)
      expect(steps.length).toBeGreaterThan(0)
      const [next, actions] = steps[choice % steps.length] ?? step(state, elapsed)
      const waits = actions.filter(({ _tag }) => _tag === "Ask" || _tag === "Read" || _tag === "Wait")
      expect(waits).toEqual(actions.slice(-1))
      for (const action of actions) {
        if (action._tag === "Begin") begun = true
        // The committed list began after the last commit, so it contains nothing of an older attempt.
        if (action._tag === "Commit") {
          expect(begun).toBe(true)
          begun = false
          commits++
        }
        if (action._tag === "Apply") expect(next.resourceVersion).toBeDefined()
      }
      if (next.phase._tag === "Watching") expect(next.resourceVersion).toBeDefined()
      state = next
    }
  }
  const choices = FastCheck.array(FastCheck.nat(Object.keys(inputs).length), { maxLength: 400, size: "max" })
  FastCheck.assert(FastCheck.property(choices, walk), { numRuns: 100, seed: Seed.current() })
  // A run without commits would prove nothing.
  expect(commits).toBeGreaterThan(100)
})
