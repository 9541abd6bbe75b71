import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import { claim, deployment, pod, podSpec, statefulSet } from "./Claims.fixture.ts"
import * as Source from "./Source.ts"
import type * as VolumeClaim from "./VolumeClaim.ts"

const seen = (some: Partial<Source.Seen>): Source.Seen => ({
  deployment: undefined,
  statefulSet: undefined,
  claims: [],
  pods: [],
  ...some
})

const resolve = (source: string, some: Partial<Source.Seen>) => Source.resolve(Source.parse(source), seen(some))
const names = (source: string, some: Partial<Source.Seen>) =>
  Result.getOrThrowWith(resolve(source, some), ({ message }) => new Error(message)).map(({ name }) => name)
const refusal = (source: string, some: Partial<Source.Seen>) => Result.getOrThrow(Result.flip(resolve(source, some)))

describe("Source.parse reads", () => {
  const table: ReadonlyArray<readonly [string, Source.Reference]> = [
    ["app-data", { name: "app-data" }],
    ["pvc/app-data", { kind: "pvc", name: "app-data" }],
    ["deployment/web.v1", { kind: "deployment", name: "web.v1" }],
    ["statefulset/db", { kind: "statefulset", name: "db" }],
    ["deployment", { name: "deployment" }]
  ]
  for (const [text, reference] of table) {
    test(text, () => {
      expect(Source.parse(text)).toEqual(reference)
    })
  }
})

describe("Source.resolve", () => {
  test("returns the claim with this name", () => {
    expect(names("x", { claims: [claim("x"), claim("y")] })).toEqual(["x"])
    expect(names("pvc/x", { claims: [claim("x")], deployment: deployment("x", podSpec({})) })).toEqual(["x"])
  })
  test("returns each claim in the template of a Deployment once, sorted by name", () => {
    const web = deployment("web", podSpec({ data: "web-data", again: "web-data", cache: "web-cache" }))
    const claims = [claim("web-data"), claim("web-cache"), claim("other")]
    expect(names("web", { deployment: web, claims })).toEqual(["web-cache", "web-data"])
    expect(names("deployment/web", { deployment: web, claims: [...claims, claim("web")] })).toEqual([
      "web-cache",
      "web-data"
    ])
  })
  test("adds the ephemeral claims of the running pods of a Deployment", () => {
    const spec = podSpec({ data: "web-data" }, {}, ["scratch"])
    const of = { replicaSet: "web-5d9" }
    expect(
      names("web", {
        deployment: deployment("web", spec),
        pods: [
          pod("web-5d9-a", spec, of),
          pod("web-5d9-b", spec, of),
          pod("web-5d9-pending", spec, { ...of, phase: "Pending" }),
          pod("web-5d9-going", spec, { ...of, deleted: true }),
          pod("web-api-77f-a", spec, { replicaSet: "web-api-77f" }),
          pod("lone", spec)
        ],
        claims: [
          claim("web-data"),
          claim("web-5d9-a-scratch", { pod: "web-5d9-a" }),
          // With such a name, but of another owner.
          claim("web-5d9-b-scratch"),
          claim("web-5d9-pending-scratch", { pod: "web-5d9-pending", phase: "Pending" }),
          claim("web-5d9-going-scratch", { pod: "web-5d9-going" }),
          claim("web-api-77f-a-scratch", { pod: "web-api-77f-a" }),
          claim("lone-scratch", { pod: "lone" })
        ]
      })
    ).toEqual(["web-5d9-a-scratch", "web-data"])
  })
  test("returns the claims of each ordinal and of the template of a StatefulSet", () => {
    const claims = [
      ...["data-db-0", "data-db-1", "data-db-2", "wal-db-0", "wal-db-1", "wal-db-2"],
      ...["shared", "data-db-x-0", "data", "old"]
    ].map((name) => claim(name))
    const spec = podSpec({ shared: "shared", data: "old" })
    const of = (options: { readonly replicas?: number; readonly start?: number }) =>
      names("db", { statefulSet: statefulSet("db", ["data", "wal"], { spec, ...options }), claims })
    expect(of({ replicas: 2 })).toEqual(["data-db-0", "data-db-1", "shared", "wal-db-0", "wal-db-1"])
    expect(of({ replicas: 2, start: 1 })).toEqual(["data-db-1", "data-db-2", "shared", "wal-db-1", "wal-db-2"])
    expect(of({})).toEqual(["data-db-0", "shared", "wal-db-0"])
  })
  test("returns the remaining claims of a StatefulSet that is scaled to zero", () => {
    const claims = ["data-db-0", "data-db-12", "data-db-x-0", "data-db-01", "data-db-"].map((name) => claim(name))
    expect(names("db", { statefulSet: statefulSet("db", ["data"], { replicas: 0 }), claims })).toEqual([
      "data-db-0",
      "data-db-12"
    ])
  })
  test("returns the existing claims while a StatefulSet scales up", () => {
    const claims = [claim("data-db-0")]
    const pods = [pod("db-0", podSpec({}), { statefulSet: "db" })]
    const db = statefulSet("db", ["data"], { replicas: 3 })
    expect(names("db", { statefulSet: db, claims, pods })).toEqual(["data-db-0"])
    const lost = [...pods, pod("db-1", podSpec({}), { statefulSet: "db" })]
    expect(refusal("db", { statefulSet: db, claims, pods: lost })).toEqual({
      reason: "SourceNotFound",
      message: "PersistentVolumeClaim of StatefulSet db not found: data-db-1 (create it)"
    })
  })
  test("groups the claims of one ordinal, but not those of the template", () => {
    const spec = podSpec({ shared: "shared" })
    const claims = ["data-db-0", "data-db-1", "wal-db-0", "wal-db-1", "shared"].map((name) => claim(name))
    const resolved = resolve("db", { statefulSet: statefulSet("db", ["data", "wal"], { spec, replicas: 2 }), claims })
    expect(
      Result.getOrThrow(resolved).map(({ name, together, template }) => [name, together, template?.volume])
    ).toEqual([
      ["data-db-0", "db-0", "data"],
      ["data-db-1", "db-1", "data"],
      ["shared", undefined, "shared"],
      ["wal-db-0", "db-0", "wal"],
      ["wal-db-1", "db-1", "wal"]
    ])
  })
  test("groups the ephemeral claims of one pod", () => {
    const spec = podSpec({}, {}, ["one", "two"])
    const resolved = resolve("web", {
      deployment: deployment("web", spec),
      pods: [pod("web-5d9-a", spec, { replicaSet: "web-5d9" })],
      claims: ["web-5d9-a-one", "web-5d9-a-two"].map((name) => claim(name, { pod: "web-5d9-a" }))
    })
    expect(Result.getOrThrow(resolved).map(({ together }) => together)).toEqual(["web-5d9-a", "web-5d9-a"])
  })
})

describe("Source.resolve rejects", () => {
  const web = deployment("x", podSpec({ data: "x-data" }))
  const db = statefulSet("x", ["data"])
  const table: ReadonlyArray<readonly [string, string, Partial<Source.Seen>, VolumeClaim.Refusal["reason"], string]> = [
    [
      "an unknown name",
      "x",
      { claims: [claim("y")] },
      "SourceNotFound",
      "PersistentVolumeClaim, Deployment or StatefulSet not found: x (create it, or recreate the Backup with another spec.source)"
    ],
    [
      "a name of another kind",
      "statefulset/x",
      { deployment: web, claims: [claim("x")] },
      "SourceNotFound",
      "StatefulSet not found: x (recreate the Backup with spec.source pvc/x or deployment/x)"
    ],
    [
      "a name of both a claim and a workload",
      "x",
      { claims: [claim("x")], deployment: web },
      "SourceAmbiguous",
      "ambiguous spec.source: x (recreate the Backup with pvc/x or deployment/x)"
    ],
    [
      "a name of two workloads",
      "x",
      { deployment: web, statefulSet: db },
      "SourceAmbiguous",
      "ambiguous spec.source: x (recreate the Backup with deployment/x or statefulset/x)"
    ],
    [
      "a workload without volumes",
      "x",
      { deployment: deployment("x", podSpec({})) },
      "SourceHasNoVolumes",
      "no volumes: Deployment x uses no PersistentVolumeClaim (add one, or recreate the Backup with another spec.source)"
    ],
    [
      "a Deployment with ephemeral volumes and without pods",
      "x",
      { deployment: deployment("x", podSpec({}, {}, ["scratch"])) },
      "SourceHasNoVolumes",
      "no volumes: Deployment x has no pods, and its volumes are created with them (scale it up, or recreate the Backup with another spec.source)"
    ],
    [
      "a StatefulSet that never had a pod",
      "x",
      { statefulSet: statefulSet("x", ["data"], { replicas: 0 }) },
      "SourceHasNoVolumes",
      "no volumes: StatefulSet x has no pods, and its volumes are created with them (scale it up, or recreate the Backup with another spec.source)"
    ],
    [
      "a workload with a missing claim",
      "x",
      { deployment: web },
      "SourceNotFound",
      "PersistentVolumeClaim of Deployment x not found: x-data (create it)"
    ],
    [
      "a claim that is being deleted",
      "x",
      { claims: [claim("x", { deleted: true })] },
      "SourceNotFound",
      "PersistentVolumeClaim x is being deleted (create it again when it is gone)"
    ],
    [
      "a workload with an unbound claim",
      "x",
      { deployment: web, claims: [claim("x-data", { phase: "Pending" })] },
      "VolumeNotBound",
      "PersistentVolumeClaim not bound: x-data (see kubectl describe pvc x-data)"
    ],
    [
      "a claim that lost its volume",
      "x",
      { claims: [claim("x", { phase: "Lost" })] },
      "VolumeNotBound",
      "PersistentVolumeClaim x lost its PersistentVolume: pv-x (restore that volume, or recreate the claim)"
    ],
    [
      "a block volume",
      "x",
      { claims: [claim("x", { volumeMode: "Block" })] },
      "UnsupportedVolumeMode",
      "PersistentVolumeClaim x has volumeMode Block (must be Filesystem, because restic saves files)"
    ],
    [
      "a ReadWriteOncePod claim in use",
      "x",
      {
        claims: [claim("x", { accessModes: ["ReadWriteOncePod"] })],
        pods: [pod("app", podSpec({ data: "x" }))]
      },
      "VolumeInUse",
      "PersistentVolumeClaim x has access mode ReadWriteOncePod and is in use by pod app (stop that pod during the run, or use a claim with ReadWriteOnce)"
    ]
  ]
  for (const [when, source, some, reason, message] of table) {
    test(when, () => {
      expect(refusal(source, some)).toEqual({ reason, message })
    })
  }
})

describe("Source.resolve accepts a ReadWriteOncePod claim", () => {
  const claims = [claim("x", { accessModes: ["ReadWriteOncePod"] })]
  const spec = podSpec({ data: "x" })
  const table = {
    "that is unused": [],
    "whose pod has finished": [pod("app", spec, { phase: "Succeeded" }), pod("other", spec, { phase: "Failed" })],
    "whose pod was deleted before it was scheduled": [pod("app", spec, { node: "", phase: "Pending", deleted: true })],
    "in use by a mover": [pod("mover", spec, { mover: true })]
  }
  for (const [name, pods] of Object.entries(table)) {
    test(name, () => {
      expect(names("x", { claims, pods })).toEqual(["x"])
    })
  }
  test("only after its pod has terminated", () => {
    expect(refusal("x", { claims, pods: [pod("app", spec, { deleted: true })] }).reason).toBe("VolumeInUse")
  })
})
