import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import { claim, pod, podSpec } from "./Claims.fixture.ts"
import type * as Placement from "./Placement.ts"
import * as Target from "./Target.ts"
import * as VolumeClaim from "./VolumeClaim.ts"

const user = pod("app", podSpec({ data: "x" }))
const template = { spec: { resources: { requests: { storage: "1Gi" } } } }
const restore = (seen: Partial<Target.Seen>, inUse = false, spec: Partial<Target.Spec> = {}) =>
  Target.ofRestore(
    { targetPVC: "x", overwrite: false, inUse: inUse ? "Allow" : "Refuse", ...spec },
    { claims: [], pods: [], ...seen }
  )
const destination = (seen: Partial<Target.Seen>, others: ReadonlyArray<string> = []) =>
  Target.ofDestination(
    "x",
    { claims: [], pods: [], ...seen },
    others.map((name) => VolumeClaim.make(claim(name)))
  )

const cases: ReadonlyArray<readonly [string, ReturnType<typeof restore>, VolumeClaim.Refusal | undefined]> = [
  ["a Restore accepts an unused volume", restore({ claims: [claim("x")] }), undefined],
  [
    "a Restore accepts a claim that waits for its first consumer",
    restore({ claims: [claim("x", { phase: "Pending" })] }),
    undefined
  ],
  [
    "a Restore accepts a volume in use if the spec allows it",
    restore({ claims: [claim("x")], pods: [user] }, true),
    undefined
  ],
  [
    "a Restore rejects a volume in use by default",
    restore({ claims: [claim("x", { accessModes: ["ReadWriteMany"] })], pods: [user] }),
    {
      reason: "VolumeInUse",
      message:
        "PersistentVolumeClaim x is in use by pod app (scale the workload to zero, or create a Restore with spec.inUse Allow)"
    }
  ],
  [
    "a Restore always rejects a ReadWriteOncePod volume in use",
    restore({ claims: [claim("x", { accessModes: ["ReadWriteOncePod"] })], pods: [user] }, true),
    {
      reason: "VolumeInUse",
      message:
        "PersistentVolumeClaim x has access mode ReadWriteOncePod and is in use by pod app (stop that pod during the run, or use a claim with ReadWriteOnce)"
    }
  ],
  [
    "a Restore rejects a missing claim",
    restore({ claims: [claim("y")] }),
    {
      reason: "TargetNotFound",
      message:
        "PersistentVolumeClaim of spec.targetPVC not found: x (create it, large enough for what is restored, or set spec.volumeClaimTemplate in a new Restore)"
    }
  ],
  [
    "a Restore rejects a claim that is being deleted",
    restore({ claims: [claim("x", { deleted: true })] }),
    {
      reason: "TargetNotFound",
      message:
        "PersistentVolumeClaim x of spec.targetPVC is being deleted (when it is gone, create it, large enough for what is restored, or set spec.volumeClaimTemplate in a new Restore)"
    }
  ],
  [
    "a Restore with a template creates a missing claim",
    restore({ claims: [claim("y")] }, false, { volumeClaimTemplate: template }),
    undefined
  ],
  [
    "a Restore with a template rejects a claim that is being deleted",
    restore({ claims: [claim("x", { deleted: true })] }, false, { volumeClaimTemplate: template }),
    {
      reason: "TargetNotFound",
      message:
        "PersistentVolumeClaim x of spec.targetPVC is being deleted (when it is gone, create it, large enough for what is restored, or set spec.volumeClaimTemplate in a new Restore)"
    }
  ],
  [
    "a Restore rejects a block volume",
    restore({ claims: [claim("x", { volumeMode: "Block" })] }, true),
    {
      reason: "UnsupportedVolumeMode",
      message: "PersistentVolumeClaim x has volumeMode Block (must be Filesystem, because restic saves files)"
    }
  ],
  ["a destination accepts a volume in use", destination({ claims: [claim("x")], pods: [user] }), undefined],
  [
    "a destination accepts a claim that waits for its first consumer",
    destination({ claims: [claim("x", { phase: "Pending" })] }, ["y"]),
    undefined
  ],
  [
    "a destination rejects a volume that the Backup saves",
    destination({ claims: [claim("x")] }, ["y", "x"]),
    {
      reason: "VolumeInUse",
      message:
        "PersistentVolumeClaim x holds the repository of spec.destination, so a Backup cannot save it there (recreate the Backup with another spec.destination)"
    }
  ],
  [
    "a destination rejects a missing claim",
    destination({}),
    { reason: "VolumeNotBound", message: "PersistentVolumeClaim of spec.destination not found: x (create it)" }
  ],
  [
    "a destination rejects a claim that lost its volume",
    destination({ claims: [claim("x", { phase: "Lost" })] }),
    {
      reason: "VolumeNotBound",
      message: "PersistentVolumeClaim x lost its PersistentVolume: pv-x (restore that volume, or recreate the claim)"
    }
  ]
]

describe("Target:", () => {
  for (const [what, found, refusal] of cases) {
    test(what, () => {
      expect(Result.getOrUndefined(Result.flip(found))).toEqual(refusal)
      if (refusal === undefined) expect(Result.getOrThrow(found).name).toBe("x")
    })
  }
})

test("a volumeClaimTemplate does not change an existing claim", () => {
  const isNew = (claims: Target.Seen["claims"]) =>
    Result.getOrThrow(restore({ claims }, false, { volumeClaimTemplate: template })).isNew
  expect([isNew([]), isNew([claim("x")])]).toEqual([true, false])
})

test("the message names at most three of the pods that use a volume", () => {
  const pods = ["d", "c", "b", "a", "e"].map((name) => pod(name, podSpec({ data: "x" })))
  expect(Result.getOrThrow(Result.flip(restore({ claims: [claim("x")], pods }))).message).toContain(
    "in use by pods a, b, c and 2 more ("
  )
})

describe("The writer of a Restore", () => {
  const reader: Placement.Security = { runAsUser: 1000, runAsGroup: 2000 }
  const full = VolumeClaim.make(claim("x"))
  const fresh = VolumeClaim.make(claim("x", { phase: "Pending" }))
  test("is the user who read the files, for a volume that may contain files", () =>
    expect([Target.writer(full, reader, "Overlay"), Target.writer(full, reader, "Mirror")]).toEqual([reader, reader]))
  test("has an fsGroup for an empty volume, because root owns its root directory", () => {
    for (const [claim, mode] of [
      [fresh, "IntoEmpty"],
      [fresh, "Mirror"],
      // The StorageClass has bound it at once.
      [full, "IntoEmpty"]
    ] as const) {
      expect(Target.writer(claim, reader, mode)).toEqual({ ...reader, fsGroup: 2000 })
    }
    expect(Target.writer(fresh, { ...reader, fsGroup: 5 }, "IntoEmpty")).toEqual({ ...reader, fsGroup: 5 })
    expect(Target.writer(fresh, { runAsUser: 1000 }, "IntoEmpty")).toEqual({ runAsUser: 1000, fsGroup: 65_532 })
  })
})
