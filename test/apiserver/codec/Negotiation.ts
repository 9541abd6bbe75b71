/**
 * Negotiates the format of a response (`Accept`) and of a body (`Content-Type`) as kube-apiserver does. Custom kinds do not
 * support protobuf.
 *
 * kube-apiserver serves built-in kinds through go-restful. Its router rejects a request earlier, and with other messages, than
 * the negotiation of custom kinds.
 */
import * as Failure from "../model/Failure.ts"

/** The encoding of a response or a body. */
export type Format = "json" | "yaml" | "protobuf"

/** The representation of objects that the client requests. */
export type View = "object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"

/** The negotiated response. */
export interface Accepted {
  readonly format: Format
  readonly view: View
  /** The version of `meta.k8s.io` of the view. */
  readonly version: "v1" | "v1beta1"
  /** True for line breaks and indentation. */
  readonly pretty: boolean
}

/** The endpoint of the request. */
export interface Target {
  readonly custom: boolean
  /** True if the response is a stream of events. */
  readonly watch?: boolean
  /** True for a GET of a collection, which also supports a watch. */
  readonly collection?: boolean
}

/** A media type that the client accepts, with its parameters. */
export interface Clause {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

/** Parses an `Accept` header into media types, the preferred ones first. */
export const clausesOf = (accept: string): ReadonlyArray<Clause> =>
  accept.split(",").flatMap(clauseOf).reduce(insert, [])

/** Negotiates the response. Throws a Failure (406) if the server does not support any of the media types. */
export const accepted = (accept: string | undefined, target: Target): Accepted => {
  if (accept === undefined || accept === "") return json
  if (!target.custom && !passesRouter(accept)) throw routerRefusal(target)
  const clauses = clausesOf(accept)
  for (const clause of clauses) {
    const found = formatsOf(clause.type).flatMap((format) => offer(clause, format, target))[0]
    if (found !== undefined) return found
  }
  if (target.watch !== true) throw Failure.notAcceptable(published(false))
  // A watch first negotiates its objects, and then the stream of its events.
  accepted(accept, { ...target, watch: false })
  throw Failure.notAcceptable(published(true))
}

/** Negotiates the response of a Status: the first media type that the client accepts for a whole object, otherwise JSON. */
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

/** Returns the format of a body. Throws a Failure (415) if the media type is not supported. */
export const bodyFormat = (contentType: string | undefined, custom: boolean): Format => {
  const type = contentType === undefined || contentType === "" ? "application/json" : mediaType(contentType)
  if (type === "application/json") return "json"
  if (type === "application/yaml") return "yaml"
  if (type === protobuf && !custom) return "protobuf"
  throw Failure.unsupportedMediaType(published(false))
}

/** The type of a patch. */
export type PatchType = "json" | "merge" | "strategic" | "apply"

/** Returns the type of a patch. Throws a Failure (415) if the kind does not support the media type. */
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

/** Returns the `Content-Type` of a response. */
export const contentType = (format: Format): string => (format === "protobuf" ? protobuf : `application/${format}`)

/** Returns the `Content-Type` of a watch. */
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

/** Inserts a clause before those that it precedes. This is not a total order: a type precedes a wildcard of any quality. */
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

/** Returns the response that a clause requests, or an empty list if the server does not support it. */
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

/** Returns the media type without its parameters; undefined if it is malformed. */
const mediaType = (contentType: string): string | undefined =>
  /^\s*([^;\s]+)\s*(?:;\s*[^=;\s]+=(?:"[^"]*"|[^;\s"]+)\s*)*;?\s*$/.exec(contentType)?.[1]?.toLowerCase()
