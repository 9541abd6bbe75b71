/**
 * The state of a cluster without the parts that differ between two equal runs. These are uids, times, resourceVersions, addresses,
 * generated names, and the order of lists that are sets.
 */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import * as Foreign from "./Foreign.ts"

/** The objects of a picture by `kind namespace/name`, as canonical JSON. */
export type Picture = ReadonlyMap<string, string>

/** A difference of two pictures. */
export interface Difference {
  /** For example `Deployment default/shop`. */
  readonly object: string
  /** The path of the field; empty for a whole object. */
  readonly path: string
  /** The values as JSON; undefined if the field is absent. */
  readonly expected: string | undefined
  readonly actual: string | undefined
}

/** The part of a state that a picture shows. */
export interface View {
  /** The state before the story. Its objects are not part of the picture. */
  readonly base: Store.Saved
  /** The storages of the kinds that the program writes. */
  readonly storages: ReadonlySet<string>
  /** The storages of the reconciled kinds. Their specs belong to users. */
  readonly roots: ReadonlySet<string>
  /** Whether the picture includes the fields that depend on the order of the writes: field managers and hashes. Default: false. */
  readonly strict?: boolean | undefined
}

/** The fields that differ between equal runs, by the part of an object that contains them. */
const volatile: { readonly [part: string]: ReadonlySet<string> } = {
  metadata: new Set([
    "uid",
    "time",
    "resourceVersion",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    Foreign.annotation,
    "deployment.kubernetes.io/revision"
  ]),
  status: new Set(["podIP", "podIPs", "hostIP", "hostIPs", "containerID", "addresses"])
}

/** The fields of a Service with addresses. */
const ofServices = new Set(["clusterIP", "clusterIPs", "nodePort"])

/** The metadata that depends on the course of the writes, not on their result. */
const lax = new Set(["managedFields", "homeostat.dev/intent"])

/** Matches times: RFC 3339, and seconds or milliseconds since 1970 in this decade. */
const moment = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|(?<!\d)1[789]\d{8}(\d{3})?(?!\d)/g
/** Matches hashes of uids in names and labels. */
const hash = /(?<![0-9a-z])[0-9a-f]{8}(?![0-9a-z])/g
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

interface Names {
  /** The generated names, and the placeholder of each. */
  readonly generated: ReadonlyMap<string, string>
  readonly pattern: RegExp | undefined
  /** Texts in the specs of users that look like times or hashes. */
  readonly literal: ReadonlySet<string>
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

const namesOf = (objects: ReadonlyArray<Json.JsonObject>, roots: ReadonlyArray<Json.JsonObject>): Names => {
  const generated = new Map<string, string>()
  for (const { metadata } of objects) {
    const { generateName, name } = Json.texts(metadata)
    if (generateName !== undefined && name !== undefined) generated.set(name, `${generateName}*`)
  }
  const pattern = generated.size === 0 ? undefined : new RegExp([...generated.keys()].map(escaped).join("|"), "g")
  const literal = new Set(
    roots.flatMap(({ spec = null }) => {
      const text = JSON.stringify(spec)
      return [...(text.match(moment) ?? []), ...(text.match(hash) ?? [])]
    })
  )
  return { generated, pattern, literal }
}

const textOf = (text: string, { generated, literal, pattern }: Names): string => {
  const plain = text.replace(uuid, "<uid>")
  const named = pattern === undefined ? plain : plain.replace(pattern, (name) => generated.get(name) ?? name)
  const masked = (mask: string) => (found: string) => (literal.has(found) ? found : mask)
  return named.replace(moment, masked("<time>")).replace(hash, masked("<hash>"))
}

/** Whether the order of a list has no meaning: conditions, owner references, finalizers. */
const isSet = (name: string, items: ReadonlyArray<Json.Json>): boolean =>
  name === "finalizers" ||
  name === "ownerReferences" ||
  (items.length > 1 && items.every((item) => Json.text(Json.at(item, "type")) !== undefined))

interface Course {
  readonly names: Names
  readonly generation: Json.Json | undefined
  readonly without: (member: string, part: string) => boolean
}

/** @param part the member of the object that the value is in */
const normal = (value: Json.Json, name: string, course: Course, part = ""): Json.Json => {
  if (typeof value === "string") return textOf(value, course.names)
  if (Json.isList(value)) {
    const items = value.filter((item) => !Foreign.isMark(item)).map((item) => normal(item, "", course, part))
    return isSet(name, items)
      ? items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
      : items
  }
  if (!Json.isObject(value)) return value
  const members: Array<readonly [string, Json.Json]> = []
  for (const member of Object.keys(value).sort()) {
    const inner = value[member]
    if (inner === undefined || course.without(member, part)) continue
    // The API server shows this default of a status also if the stored object lacks it.
    if (member === "observedGeneration" && inner === -1) continue
    // The picture shows whether the status has observed the newest spec, but not the generation.
    const isNewest = member === "observedGeneration" && inner === course.generation
    const made = isNewest ? "newest" : normal(inner, member, course, part === "" ? member : part)
    const isEmpty = Json.isList(made)
      ? ["conditions", "finalizers"].includes(member) && made.length === 0
      : ["annotations", "labels", "status"].includes(member) && Json.isObject(made) && Json.isEmpty(made)
    if (!isEmpty) members.push([member, made])
  }
  return Object.fromEntries(members)
}

/** Returns the objects of a saved state that are not in the base, or differ from it. */
const changed = (saved: Store.Saved, { base, storages }: View): ReadonlyArray<Json.JsonObject> =>
  Object.entries(saved.storages).flatMap(([storage, objects]) => {
    if (!storages.has(storage)) return []
    const known = new Set(base.storages[storage])
    return objects.filter((object) => !known.has(object))
  })

/** The text of an object of the base that no longer exists. */
const gone = JSON.stringify("deleted")

/** Returns the objects of the base that no longer exist. */
const goneOf = (saved: Store.Saved, { base, storages }: View) =>
  [...storages].flatMap((storage) => {
    const left = new Set((saved.storages[storage] ?? []).map(keyOf))
    return (base.storages[storage] ?? [])
      .map(keyOf)
      .filter((key) => !left.has(key))
      .map((key) => [key, gone] as const)
  })

/** Returns the kind and the name of an object: `ConfigMap default/shop`. */
const keyOf = ({ kind, metadata }: Json.JsonObject): string => {
  const { name = "", namespace } = Json.texts(metadata)
  return `${Json.text(kind)} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

/** Returns the picture of a saved state. */
export const of = (saved: Store.Saved, view: View): Picture => {
  const objects = changed(saved, view)
  const roots = [...view.roots].flatMap((storage) => saved.storages[storage] ?? [])
  const names = namesOf(objects, roots)
  const withoutOf =
    (kind: Json.Json | undefined): Course["without"] =>
    (member, part) =>
      volatile[part]?.has(member) === true ||
      (part === "metadata" && view.strict !== true && lax.has(member)) ||
      (part === "spec" && kind === "Service" && ofServices.has(member))
  const texts = objects.map((object) => {
    const metadata = Json.object(object.metadata)
    const name = textOf(Json.text(metadata.name) ?? "", names)
    const namespace = Json.text(metadata.namespace)
    const key = `${Json.text(object.kind)} ${namespace === undefined ? name : `${namespace}/${name}`}`
    return [
      key,
      JSON.stringify(normal(object, "", { names, without: withoutOf(object.kind), generation: metadata.generation }))
    ] as const
  })
  const picture = new Map<string, string>()
  for (const [key, text] of [...texts, ...goneOf(saved, view)].sort(([, one], [, other]) => (one < other ? -1 : 1))) {
    let free = key
    for (let number = 2; picture.has(free); number++) free = `${key} (${number})`
    picture.set(free, text)
  }
  return picture
}

const fieldsOf = (text: string | undefined): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  const visit = (value: Json.Json | undefined, path: string): void => {
    if (Json.isList(value) && value.length > 0) {
      for (const [index, item] of value.entries()) {
        const { name, type } = Json.texts(item)
        visit(item, `${path}[${type ?? name ?? index}]`)
      }
    } else if (Json.isObject(value) && !Json.isEmpty(value)) {
      for (const name of Object.keys(value)) visit(value[name], path === "" ? name : `${path}.${name}`)
    } else if (value !== undefined) fields.set(path, JSON.stringify(value))
  }
  visit(text === undefined ? undefined : JSON.parse(text), "")
  return fields
}

const presence = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : text === gone ? "deleted" : "present"

/** Returns the paths of the fields that differ between two objects. */
export const pathsOf = (one: Json.JsonObject, other: Json.JsonObject): ReadonlyArray<string> => {
  const [before, after] = [fieldsOf(JSON.stringify(one)), fieldsOf(JSON.stringify(other))]
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path))
}

/** Returns the differences without the ignored fields. */
export const differences = (
  expected: Picture,
  actual: Picture,
  ignore: ReadonlyArray<string> = []
): ReadonlyArray<Difference> => {
  const found: Array<Difference> = []
  for (const object of new Set([...expected.keys(), ...actual.keys()])) {
    const [one, other] = [expected.get(object), actual.get(object)]
    if (one === other) continue
    if (ignore.some((field) => object.startsWith(`${field} `))) continue
    if (one === undefined || other === undefined) {
      found.push({ object, path: "", expected: presence(one), actual: presence(other) })
      continue
    }
    const [before, after] = [fieldsOf(one), fieldsOf(other)]
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(path) === after.get(path)) continue
      const kind = object.split(" ", 1)[0] ?? ""
      if (ignore.some((field) => `${kind}: ${path}`.startsWith(field))) continue
      found.push({ object, path, expected: before.get(path), actual: after.get(path) })
    }
  }
  return found
}

/** Returns the keys of the objects that differ: `default/shop`. */
export const objectsOf = (differences: ReadonlyArray<Difference>): ReadonlyArray<string> => [
  ...new Set(differences.map(({ object }) => object.split(" ", 2)[1] ?? ""))
]

/** The maximum number of differences in a text. */
const mostDifferences = 5

/** Returns the first differences as text, a line each. */
export const show = (differences: ReadonlyArray<Difference>): string =>
  differences
    .slice(0, mostDifferences)
    .map(
      ({ actual, expected, object, path }) =>
        `${object} ${path}: ${actual ?? "absent"} instead of ${expected ?? "absent"}`
    )
    .join("\n")
