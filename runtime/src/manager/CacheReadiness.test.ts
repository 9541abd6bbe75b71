import { describe, expect, test } from "bun:test"
import type { InformerState } from "../cache/Cache.ts"
import type { Kind } from "../cache/Problem.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as CacheReadiness from "./CacheReadiness.ts"

const stateOf = (synced: boolean, kind?: Kind): InformerState => ({
  status: kind === undefined ? (synced ? "synced" : "syncing") : kind === "missing" ? "missing" : "failing",
  synced,
  problem: kind === undefined ? undefined : "what is in the way",
  cause: kind === undefined ? undefined : { kind, verb: "watch", message: "", error: undefined },
  resourceVersion: undefined,
  restarts: 0,
  relists: 0,
  reasons: {},
  lastEventAt: undefined,
  overlaid: 0,
  idleMillis: 0,
  meanSize: 0,
  tooLarge: 0
})

const hindrance = (state: InformerState) => CacheReadiness.hindrance({ resource: ConfigMap, state: () => state })

const kinds: ReadonlyArray<Kind> = [
  "expired",
  "missing",
  "denied",
  "refused",
  "throttled",
  "unreachable",
  "unavailable"
]

describe("A kind whose first list is not complete", () => {
  test("is not ready, with the reason", () => {
    expect(hindrance(stateOf(false))).toBe("the first list of configmaps is not complete yet")
  })

  for (const kind of kinds) {
    test(`is not ready while it is ${kind}, with the reason`, () => {
      expect(hindrance(stateOf(false, kind))).toBe("what is in the way")
    })
  }
})

describe("A kind whose first list was complete", () => {
  test("is ready", () => expect(hindrance(stateOf(true))).toBeUndefined())

  for (const kind of kinds) {
    const stopped = kind === "denied" || kind === "missing"
    test(`is ${stopped ? "not " : ""}ready while it is ${kind}`, () => {
      expect(hindrance(stateOf(true, kind))).toBe(stopped ? "what is in the way" : undefined)
    })
  }
})
