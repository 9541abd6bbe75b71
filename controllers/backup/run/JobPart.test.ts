import { describe, expect, test } from "bun:test"
import * as Budget from "@homeostat/runtime/cache/Budget"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Owned from "@homeostat/runtime/controller/Owned"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import * as Names from "../kinds/Names.ts"
import { job, pod } from "./Backups.fixture.ts"
import * as Cleanup from "./Cleanup.ts"
import * as JobPart from "./JobPart.ts"
import * as JobProgress from "./JobProgress.ts"
import * as Maintenance from "./Maintenance.ts"
import * as MoverJob from "./MoverJob.ts"
import * as MoverSlots from "./MoverSlots.ts"

const wholeOf = (made: Job, over: Partial<Job["metadata"]> = {}): Job => ({
  ...made,
  metadata: {
    ...made.metadata,
    labels: { ...made.metadata.labels, ...Names.moverLabels, [Names.useLabel]: "restore", other: "x" },
    annotations: {
      ...made.metadata.annotations,
      [Names.claimsAnnotation]: "a,b",
      [Names.remainingAnnotation]: "c",
      [Names.scheduledAtAnnotation]: "2026-11-20T02:00:00Z",
      other: "x"
    },
    ...over
  },
  spec: {
    ...made.spec,
    backoffLimit: 3,
    activeDeadlineSeconds: 7,
    suspend: true,
    template: {
      spec: {
        affinity: MoverJob.onNode("node-1"),
        containers: [
          { name: "sidecar", image: "s" },
          {
            name: MoverJob.container,
            image: "mover:2",
            args: ["protocol-2", "backup"],
            env: [{ name: "A", value: "x" }]
          }
        ]
      }
    }
  }
})

const apply = (whole: Job): Job => JobPart.transform.apply(whole) as Job

/** All that the controllers read of a cached Job. */
const readings = (job: Job) => ({
  progress: [[], [pod(job, "p", { phase: "Running" })], [pod(job, "p", { phase: "Failed" })]].map((pods) =>
    JobProgress.read(job, pods)
  ),
  mover: MoverJob.moverOf(job),
  node: MoverJob.nodeOf(job),
  use: MoverJob.useOf(job),
  claims: [JobProgress.claims(job), JobProgress.remaining(job), JobProgress.scheduledAt(job)],
  works: MoverSlots.works(job),
  isMaintenance: Maintenance.isMaintenance(job),
  isCleanup: Cleanup.isCleanup(job),
  suspend: job.spec?.suspend,
  active: job.status?.active,
  owners: job.metadata.ownerReferences,
  deleted: job.metadata.deletionTimestamp
})

describe("The part of a Job of a mover", () => {
  for (const [what, whole] of [
    ["that works", wholeOf(job("cart-1"))],
    ["that has failed", wholeOf(job("cart-1", { ended: "Failed" }))],
    ["that is complete", wholeOf(job("cart-1", { ended: "Complete" }))],
    ["that is being deleted", wholeOf(job("cart-1"), { deletionTimestamp: "2026-11-20T02:10:00Z" })]
  ] as const) {
    test(`${what} has all that the controllers read`, () => {
      const part = apply(whole)
      expect(readings(part)).toEqual(readings(whole))
      expect(part.metadata.annotations?.other ?? part.metadata.labels?.other).toBeUndefined()
      expect(JSON.stringify(part)).not.toContain("sidecar")
    })
  }

  test("is name and version if it is large", () => {
    const annotations = { [Names.claimsAnnotation]: "x".repeat(Budget.foreignBytes) }
    const foreign = wholeOf(job("cart-1"), { annotations, ownerReferences: [] })
    expect(apply(foreign)).toEqual(Transform.existence(foreign) as Job)
    expect(JobProgress.claims(apply(wholeOf(job("cart-1"), { annotations })))).toHaveLength(1)
    const huge = wholeOf(job("cart-1"), { annotations: { [Names.claimsAnnotation]: "x".repeat(100_000) } })
    expect(apply(huge)).toEqual(Transform.existence(huge) as Job)
  })

  test("is the whole Job if a controller applied it, and name and version of any other", () => {
    const plain = { ...job("cart-1"), metadata: { ...job("cart-1").metadata, labels: {}, ownerReferences: [] } }
    expect(apply(plain)).toEqual(Transform.existence(plain) as Job)
    const applied = { ...plain, metadata: { ...plain.metadata, annotations: { [Owned.intentAnnotation]: "x" } } }
    expect(apply(applied)).toBe(applied)
  })
})
