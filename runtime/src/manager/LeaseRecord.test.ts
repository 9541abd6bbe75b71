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
  looks.reduce(
    (known, [at, seen]) =>
      LeaseRecord.observe(known, seen, at, { leaseDurationMillis: 30_000, retryPeriodMillis: 2000 }),
    LeaseRecord.nothing
  )

describe("A Lease can be acquired", () => {
  const table: ReadonlyArray<readonly [string, LeaseRecord.Observation, number]> = [
    ["at once if it never existed", observe([100, undefined]), 0],
    ["at once without a holder", observe([100, lease({ holderIdentity: "" })]), 0],
    ["at once without a spec", observe([100, lease(undefined)]), 0],
    ["at once by its holder", observe([100, lease({ ...held(), holderIdentity: "me" })]), 0],
    ["when it was not renewed for its duration", observe([100, lease(held())], [5000, lease(held())]), 15_100],
    ["later if it is renewed", observe([100, lease(held())], [5000, lease(held("2"))]), 20_000],
    ["no later if only its metadata changes", observe([100, lease(held())], [5000, lease(held(), "8")]), 15_100],
    [
      "after the duration of a new holder",
      observe([100, lease(held())], [200, lease({ ...held(), leaseDurationSeconds: 20 })]),
      20_200
    ],
    ...[60, 86_400, 2 ** 31 - 1].map(
      (leaseDurationSeconds) =>
        [
          `after the own duration if its duration is ${leaseDurationSeconds} s`,
          observe([100, lease({ ...held(), leaseDurationSeconds })]),
          30_100
        ] as const
    ),
    ["after the own duration if it has no duration", observe([100, lease({ holderIdentity: "a" })]), 30_100],
    [
      "after the own duration if its duration is invalid",
      observe([100, lease({ ...held(), leaseDurationSeconds: 0 })]),
      30_100
    ],
    ["after its duration of one second", observe([100, lease({ ...held(), leaseDurationSeconds: 1 })]), 1100],
    ["after one and a half retry periods if it is deleted", observe([100, lease(held())], [5000, undefined]), 8000],
    ["no later if it is still absent", observe([100, lease(held())], [5000, undefined], [7000, undefined]), 8000],
    ["no later than before if it is deleted", observe([100, lease(held())], [15_000, undefined]), 15_100],
    [
      "after its duration if it is created again",
      observe([100, lease(held())], [5000, undefined], [6000, lease(held())]),
      21_000
    ],
    [
      "at once after it was released",
      observe([100, lease(held())], [5000, lease({ ...held(), holderIdentity: "" })]),
      0
    ]
  ]
  for (const [name, observation, at] of table) {
    test(name, () => expect(LeaseRecord.freeAt(observation, "me")).toBe(at))
  }
})

test("A Lease without a holder is free from the time of its observation", () => {
  const free = lease({ holderIdentity: "" })
  expect(observe([100, free])).toEqual({
    lease: free,
    holder: undefined,
    heldUntil: 100,
    version: JSON.stringify(free.spec)
  })
  expect(LeaseRecord.nothing).toEqual({ lease: undefined, holder: undefined, heldUntil: 0, version: "" })
})

describe("The written Lease", () => {
  const me = { namespace: "default", name: "homeostat", identity: "me", leaseDurationMillis: 1500 }
  const now = "1970-01-01T00:00:01.250000Z"

  test("is created if it does not exist", () => {
    expect(LeaseRecord.claimed(undefined, me, 1250)).toEqual({
      metadata: { namespace: "default", name: "homeostat" },
      spec: { holderIdentity: "me", leaseDurationSeconds: 2, acquireTime: now, renewTime: now, leaseTransitions: 0 }
    })
  })

  test("of another holder is acquired with its resourceVersion, one more transition and its unknown fields", () => {
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

  test("is renewed with the same acquireTime and transitions", () => {
    const before = lease({ ...held(), holderIdentity: "me", acquireTime: "0", leaseTransitions: 4 })
    expect(LeaseRecord.claimed(before, me, 1250).spec).toEqual({
      holderIdentity: "me",
      leaseDurationSeconds: 2,
      acquireTime: "0",
      renewTime: now,
      leaseTransitions: 4
    })
  })

  test("has one transition if it had none", () =>
    expect(LeaseRecord.claimed(lease(held()), me, 1250).spec).toMatchObject({ leaseTransitions: 1 }))

  test("has the scope of the holder as an annotation, and keeps other annotations", () => {
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

  test("is released", () => {
    const before = lease({ ...held(), holderIdentity: "me", acquireTime: "0", leaseTransitions: 4 })
    expect(LeaseRecord.released(before, 1250)).toEqual({
      metadata: before.metadata,
      spec: { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: "0", renewTime: now, leaseTransitions: 4 }
    })
  })
})
