/** Entries of the catalogue, and what they are made of. */
import type { JsonObject } from "@homeostat/testkit/server/Json"

/** A change of the object, or of a subresource. */
export interface Step {
  readonly to?: "status" | "finalize"
  readonly change: JsonObject
}

/** One entry. */
export interface Entry {
  readonly name: string
  readonly object: JsonObject
  readonly steps?: ReadonlyArray<Step>
}

/** A container with nothing said. */
export const container: JsonObject = { name: "app", image: "nginx" }
/** The labels of Pods. */
export const labels: JsonObject = { app: "a" }
/** What selects them. */
export const selector: JsonObject = { matchLabels: labels }
/** The template of a Pod. */
export const template = (spec: JsonObject = {}, metadata: JsonObject = { labels }): JsonObject => ({
  metadata,
  spec: { containers: [container], ...spec }
})

/** A Pod. */
export const pod = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", ...metadata },
  spec: { containers: [container], ...spec }
})

/** A Pod of one container with more said of it. */
export const withContainer = (more: JsonObject, spec: JsonObject = {}): JsonObject =>
  pod({ ...spec, containers: [{ ...container, ...more }] })

/** A Deployment. */
export const deployment = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", ...metadata },
  spec: { selector, template: template(), ...spec }
})

/** Another kind of apps/v1. */
export const workload = (kind: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name: "w" },
  spec: { selector, template: template(), ...spec }
})

/** A Job. */
export const job = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j", ...metadata },
  spec: { template: template({ restartPolicy: "Never" }, {}), ...spec }
})

/** A Service. */
export const service = (spec: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "s" },
  spec
})

/** An object of the core group. */
export const core = (kind: string, more: JsonObject = {}, name = "c"): JsonObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name },
  ...more
})

/** A time. */
export const now = "2026-11-20T10:00:00Z"
/** A later one. */
export const later = "2026-11-20T10:00:05Z"
