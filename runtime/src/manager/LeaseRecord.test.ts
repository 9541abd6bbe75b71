import { describe, expect, test } from "bun:test"
import type { Lease } from "../resource/BuiltIn.ts"
import * as LeaseRecord from "./LeaseRecord.ts"

const lease = (spec: Lease["spec"], resourceVersion = "7"): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    namespace: "default",
    name: "homeostat",
    uid: "u",
    resourceVersion,
    creationTimestamp: "2026-11-20T00:00:00Z",
    labels: { team: "x" }
  },
  ...(spec === undefined ? {} : { spec })
})

const held = (renewTime = "1") => ({ holderIdentity: "a", leaseDurationSeconds: 15, renewTime })

const observe = (...looks: ReadonlyArray<readonly [at: number, lease: Lease | undefined]>) =>
  looks.reduce((known, [at, seen]) => LeaseRecord.observe(known, seen, at, 9000), LeaseRecord.nothing)

describe("a Lease may be taken", () => {
  const table: ReadonlyArray<readonly [string, LeaseRecord.Observation, number]> = [
    ["at once when there never was one", observe([100, undefined]), 0],
    ["at once when nobody holds it", observe([100, lease({ holderIdentity: "" })]), 0],
    ["at once when it says nothing", observe([100, lease(undefined)]), 0],
    ["at once by who holds it", observe([100, lease({ ...held(), holderIdentity: "me" })]), 0],
    ["when it was seen unchanged for its duration", observe([100, lease(held())], [5000, lease(held())]), 15_100],
    ["later when it is renewed", observe([100, lease(held())], [5000, lease(held("2"))]), 20_000],
    ["no later when only its metadata change", observe([100, lease(held())], [5000, lease(held(), "8")]), 15_100],
    [
      "as the new holder promises",
      observe([100, lease(held())], [200, lease({ ...held(), leaseDurationSeconds: 60 })]),
      60_200
    ],
    ["after our own duration when it names none", observe([100, lease({ holderIdentity: "a" })]), 9100],
    [
      "after our own duration when it names none that is one",
      observe([100, lease({ ...held(), leaseDurationSeconds: 0 })]),
      9100
    ],
    ["after the second that it names", observe([100, lease({ ...held(), leaseDurationSeconds: 1 })]), 1100],
    ["no sooner when it is deleted", observe([100, lease(held())], [5000, undefined]), 15_100],
    [
      "at once when it is given back",
      observe([100, lease(held())], [5000, lease({ ...held(), holderIdentity: "" })]),
      0
    ]
  ]
  for (const [name, observation, at] of table) {
    test(name, () => expect(LeaseRecord.freeAt(observation, "me")).toBe(at))
  }
})

test("a Lease that names no holder says when that was seen", () => {
  const free = lease({ holderIdentity: "" })
  expect(observe([100, free])).toEqual({
    lease: free,
    holder: undefined,
    heldUntil: 100,
    version: JSON.stringify(free.spec)
  })
  expect(LeaseRecord.nothing).toEqual({ lease: undefined, holder: undefined, heldUntil: 0, version: "" })
})

describe("what is written", () => {
  const me = { namespace: "default", name: "homeostat", identity: "me", leaseDurationMillis: 1500 }
  const now = "1970-01-01T00:00:01.250000Z"

  test("makes a Lease that is not there", () => {
    expect(LeaseRecord.claimed(undefined, me, 1250)).toEqual({
      metadata: { namespace: "default", name: "homeostat" },
      spec: { holderIdentity: "me", leaseDurationSeconds: 2, acquireTime: now, renewTime: now, leaseTransitions: 0 }
    })
  })

  test("takes another's Lease: guarded, one transition more, and what it does not know stays", () => {
    const before = lease({ ...held(), acquireTime: "0", leaseTransitions: 4, strategy: "x" })
    expect(LeaseRecord.claimed(before, me, 1250)).toEqual({
      metadata: before.metadata,
      spec: {
        holderIdentity: "me",
        leaseDurationSeconds: 2,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 5,
        strategy: "x"
      }
    })
  })

  test("renews its own: the time of taking it and the transitions stay", () => {
    const before = lease({ ...held(), holderIdentity: "me", acquireTime: "0", leaseTransitions: 4 })
    expect(LeaseRecord.claimed(before, me, 1250).spec).toEqual({
      holderIdentity: "me",
      leaseDurationSeconds: 2,
      acquireTime: "0",
      renewTime: now,
      leaseTransitions: 4
    })
  })

  test("counts a first transition where the Lease has none", () =>
    expect(LeaseRecord.claimed(lease(held()), me, 1250).spec).toMatchObject({ leaseTransitions: 1 }))

  test("annotates the Lease with the scope of the holder, beside what is there", () => {
    const scope = { controllers: ["webapp"], namespaces: [], selector: undefined }
    const before = lease(held())
    const annotated = { ...before, metadata: { ...before.metadata, annotations: { other: "x" } } }
    const { metadata } = LeaseRecord.claimed(annotated, { ...me, scope }, 1250)
    const text = `{"controllers":["webapp"],"namespaces":[]}`
    expect(metadata).toEqual({
      ...before.metadata,
      annotations: { other: "x", "homeostat.dev/lease-scope": text }
    })
    expect(
      LeaseRecord.scopeOf({ ...before, metadata: { ...before.metadata, annotations: metadata.annotations ?? {} } })
    ).toEqual(scope)
    expect(LeaseRecord.scopeOf(before)).toBeUndefined()
  })

  test("gives it back", () => {
    const before = lease({ ...held(), holderIdentity: "me", acquireTime: "0", leaseTransitions: 4 })
    expect(LeaseRecord.released(before, 1250)).toEqual({
      metadata: before.metadata,
      spec: { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: "0", renewTime: now, leaseTransitions: 4 }
    })
  })
})
