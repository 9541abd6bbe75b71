/** The labels and the selector that a kube-apiserver generates for a Job. */
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"

/** The generated labels of a Job's Pods, with and without the prefix `batch.kubernetes.io/`. */
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

/** Defaults the labels of a stored Job to those of its template, for reads. Only the next write stores them. */
export const labelled = (job: JsonObject): JsonObject => {
  const labels = Json.at(job, "spec", "template", "metadata", "labels")
  if (labels === undefined || Json.at(job, "metadata", "labels") !== undefined) return job
  return { ...job, metadata: { ...Json.object(job.metadata), labels } }
}

/** Generates the selector of a new Job and the labels of its template, unless `manualSelector` is set. */
export const generate = (draft: DraftObject): void => {
  const spec = Json.member(draft, "spec")
  if (spec.manualSelector === true) return
  const metadata = Json.member(draft, "metadata")
  const template = Json.member(Json.member(spec, "template"), "metadata")
  // If Go defaulted the Job's labels from the template, both are the same map. Then a change of one changes both.
  const shared = metadata.labels !== undefined && Json.equal(metadata.labels, template.labels)
  const labels = Json.member(template, "labels")
  const added = labelsOf(draft)
  for (const label in added) labels[label] ??= added[label] ?? ""
  if (shared) metadata.labels = Json.copy(labels)
  const selected = Json.member(Json.member(spec, "selector"), "matchLabels")
  selected["batch.kubernetes.io/controller-uid"] ??= added["controller-uid"] ?? ""
}
