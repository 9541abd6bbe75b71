/**
 * v1 Event and events.k8s.io/v1 Event, whose fields have other names. The server stores both as v1.
 */
import * as Failure from "../../model/Failure.ts"
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, strategy } from "../Definition.ts"

const renamed: ReadonlyArray<readonly [core: string, events: string]> = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"]
]

const toEvents = new Map(renamed)
const toCore = new Map(renamed.map(([core, events]) => [events, core]))

const translated = (object: JsonObject, names: ReadonlyMap<string, string>, apiVersion: string): JsonObject => {
  const made: { [name: string]: JsonValue | undefined } = {}
  for (const name in object) made[names.get(name) ?? name] = object[name]
  return { ...made, apiVersion }
}

/** The strings that v1 writes even if they are empty, and events.k8s.io/v1 omits. */
const optional = ["reportingController", "reportingInstance"]

const inEvents = (stored: JsonObject): JsonObject => {
  const made = { ...translated(stored, toEvents, "events.k8s.io/v1") }
  for (const name of optional) if (made[name] === "") delete made[name]
  return made
}

const inCore = (object: JsonObject): JsonObject => ({
  reportingComponent: "",
  reportingInstance: "",
  source: {},
  involvedObject: {},
  ...translated(object, toCore, "v1")
})

const isSet = (value: JsonValue | undefined): boolean => value !== undefined && value !== null && value !== ""

/** Yields the errors that both versions share. `event` is in the form of v1. `reporter`: the field name of the reporter in errors. */
function* common(event: JsonObject, reporter: string): Errors {
  const namespace = Json.text(Json.at(event, "metadata", "namespace")) ?? ""
  const involved = Json.text(Json.at(event, "involvedObject", "namespace")) ?? ""
  const elsewhere = FieldError.invalid("involvedObject.namespace", involved, "does not match event.namespace")
  if (!isSet(event.eventTime)) {
    if (involved === "" ? namespace !== "" && namespace !== "default" : namespace !== involved) yield elsewhere
    return
  }
  if (involved === "" && namespace !== "default" && namespace !== "kube-system") yield elsewhere
  const reporting = Json.text(event.reportingComponent) ?? ""
  if (reporting === "") yield FieldError.required(reporter)
  yield* Check.text(reporter, reporting, Format.labelKey)
  for (const [name, length] of limits) {
    const value = Json.text(event[name]) ?? ""
    if (value === "") yield FieldError.required(name)
    if (value.length > length) yield FieldError.invalid(name, "", `can have at most ${length} characters`)
  }
  if ((Json.text(event.message) ?? "").length > 1024) {
    yield FieldError.invalid("message", "", "can have at most 1024 characters")
  }
}

const limits: ReadonlyArray<readonly [string, number]> = [
  ["reportingInstance", 128],
  ["action", 128],
  ["reason", 128]
]

function* series(event: JsonObject): Errors {
  const given = event.series
  if (!Json.isObject(given)) return
  if ((Json.number(given.count) ?? 0) < 2) yield FieldError.invalid("series.count", "", "should be at least 2")
  if (!isSet(given.lastObservedTime)) yield FieldError.required("series.lastObservedTime")
}

function* newEvent(object: JsonObject): Errors {
  const event = inCore(object)
  yield* common(event, "reportingController")
  yield* series(event)
  if (!isSet(event.eventTime)) yield FieldError.required("eventTime")
  const { type } = event
  if (type !== "Normal" && type !== "Warning") {
    yield FieldError.invalid("type", "", `has invalid value: ${type ?? ""}`)
  }
  const source = Json.object(event.source)
  for (const [name, set] of [
    ["firstTimestamp", isSet(event.firstTimestamp)],
    ["lastTimestamp", isSet(event.lastTimestamp)],
    ["count", (Json.number(event.count) ?? 0) !== 0],
    ["source", isSet(source.component) || isSet(source.host)]
  ] as const) {
    if (set) yield FieldError.invalid(name, "", "needs to be unset")
  }
}

const fixed = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance"
]

function* changed(object: JsonObject, old: JsonObject): Errors {
  const [event, before] = [inCore(object), inCore(old)]
  yield* common(event, "reportingController")
  if (!Json.equal(event.series, before.series)) yield* series(event)
  for (const name of fixed) {
    const field = name === "reportingComponent" ? "reportingController" : name
    yield* Check.immutable(field, event[name] ?? null, before[name] ?? null)
  }
}

/** Throws a Failure (422) if there are errors. Like a kube-apiserver, it names the Event of the core group. */
const refusing = (object: JsonObject, found: Errors): Errors => {
  const errors = [...found]
  if (errors.length === 0) return errors
  const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
  throw Failure.invalid({ group: "", kind: "Event", plural: "events" }, name, errors)
}

const shared: Omit<Definition, "group" | "strategy"> = {
  version: "v1",
  kind: "Event",
  storage: "/events",
  createOnUpdate: true,
  unconditionalUpdate: true,
  dependents: "ignored"
}

/** The definition of v1 Event. */
export const event: Definition = {
  ...shared,
  group: "",
  strategy: strategy({ shape: "core/v1.Event", validate: (object) => common(object, "reportingComponent") }),
  selectableFields: (object) => ({
    ...involvedFields("involvedObject", Json.object(object.involvedObject)),
    reason: Json.text(object.reason) ?? "",
    reportingComponent: Json.text(object.reportingComponent) ?? "",
    source: Json.text(Json.at(object, "source", "component")) ?? Json.text(object.reportingComponent) ?? "",
    type: Json.text(object.type) ?? ""
  })
}

/** The definition of events.k8s.io/v1 Event. */
export const newerEvent: Definition = {
  ...shared,
  group: "events.k8s.io",
  strategy: strategy({
    shape: "events/v1.Event",
    validate: (object) => refusing(object, newEvent(object)),
    validateUpdate: (object, old) => refusing(object, changed(object, old))
  }),
  fromStorage: inEvents,
  toStorage: inCore,
  selectableFields: (object) => ({
    ...involvedFields("regarding", Json.object(object.regarding)),
    reason: Json.text(object.reason) ?? "",
    reportingController: Json.text(object.reportingController) ?? "",
    source: Json.text(Json.at(object, "deprecatedSource", "component")) ?? Json.text(object.reportingController) ?? "",
    type: Json.text(object.type) ?? ""
  })
}

const involvedFields = (name: string, reference: JsonObject): { readonly [path: string]: string } =>
  Object.fromEntries(
    ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map((field) => [
      `${name}.${field}`,
      Json.text(reference[field]) ?? ""
    ])
  )
