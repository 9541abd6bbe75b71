/** The labels by which a Job finds its Pods. */
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"

/** The labels of a Job's Pods, of now and of old. */
export const labelsOf = (job: JsonObject): { readonly [label: string]: string } => {
  const name = Json.text(Json.at(job, "metadata", "name")) ?? ""
  const uid = Json.text(Json.at(job, "metadata", "uid")) ?? ""
  return {
    "controller-uid": uid,
    "job-name": name,
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name
  }
}

/** A Job without labels has those of its template: whenever it is read, as they are stored only by the next write. */
export const labelled = (job: JsonObject): JsonObject => {
  const labels = Json.at(job, "spec", "template", "metadata", "labels")
  if (labels === undefined || Json.at(job, "metadata", "labels") !== undefined) return job
  return { ...job, metadata: { ...Json.object(job.metadata), labels } }
}

/** Makes the selector of a new Job, and puts the labels that it selects onto its template. */
export const generate = (draft: DraftObject): void => {
  const spec = Json.member(draft, "spec")
  if (spec.manualSelector === true) return
  const metadata = Json.member(draft, "metadata")
  const template = Json.member(Json.member(spec, "template"), "metadata")
  // The two maps are one in Go, where the labels were filled in from the template.
  const shared = metadata.labels !== undefined && Json.equal(metadata.labels, template.labels)
  const labels = Json.member(template, "labels")
  const added = labelsOf(draft)
  for (const label in added) labels[label] ??= added[label] ?? ""
  if (shared) metadata.labels = Json.copy(labels)
  const selected = Json.member(Json.member(spec, "selector"), "matchLabels")
  selected["batch.kubernetes.io/controller-uid"] ??= added["controller-uid"] ?? ""
}
