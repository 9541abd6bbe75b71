/**
 * Validation of the probes and the lifecycle handlers of a container.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"

/** Yields the errors of a probe. `restarts`: a liveness or startup probe, whose `successThreshold` must be 1. */
export function* probe(field: string, given: JsonObject, restarts: boolean): Errors {
  yield* handler(field, given)
  for (const name of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold"
  ]) {
    yield* Check.notNegative(`${field}.${name}`, given[name])
  }
  const grace = Json.number(given.terminationGracePeriodSeconds)
  if (grace !== undefined && grace <= 0) {
    yield FieldError.invalid(`${field}.terminationGracePeriodSeconds`, grace, "must be greater than 0")
  }
  if (restarts) {
    if (given.successThreshold !== 1) {
      yield FieldError.invalid(`${field}.successThreshold`, given.successThreshold, "must be 1")
    }
  } else if (grace !== undefined) {
    yield FieldError.invalid(`${field}.terminationGracePeriodSeconds`, grace, "must not be set for readinessProbes")
  }
}

/** Yields the errors of `postStart` and `preStop`. */
export function* lifecycle(field: string, given: JsonObject, spec: JsonObject): Errors {
  for (const name of ["postStart", "preStop"]) {
    const action = given[name]
    if (!Json.isObject(action)) continue
    yield* handler(`${field}.${name}`, action)
    const seconds = Json.number(Json.at(action, "sleep", "seconds"))
    const grace = Json.number(spec.terminationGracePeriodSeconds) ?? 0
    if (seconds !== undefined && (seconds < 0 || seconds > grace)) {
      yield FieldError.invalid(
        `${field}.${name}.sleep`,
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${grace})`
      )
    }
  }
}

function* handler(field: string, given: JsonObject): Errors {
  const [first, ...others] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].filter((name) =>
    Json.isObject(given[name])
  )
  if (first === undefined) return yield FieldError.required(field, "must specify a handler type")
  yield* actions[first]?.(`${field}.${first}`, Json.object(given[first])) ?? []
  for (const other of others)
    yield FieldError.forbidden(`${field}.${other}`, "may not specify more than 1 handler type")
}

const actions: { readonly [name: string]: (field: string, action: JsonObject) => Errors } = {
  *exec(field, { command }) {
    if (Json.list(command).length === 0) yield FieldError.required(`${field}.command`)
  },
  *httpGet(field, action) {
    yield* Check.requiredText(`${field}.path`, action.path)
    yield* port(`${field}.port`, action.port)
    const scheme = Json.text(action.scheme) ?? ""
    if (!schemes.includes(scheme)) yield FieldError.notSupported(`${field}.scheme`, scheme, schemes)
    for (const header of Json.objects(action.httpHeaders)) {
      yield* Check.text(`${field}.httpHeaders`, Json.text(header.name) ?? "", Format.headerName)
    }
  },
  tcpSocket: (field, action) => port(`${field}.port`, action.port),
  grpc: (field, action) => port(`${field}.port`, action.port)
}

const schemes = ["HTTP", "HTTPS"]

function* port(field: string, value: JsonValue | undefined): Errors {
  if (typeof value === "string") yield* Check.text(field, value, Format.portName)
  else yield* Check.between(field, value ?? 0, 1, 65535)
}
