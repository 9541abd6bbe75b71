/**
 * The response to a write that the recording does not have: the object as the write states it, on top of its known state. It has no
 * defaults, no validation and no admission of an API server.
 */
import type { Request } from "../client/Request.ts"
import * as Drift from "../controller/Drift.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import { jsonOf } from "../telemetry/SecretValues.ts"

/** A response, and the state of the object after it; null if the object is gone. */
export interface Assumed {
  readonly status: number
  readonly body: object
  readonly after: KubernetesObject | null
}

type Json = Drift.Json | undefined

const merged = (before: Json, change: Json): Json => {
  if (!Drift.isRecord(change)) return change
  const result: { [key: string]: Json } = Drift.isRecord(before) ? { ...before } : {}
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

interface Operation {
  readonly op?: string
  readonly path?: string
  readonly value?: Drift.Json
}

const stepsOf = (path: string): ReadonlyArray<string> =>
  path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))

/** A copy of the value with one operation of a JSON patch. A test changes nothing. */
const operated = (value: Json, operation: Operation, [step, ...rest]: ReadonlyArray<string>): Json => {
  if (step === undefined) return operation.op === "remove" ? undefined : operation.value
  if (Array.isArray(value)) {
    const at = step === "-" ? value.length : Number(step)
    if (rest.length > 0) return value.map((item, index) => (index === at ? operated(item, operation, rest) : item))
    if (operation.op === "remove") return value.toSpliced(at, 1)
    return value.toSpliced(at, operation.op === "replace" ? 1 : 0, operation.value ?? null)
  }
  const fields = Drift.isRecord(value) ? value : {}
  return { ...fields, [step]: operated(fields[step], operation, rest) }
}

const patched = (before: Json, body: unknown): Json =>
  Array.isArray(body)
    ? (body as ReadonlyArray<Operation>).reduce<Json>(
        (value, operation) =>
          operation.op === "test" ? value : operated(value, operation, stepsOf(operation.path ?? "")),
        before
      )
    : merged(before, body as Json)

const status = (code: number, rest: object) => ({ kind: "Status", apiVersion: "v1", code, ...rest })

const metadataOf = (object: Json): { readonly [name: string]: Json } =>
  Drift.isRecord(object) && Drift.isRecord(object.metadata) ? object.metadata : {}

/**
 * The name of a new object.
 *
 * @param nth the end of a generated name, which differs between the writes of a replay
 */
export const nameOf = ({ body }: Pick<Request, "body">, nth: number): string => {
  const { generateName = "", name } = metadataOf(jsonOf(body ?? "{}") as Json)
  return typeof name === "string" ? name : `${String(generateName)}${String(nth).padStart(5, "0")}`
}

/** The object with the metadata that the API server sets. */
const stored = (object: Json, before: KubernetesObject | undefined, at: number, name: string): KubernetesObject => {
  const fields = Drift.isRecord(object) ? object : {}
  const metadata = metadataOf(object)
  const {
    creationTimestamp = Time.seconds(at),
    resourceVersion = "1",
    uid = `assumed-${name}`
  } = before?.metadata ?? {}
  return { ...fields, metadata: { ...metadata, name, creationTimestamp, resourceVersion, uid } }
}

/**
 * The assumed response. Undefined for a patch or a deletion of an object that the recording does not have.
 *
 * @param name the name of the object
 * @param before the known state; null if the object does not exist
 * @param subresource only this part of the object changes; empty for the object itself
 * @param at the time in ms
 */
export const of = (
  request: Pick<Request, "method" | "headers" | "body">,
  name: string,
  before: KubernetesObject | null | undefined,
  subresource: string,
  at: number
): Assumed | undefined => {
  const body = jsonOf(request.body ?? "{}")
  const { method } = request
  const isApply = request.headers["content-type"]?.startsWith("application/apply-patch") === true
  if (method === "POST") {
    if (before !== undefined && before !== null && subresource === "") {
      const refusal = { status: "Failure", reason: "AlreadyExists", message: `"${name}" already exists` }
      return { status: 409, body: status(409, refusal), after: before }
    }
    const after = stored(body as Json, undefined, at, name)
    return { status: 201, body: after, after }
  }
  if (before === undefined || before === null) {
    if (isApply && subresource === "") {
      const after = stored(body as Json, undefined, at, name)
      return { status: 201, body: after, after }
    }
    if (before === undefined) return undefined
    return {
      status: 404,
      body: status(404, { status: "Failure", reason: "NotFound", message: "not found" }),
      after: null
    }
  }
  if (method === "DELETE") {
    if ((before.metadata.finalizers?.length ?? 0) === 0) {
      return { status: 200, body: status(200, { status: "Success" }), after: null }
    }
    const after = { ...before, metadata: { ...before.metadata, deletionTimestamp: Time.seconds(at) } }
    return { status: 200, body: after, after }
  }
  const state = Drift.json(before)
  const whole = method === "PUT" ? (body as Json) : patched(state, body)
  const part = subresource === "" || !Drift.isRecord(whole) ? whole : { ...state, [subresource]: whole[subresource] }
  const after = stored(part, before, at, name)
  return { status: 200, body: after, after }
}
