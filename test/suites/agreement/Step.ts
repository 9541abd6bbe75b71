/** A write of one object as data. Each server takes the same step from its own live object. */

import * as MergePatch from "@homeostat/apiserver/fields/MergePatch"
import type { DraftObject, Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as FastCheck from "fast-check"
import type { Request } from "../comparison/Server.ts"
import * as Subject from "./Subject.ts"
import * as Value from "./Value.ts"

/** `edit` is a PUT of the live object with the changes of a merge patch, `replace` a PUT of the body alone. */
export type Verb = "create" | "replace" | "edit" | "merge" | "json" | "strategic" | "apply" | "delete"

export interface Step {
  readonly verb: Verb
  readonly subresource?: "status" | "scale" | undefined
  /** The field manager. */
  readonly by?: string | undefined
  /** The body without the names of the object. */
  readonly body?: Json | undefined
  /** The resourceVersion to send: of the live object, of its creation, or by default none. */
  readonly version?: "live" | "first" | undefined
  readonly query?: { readonly [name: string]: string } | undefined
}

/** An object that a step writes. */
export interface Place {
  readonly subject: Subject.Subject
  readonly namespace: string
  readonly name: string
  readonly live: JsonObject | undefined
  /** Its first resourceVersion. */
  readonly first: string | undefined
}

const contentTypes: { readonly [verb in Verb]?: string } = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml"
}

const methods: { readonly [verb in Verb]?: string } = {
  create: "POST",
  replace: "PUT",
  edit: "PUT",
  delete: "DELETE"
}

export const request = (step: Step, place: Place): Request => ({
  method: methods[step.verb] ?? "PATCH",
  path: pathOf(step, place),
  body: bodyOf(step, place),
  contentType: contentTypes[step.verb] ?? "application/json"
})

const pathOf = ({ by, query, subresource, verb }: Step, { name, namespace, subject }: Place): string => {
  const parameters = new URLSearchParams({ ...(by !== undefined && { fieldManager: by }), ...query }).toString()
  const path = Subject.path(subject, namespace, verb === "create" ? undefined : name)
  return `${path}${subresource === undefined ? "" : `/${subresource}`}${parameters === "" ? "" : `?${parameters}`}`
}

const bodyOf = (step: Step, place: Place): Json | undefined => {
  const { body, subresource, verb } = step
  if (verb === "json" || !J.isObject(body)) return body
  if (verb === "delete") return J.copy({ ...body, preconditions: preconditionsOf(step, place) })
  if (verb === "merge" || verb === "strategic") return versioned(step, place, body)
  const { kind, subject } = { ...place, kind: subresource === "scale" ? scale : place.subject }
  const names = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name: place.name, namespace: place.namespace }
  }
  if (verb === "edit") {
    const live = subresource === "scale" ? names : (place.live ?? { ...names, ...subject.base })
    return versioned(step, place, J.object(MergePatch.mergePatch(live, body)))
  }
  return versioned(step, place, { ...names, ...body, metadata: { ...names.metadata, ...J.object(body.metadata) } })
}

const scale = { apiVersion: "autoscaling/v1", kind: "Scale" }

const versionOf = ({ version }: Step, { first, live }: Place): string | undefined =>
  version === "live" ? J.text(J.at(live, "metadata", "resourceVersion")) : version === "first" ? first : undefined

const versioned = (step: Step, place: Place, body: JsonObject): JsonObject => {
  const resourceVersion = versionOf(step, place)
  const { resourceVersion: _, ...metadata } = J.object(body.metadata)
  if (resourceVersion === undefined && Object.keys(metadata).length === 0) return body
  return { ...body, metadata: { ...metadata, resourceVersion } }
}

const preconditionsOf = (step: Step, place: Place): DraftObject | undefined => {
  const resourceVersion = versionOf(step, place)
  return resourceVersion === undefined ? undefined : { resourceVersion }
}

const managers = FastCheck.constantFrom("ann", "bob", "cem")
const versions = FastCheck.constantFrom<Step["version"]>("live", "first", undefined)
const metadata = FastCheck.oneof(
  { weight: 3, arbitrary: FastCheck.constant({}) },
  { weight: 1, arbitrary: FastCheck.record({ metadata: Subject.metadata }) }
)

const parameters = (...more: ReadonlyArray<Value.Fields>): FastCheck.Arbitrary<Step["query"]> =>
  FastCheck.oneof(
    { weight: 3, arbitrary: FastCheck.constant(undefined) },
    {
      weight: 1,
      arbitrary: Value.some({
        dryRun: Value.mostly(Value.one("All"), "None"),
        fieldValidation: Value.mostly(Value.one("Strict", "Ignore", "Warn"), "Other"),
        ...Object.assign({}, ...more)
      }).map(J.texts)
    }
  )

/** Members and metadata in one object. */
const joined = (members: FastCheck.Arbitrary<JsonObject>) =>
  FastCheck.tuple(members, metadata).map(([members, metadata]): JsonObject => ({ ...members, ...metadata }))

/** The first step: it creates the object. */
export const making = (subject: Subject.Subject): FastCheck.Arbitrary<Step> =>
  FastCheck.record({
    verb: FastCheck.constantFrom<Verb>("create", "apply"),
    by: managers,
    body: joined(subject.members).map((members) => over(subject.base, members))
  })

/** A later step: the object may exist or not. */
export const any = (subject: Subject.Subject): FastCheck.Arbitrary<Step> => {
  const members = joined(subject.members)
  const whole = members.map((body) => over(subject.base, body))
  const patches = Value.patch(members)
  const parts: ReadonlyArray<readonly [weight: number, steps: FastCheck.Arbitrary<Step>]> = [
    [1, steps("create", whole)],
    [3, steps("replace", whole, versions)],
    [4, steps("edit", patches, versions)],
    [4, steps("merge", patches, versions)],
    [4, steps("json", jsonPatch(subject))],
    [6, applies(members)],
    [1, applies(whole)],
    [2, deletion],
    ...optional(subject.strategic, (strategic) => [5, steps("strategic", joined(strategic), versions)] as const),
    ...optional(subject.status, (status) => [4, ofStatus(status, members)] as const),
    ...(subject.scale ? [[3, ofScale()] as const] : [])
  ]
  return FastCheck.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

const optional = <A, B>(value: A | undefined, then: (value: A) => B): ReadonlyArray<B> =>
  value === undefined ? [] : [then(value)]

const steps = (
  verb: Verb,
  body: Value.Values,
  version: FastCheck.Arbitrary<Step["version"]> = FastCheck.constant(undefined)
): FastCheck.Arbitrary<Step> =>
  FastCheck.record({ verb: FastCheck.constant(verb), by: managers, body, version, query: parameters() })

const applies = (body: Value.Values): FastCheck.Arbitrary<Step> =>
  FastCheck.record({
    verb: FastCheck.constant<Verb>("apply"),
    by: managers,
    body,
    query: parameters({ force: Value.mostly(Value.one("true"), "false") }, { force: Value.one("true") })
  })

const ofStatus = (status: FastCheck.Arbitrary<JsonObject>, members: FastCheck.Arbitrary<JsonObject>) => {
  const body = FastCheck.tuple(FastCheck.record({ status }), FastCheck.oneof(members, FastCheck.constant({}))).map(
    ([status, members]): JsonObject => ({ ...members, ...status })
  )
  return FastCheck.oneof(
    steps("edit", body, versions),
    steps("merge", body),
    steps("replace", body),
    applies(body)
  ).map((step): Step => ({ ...step, subresource: "status" }))
}

const ofScale = (): FastCheck.Arbitrary<Step> => {
  const body = Value.some({
    spec: Value.some({ replicas: Value.count }),
    status: Value.some({ replicas: Value.count }),
    metadata: Subject.metadata,
    unknown: Value.text
  })
  return FastCheck.oneof(steps("edit", body, versions), steps("merge", body), applies(body)).map(
    (step): Step => ({ ...step, subresource: "scale" })
  )
}

const deletion: FastCheck.Arbitrary<Step> = FastCheck.record({
  verb: FastCheck.constant<Verb>("delete"),
  body: Value.mostly(
    Value.some({
      propagationPolicy: Value.mostly(Value.one("Foreground", "Background", "Orphan"), "Other"),
      gracePeriodSeconds: Value.one(0, 5, -1),
      orphanDependents: Value.flag,
      dryRun: Value.one(["All"]),
      unknown: Value.text
    }),
    { kind: "Other" }
  ),
  version: versions
})

const jsonPatch = (subject: Subject.Subject): Value.Values => {
  const pointer = Value.mostly(
    Value.one(...subject.pointers, "/metadata/labels", "/metadata/labels/a", "/metadata/annotations/a"),
    "spec",
    "/metadata/name",
    "/kind",
    "/a/b"
  )
  const operation = FastCheck.oneof(
    {
      weight: 4,
      arbitrary: FastCheck.record({ op: Value.one("add", "replace"), path: pointer, value: Value.anything })
    },
    { weight: 2, arbitrary: FastCheck.record({ op: Value.one("remove"), path: pointer }) },
    { weight: 1, arbitrary: FastCheck.record({ op: Value.one("move", "copy"), from: pointer, path: pointer }) },
    { weight: 1, arbitrary: FastCheck.record({ op: Value.one("test"), path: pointer, value: Value.anything }) }
  )
  return FastCheck.array(operation, { minLength: 1, maxLength: 3 })
}

/** `base` with `members`, merged two levels deep. */
const over = (base: JsonObject, members: JsonObject): JsonObject =>
  Object.fromEntries(
    [...new Set([...Object.keys(base), ...Object.keys(members)])].map((name) => [
      name,
      J.isObject(base[name]) && J.isObject(members[name])
        ? { ...base[name], ...members[name] }
        : (members[name] ?? base[name])
    ])
  )
