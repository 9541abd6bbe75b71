/** The differences between the writes of a replay and those of its recording. */
import type { Request } from "../client/Request.ts"
import type * as Drift from "../controller/Drift.ts"
import { intentAnnotation } from "../controller/Intent.ts"
import type { Document, RequestDocument } from "../manager/recordings/Document.ts"
import * as Redaction from "../manager/recordings/Redaction.ts"
import * as Fields from "../plan/Fields.ts"
import { isSecretPath, jsonOf } from "../telemetry/SecretValues.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"

/**
 * A write that differs. `changed`: the body differs in these fields. `added`: only the replay has it. `missing`: only the recording. `moved`: it
 * follows another write that followed it in the recording.
 */
export interface Difference {
  readonly difference: "changed" | "added" | "missing" | "moved"
  readonly method: string
  readonly path: string
  /** `from` is the recorded value. */
  readonly fields: ReadonlyArray<Fields.Field>
  /** The write that a `moved` one follows: its method and path. */
  readonly after?: string | undefined
}

/** Whether a method writes. */
export const isWrite = ({ method }: Pick<RequestDocument, "method">): boolean => method !== "GET"

/** The body of a write without secrets, as a recording has it. */
export const bodyOf = ({ body, path }: Pick<Request, "body" | "path">): unknown =>
  body === undefined ? undefined : Redaction.make().hide(jsonOf(body), isSecretPath(path))

/** A body as an object: a JSON patch is a list. */
const asObject = (body: unknown): object =>
  Array.isArray(body) ? { operations: body } : typeof body === "object" && body !== null ? body : {}

const kindOf = (body: object): string => {
  const kind: unknown = Reflect.get(body, "kind")
  return typeof kind === "string" ? kind : ""
}

const isTime = (value: Drift.Json | undefined): value is string =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

/** Times are in whole seconds. */
const second = 1000

const memberOf = (value: object, name: string): unknown => Reflect.get(value, name)

/**
 * The members of a body that `Fields` leaves out, because an API server sets them. A write states them: a kind in its version, and the
 * condition that the object is unchanged. The resourceVersion itself differs after a write with an assumed response.
 */
const statedBy = (body: object): { readonly [path: string]: Drift.Json | undefined } => {
  const metadata = memberOf(body, "metadata")
  const text = (name: string) => {
    const value = memberOf(body, name)
    return typeof value === "string" ? value : undefined
  }
  const has = (name: string) =>
    typeof metadata === "object" && metadata !== null && typeof memberOf(metadata, name) === "string"
      ? "stated"
      : undefined
  return {
    apiVersion: text("apiVersion"),
    kind: text("kind"),
    "metadata.resourceVersion": has("resourceVersion"),
    "metadata.uid": has("uid")
  }
}

const statedDifferences = (from: object, to: object): ReadonlyArray<Fields.Field> => {
  const [recorded, now] = [statedBy(from), statedBy(to)]
  return Object.keys(recorded).flatMap((path) =>
    recorded[path] === now[path] ? [] : [{ path, from: recorded[path], to: now[path] }]
  )
}

/** Compares bodies for one recording. */
export interface Comparison {
  /** The fields that differ, without those that differ in each run. */
  readonly fields: (recorded: unknown, now: unknown) => ReadonlyArray<Fields.Field>
}

/**
 * The comparison for a recording. Times within the recorded attempt are equal. The hash of an intent does not count: the fields of the
 * intent do. The trace of a write does not count either.
 */
export const comparison = ({ finishedAt, startedAt }: Pick<Document, "startedAt" | "finishedAt">): Comparison => {
  const isWithin = (value: Drift.Json | undefined): boolean =>
    isTime(value) &&
    Date.parse(value) >= Date.parse(startedAt) - second &&
    Date.parse(value) <= Date.parse(finishedAt) + second
  const isTrace = (value: Drift.Json | undefined): boolean =>
    value === undefined || (typeof value === "string" && TraceParent.parse(value) !== undefined)
  const isNoise = ({ from, path, to }: Fields.Field): boolean =>
    path === `metadata.annotations[${intentAnnotation}]` ||
    (path.startsWith("metadata.annotations") && isTrace(from) && isTrace(to)) ||
    (isWithin(from) && isWithin(to))
  return {
    fields: (recorded, now) => {
      const [from, to] = [asObject(recorded), asObject(now)]
      const fields = Fields.between(kindOf(to) || kindOf(from), from, to).filter((field) => !isNoise(field))
      return [...statedDifferences(from, to), ...fields]
    }
  }
}

/** The fields that a write states. */
export const stated = (body: unknown): ReadonlyArray<Fields.Field> => {
  const object = asObject(body)
  return Fields.of(kindOf(object), object)
}
