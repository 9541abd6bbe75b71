/** The parts of Jobs that the controllers read. Any user who may create Jobs can give them any labels, owner and size. */
import * as Budget from "@homeostat/runtime/cache/Budget"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Owned from "@homeostat/runtime/controller/Owned"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Names from "../kinds/Names.ts"
import * as MoverJob from "./MoverJob.ts"

/** The bytes of the part of a Job with an owner: the names of hundreds of claims. */
const ownedBytes = 64 * 1024

const labels = new Set([
  Names.nameLabel,
  ...Object.keys(Names.moverLabels),
  Names.ownerLabel,
  Names.repositoryLabel,
  Names.triggerLabel,
  Names.useLabel
])

const annotations = new Set([
  Names.scheduledAtAnnotation,
  Names.tokenAnnotation,
  Names.claimsAnnotation,
  Names.runIdAnnotation,
  Names.tagAnnotation,
  Names.afterAnnotation,
  Names.previousAnnotation,
  Names.remainingAnnotation
])

/** Looks up each wanted name, so that many others cost nothing. */
const pick = (from: { readonly [name: string]: string } | undefined, wanted: ReadonlySet<string>) => {
  const found: { [name: string]: string } = {}
  for (const name of wanted) {
    const value = from?.[name]
    if (value !== undefined) found[name] = value
  }
  return found
}

/** The container with its image and the word of its protocol (see `MoverJob.moverOf`), and the node (see `MoverJob.nodeOf`). */
const templateOf = (job: Job): NonNullable<Job["spec"]>["template"] => {
  const node = MoverJob.nodeOf(job)
  const affinity = node !== undefined && { affinity: MoverJob.onNode(node) }
  const made = MoverJob.containerOf(job)
  if (made === undefined) return { spec: { ...affinity, containers: [] } }
  const { args = [], image, name } = made
  return {
    spec: { ...affinity, containers: [{ name, ...(image !== undefined && { image }), args: args.slice(0, 1) }] }
  }
}

/** The conditions that say that a Job has finished. */
const ends = new Set(["Complete", "Failed"])

const partOf = (job: Job): Job => {
  const { metadata, spec, status } = job
  const { deletionTimestamp } = metadata
  const owner = controllerOf(job)
  const part: Job = {
    apiVersion: "batch/v1",
    kind: Job.kind,
    metadata: {
      ...Transform.existence(job).metadata,
      labels: pick(metadata.labels, labels),
      annotations: pick(metadata.annotations, annotations),
      ...(owner !== undefined && { ownerReferences: [owner] }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp })
    },
    ...(spec !== undefined && {
      spec: {
        ...(spec.backoffLimit !== undefined && { backoffLimit: spec.backoffLimit }),
        ...(spec.activeDeadlineSeconds !== undefined && { activeDeadlineSeconds: spec.activeDeadlineSeconds }),
        ...(spec.suspend !== undefined && { suspend: spec.suspend }),
        template: templateOf(job)
      }
    }),
    ...(status !== undefined && {
      status: {
        ...(status.active !== undefined && { active: status.active }),
        ...(status.completionTime !== undefined && { completionTime: status.completionTime }),
        conditions: (status.conditions ?? [])
          .filter(({ type }) => ends.has(type))
          .slice(0, ends.size)
          .map(({ message: _, lastProbeTime: __, ...condition }) => condition)
      }
    })
  }
  return Budget.exceeds(part, owner === undefined ? Budget.foreignBytes : ownedBytes) ? Transform.existence(job) : part
}

const movers = new Set<string | undefined>([Names.maintenanceName, Names.moverLabels[Names.nameLabel]])

/** The part of a mover's Job, a Job that a controller of the program has applied, and the name and version of any other Job. */
export const transform: Transform.Transform = Transform.of(Job, (job) =>
  movers.has(job.metadata.labels?.[Names.nameLabel])
    ? partOf(job)
    : job.metadata.annotations?.[Owned.intentAnnotation] !== undefined || controllerOf(job) !== undefined
      ? job
      : Transform.existence(job)
)
