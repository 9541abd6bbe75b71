/**
 * The form of an answer (`Accept`) and of a body (`Content-Type`), as kube-apiserver negotiates them. Custom kinds have no protobuf.
 *
 * Built-in kinds are behind go-restful in the real server, which refuses earlier and in other words than the negotiation
 * that custom kinds go through.
 */
import * as Failure from "../model/Failure.ts"

/** How a value is written. */
export type Format = "json" | "yaml" | "protobuf"

/** What the client wants to see of objects. */
export type View = "object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"

/** How an answer is to be. */
export interface Accepted {
  readonly format: Format
  readonly view: View
  /** The version of `meta.k8s.io` that the view is written in. */
  readonly version: "v1" | "v1beta1"
  /** Whether with line breaks and indentation. */
  readonly pretty: boolean
}

/** What is asked of. */
export interface Target {
  readonly custom: boolean
  /** Whether the answer is a stream of events. */
  readonly watch?: boolean
  /** Whether it is a GET of a collection, which could be watched as well. */
  readonly collection?: boolean
}

/** One of the types that a client accepts, with its parameters. */
export interface Clause {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

/** The types that a client accepts, the best first. */
export const clausesOf = (accept: string): ReadonlyArray<Clause> =>
  accept.split(",").flatMap(clauseOf).reduce(insert, [])

/** The form of the answer. Throws a Failure (406) where there is none that the client accepts. */
export const accepted = (accept: string | undefined, target: Target): Accepted => {
  if (accept === undefined || accept === "") return json
  if (!target.custom && !passesRouter(accept)) throw routerRefusal(target)
  const clauses = clausesOf(accept)
  for (const clause of clauses) {
    const found = formatsOf(clause.type).flatMap((format) => offer(clause, format, target))[0]
    if (found !== undefined) return found
  }
  if (target.watch !== true) throw Failure.notAcceptable(published(false))
  // A watch negotiates its objects first, and then the stream of its events.
  accepted(accept, { ...target, watch: false })
  throw Failure.notAcceptable(published(true))
}

/** The form of a Status: the first that the client accepts as a whole object, else JSON. */
export const refusedAs = (accept: string | undefined): Accepted => {
  if (accept === undefined || accept === "") return json
  return (
    clausesOf(accept).flatMap((clause) =>
      formatsOf(clause.type).flatMap((format) =>
        offer(clause, format, { custom: false }).filter(({ view }) => view === "object")
      )
    )[0] ?? json
  )
}

/** The form of a body. Throws a Failure (415) for one that cannot be read. */
export const bodyFormat = (contentType: string | undefined, custom: boolean): Format => {
  const type = contentType === undefined || contentType === "" ? "application/json" : mediaType(contentType)
  if (type === "application/json") return "json"
  if (type === "application/yaml") return "yaml"
  if (type === protobuf && !custom) return "protobuf"
  throw Failure.unsupportedMediaType(published(false))
}

/** How a body changes an object. */
export type PatchType = "json" | "merge" | "strategic" | "apply"

/** How the body of a PATCH changes the object. Throws a Failure (415) for a type that the kind does not know. */
export const patchType = (contentType: string | undefined, custom: boolean): PatchType => {
  const type = (contentType ?? "").replace(/^([^;]+);.*$/s, "$1")
  const known = patchTypes.find(([name, patch]) => name === type && !(custom && patch === "strategic"))
  if (known !== undefined) return known[1]
  if (custom) {
    throw Failure.unsupportedMediaType(patchTypes.flatMap(([name, patch]) => (patch === "strategic" ? [] : [name])))
  }
  throw new Failure.Failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: "415: Unsupported Media Type",
    details: {}
  })
}

/** The `Content-Type` of an answer. */
export const contentType = (format: Format): string => (format === "protobuf" ? protobuf : `application/${format}`)

/** The `Content-Type` of a watch. */
export const streamType = (format: Format): string =>
  format === "protobuf" ? `${protobuf};stream=watch` : "application/json"

const protobuf = "application/vnd.kubernetes.protobuf"

const spoken = ["application/json", "application/yaml"]

const patchTypes: ReadonlyArray<readonly [name: string, patch: PatchType]> = [
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"]
]

const json: Accepted = { format: "json", view: "object", version: "v1", pretty: false }

const published = (watch: boolean): ReadonlyArray<string> =>
  watch ? ["application/json;stream=watch", `${protobuf};stream=watch`] : [...spoken, protobuf]

const clauseOf = (text: string): ReadonlyArray<Clause> => {
  const [range = "", ...parameters] = text.split(";")
  const parts = range.split("/").map((part) => part.trim())
  const [type = "", subtype = type === "*" ? "*" : ""] = parts
  if (parts.length > 2 || subtype === "") return []
  const read = new Map<string, string>()
  for (const parameter of parameters) {
    const [name = "", value = "", ...more] = parameter.split("=")
    if (value !== "" && more.length === 0) read.set(name.trim(), value.trim())
  }
  const quality = read.get("q")
  read.delete("q")
  return [{ type: `${type}/${subtype}`, parameters: read, quality: quality === undefined ? 1 : Number(quality) || 0 }]
}

/** Moves a clause ahead of those that it goes before. That is no order: a type goes before a wildcard of any quality. */
const insert = (sorted: ReadonlyArray<Clause>, clause: Clause): ReadonlyArray<Clause> => {
  const before = sorted.findLastIndex((other) => !precedes(clause, other)) + 1
  return sorted.toSpliced(before, 0, clause)
}

const precedes = (one: Clause, other: Clause): boolean =>
  one.quality > other.quality ||
  (!one.type.startsWith("*/") && other.type.startsWith("*/")) ||
  (!one.type.endsWith("/*") && other.type.endsWith("/*"))

const formatsOf = (type: string): ReadonlyArray<Format> => {
  switch (type) {
    case "application/json":
      return ["json"]
    case "application/yaml":
      return ["yaml"]
    case "application/*":
    case "*/*":
      return ["json", "yaml", "protobuf"]
    case protobuf:
      return ["protobuf"]
    default:
      return []
  }
}

/** The answer that a clause asks for, if it can be given. */
const offer = ({ parameters }: Clause, format: Format, target: Target): ReadonlyArray<Accepted> => {
  if (target.watch === true && format === "yaml") return []
  const stream = parameters.get("stream") ?? ""
  if (stream !== "" && (stream !== "watch" || format === "yaml")) return []
  const served = parameters.get("sv") ?? ""
  if (served !== "" && served !== "v1") return []
  const pretty = parameters.get("pretty") === "1"
  const [as, group, version] = [parameters.get("as"), parameters.get("g"), parameters.get("v")]
  if (as === undefined && group === undefined && version === undefined) {
    return target.custom && format === "protobuf" ? [] : [{ ...json, format, pretty }]
  }
  if (group !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return []
  if (as !== "Table" && as !== "PartialObjectMetadata" && as !== "PartialObjectMetadataList") return []
  if (as === "Table" && format === "protobuf") return []
  return [{ format, view: as, version, pretty }]
}

const passesRouter = (accept: string): boolean =>
  accept.split(",").some((part) => {
    const type = part.replace(/;.*$/s, "").trim()
    return type === "*/*" || type === protobuf || spoken.includes(type)
  })

const routerRefusal = ({ collection, watch }: Target): Failure.Failure => {
  const representations = [...published(false), ...(collection === true || watch === true ? published(true) : [])]
  return new Failure.Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${representations.join(", ")}`,
    details: {}
  })
}

/** The type without its parameters; undefined where it is written wrongly. */
const mediaType = (contentType: string): string | undefined =>
  /^\s*([^;\s]+)\s*(?:;\s*[^=;\s]+=(?:"[^"]*"|[^;\s"]+)\s*)*;?\s*$/.exec(contentType)?.[1]?.toLowerCase()
