/** Entries of the catalogue, and their parts. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"

/** A merge patch of the object, or of a subresource. */
export type Step = { readonly to?: "status"; readonly change: JsonObject }

/** Objects by the names of their tests, alone or with changes. */
export interface Entries {
  readonly [name: string]: JsonObject | readonly [object: JsonObject, ...steps: ReadonlyArray<Step>]
}

export const of = (apiVersion: string, kind: string, name: string, more: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more
})

/** An object of the core group. */
export const core = (kind: string, more: JsonObject = {}, name = "c"): JsonObject => of("v1", kind, name, more)

export const container: JsonObject = { name: "app", image: "nginx" }
export const labels: JsonObject = { app: "a" }
export const selector: JsonObject = { matchLabels: labels }

export const template = (spec: JsonObject = {}, metadata: JsonObject = { labels }): JsonObject => ({
  metadata,
  spec: { containers: [container], ...spec }
})

export const pod = (spec: JsonObject, metadata: JsonObject = {}): JsonObject =>
  core("Pod", { metadata: { name: "p", ...metadata }, spec: { containers: [container], ...spec } })

/** A Pod whose container has more fields. */
export const withContainer = (more: JsonObject, spec: JsonObject = {}): JsonObject =>
  pod({ ...spec, containers: [{ ...container, ...more }] })

/** An object of apps/v1. */
export const workload = (kind: string, spec: JsonObject = {}, metadata: JsonObject = { name: "w" }): JsonObject =>
  of("apps/v1", kind, "", { metadata, spec: { selector, template: template(), ...spec } })

export const deployment = (spec: JsonObject, metadata: JsonObject = {}): JsonObject =>
  workload("Deployment", spec, { name: "d", ...metadata })

export const job = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject =>
  of("batch/v1", "Job", "", {
    metadata: { name: "j", ...metadata },
    spec: { template: template({ restartPolicy: "Never" }, {}), ...spec }
  })

export const service = (spec: JsonObject, name = "s"): JsonObject => core("Service", { spec }, name)

export const now = "2026-11-20T10:00:00Z"
export const later = "2026-11-20T10:00:05Z"
