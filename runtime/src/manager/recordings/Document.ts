/** A recording as JSON, without secrets: what `/recordings?trace=ID` answers, and what a file contains. */
import * as Effect from "effect/Effect"
import type { ApiError } from "../../client/ApiError.ts"
import type { CachedRead } from "../../client/CachedReads.ts"
import type { Order } from "../../client/Exchange.ts"
import type { Entries } from "../../controller/Memory.ts"
import type { KubernetesObject } from "../../resource/KubernetesObject.ts"
import * as Resource from "../../resource/Resource.ts"
import * as Text from "../../resource/Text.ts"
import { isSecretPath, jsonOf } from "../../telemetry/SecretValues.ts"
import type { Ending, Recorded, RecordedRequest } from "./Recorded.ts"
import * as Record from "./Recorded.ts"
import * as Redaction from "./Redaction.ts"

/** A read of the cache. Objects are numbers: indexes in `objects` of the document. */
export interface ReadDocument {
  readonly verb: CachedRead["verb"]
  /** The kind in its version, such as `deployments.apps/v1`. */
  readonly resource: string
  /** The key of the object; absent for a list. */
  readonly key?: string | undefined
  /** The filter of a list; absent for all objects. */
  readonly filter?: unknown
  /** The UID of the owner, for the objects of an owner. */
  readonly owner?: string | undefined
  /** Absent if the cache had no such object. */
  readonly found?: number | ReadonlyArray<number> | undefined
}

/** A request without a response: the error of the client. */
export interface ErrorDocument {
  readonly tag: string
  readonly message: string
  readonly code: string
  readonly reason: string
  readonly outcome?: "unsent" | "unknown" | undefined
}

/** A request and its response. Bodies are JSON, or text. */
export interface RequestDocument {
  readonly method: string
  readonly path: string
  readonly contentType?: string | undefined
  readonly body?: unknown
  readonly startedAt: string
  readonly millis: number
  /** Absent without a response. `status` is that of the response after all retries. */
  readonly response?:
    | { readonly status: number; readonly headers: { readonly [name: string]: string }; readonly body: unknown }
    | undefined
  readonly error?: ErrorDocument | undefined
  /** True if the response was too large to keep. Without it, a request without a response was interrupted. */
  readonly cut?: boolean | undefined
  /** The number of requests that had ended when it began, and when it had ended. Two requests may be concurrent. */
  readonly order?: Order | undefined
}

/** A recording. Times are RFC 3339 with milliseconds. */
export interface Document {
  readonly kind: "Recording"
  readonly version: 1
  /** The program that recorded it, as its User-Agent. */
  readonly program?: string | undefined
  readonly server: string
  readonly reconcileID: string
  readonly trace: string
  readonly controller: string
  readonly object: { readonly kind: string; readonly key: string }
  /** 1 for the first attempt after a success. */
  readonly attempt: number
  readonly startedAt: string
  readonly finishedAt: string
  readonly ending: Ending
  /** The number of replaced secrets. */
  readonly redacted: number
  /** The reads and requests that the manager did not keep, because there were too many. */
  readonly omitted: { readonly reads: number; readonly requests: number }
  readonly memory: {
    readonly accepted?: { readonly [slot: string]: string } | undefined
    readonly report?: { readonly message: string; readonly at: number } | undefined
    readonly clean: boolean
    readonly bereft: boolean
    readonly dropped: ReadonlyArray<string>
    /** The optional kinds that the API server did not serve; absent if there were none. */
    readonly unserved?: ReadonlyArray<string> | undefined
    /** The fight with another manager; absent without one. */
    readonly fight?: { readonly note: string; readonly until: number } | undefined
  }
  /** The index of the reconciled object in `objects`. */
  readonly start: number
  readonly objects: ReadonlyArray<KubernetesObject>
  readonly reads: ReadonlyArray<ReadDocument>
  readonly requests: ReadonlyArray<RequestDocument>
}

/** The headers of a response that clients use. */
const keptHeaders = ["content-type", "date", "retry-after"]

const iso = (millis: number): string => new Date(millis).toISOString()

const isSecretKind = ({ group, kind }: Pick<Resource.Any, "group" | "kind">): boolean =>
  group === "" && kind === "Secret"

const isList = (found: KubernetesObject | ReadonlyArray<KubernetesObject>): found is ReadonlyArray<KubernetesObject> =>
  Array.isArray(found)

/** The objects of a recording, each once, and whether it is a Secret. */
const objectsOf = ({ object, reads }: Recorded): Map<KubernetesObject, boolean> => {
  const objects = new Map([[object, object.kind === "Secret"]])
  for (const { found, resource } of reads.kept) {
    if (found === undefined) continue
    for (const each of isList(found) ? found : [found]) objects.set(each, isSecretKind(resource))
  }
  return objects
}

/** The error of a request that got no response. Others are responses. */
const errorOf = (error: ApiError, hide: (text: string) => string): ErrorDocument | undefined =>
  "outcome" in error || error._tag === "Fenced"
    ? {
        tag: error._tag,
        message: hide(error.message),
        code: error.code,
        reason: hide(error.reason),
        ...("outcome" in error && { outcome: error.outcome })
      }
    : undefined

/** The response that leads to an error again. */
const refusalOf = (error: ApiError, request: RecordedRequest["request"]): RequestDocument["response"] => {
  if (!("details" in error)) return undefined
  const [path = ""] = request.path.split("?", 1)
  const prefix = `${request.method} ${path}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  const { causes, code, details, reason, retryAfterMillis } = error
  const headers: { readonly [name: string]: string } =
    retryAfterMillis === undefined ? {} : { "retry-after": String(Math.round(retryAfterMillis / 1000)) }
  // The API server does not serve the path: clients know that from a body that is not a Status.
  const body =
    reason === ""
      ? message.replace(/ \(the API server does not serve this path: .*\)$/, "")
      : { kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code, details: { ...details, causes } }
  return { status: code, headers, body }
}

const requestDocument = Effect.fnUntraced(function* (
  { error, isCut, millis, order, request, response, startedAt }: RecordedRequest,
  redaction: Redaction.Redaction
): Effect.fn.Return<RequestDocument> {
  const isSecret = isSecretPath(request.path)
  const { body, headers, method, path } = request
  const answer =
    response !== undefined
      ? {
          status: response.status,
          headers: Object.fromEntries(
            keptHeaders.flatMap((name) => {
              const value = response.headers.get(name)
              return value === null ? [] : [[name, value]]
            })
          ),
          body: jsonOf(response.body)
        }
      : error === undefined
        ? undefined
        : refusalOf(error, request)
  const failed = error === undefined ? undefined : errorOf(error, redaction.text)
  const type = headers["content-type"]
  return {
    method,
    path,
    ...(type !== undefined && { contentType: type }),
    ...(body !== undefined && { body: yield* redaction.hideInSteps(jsonOf(body), isSecret) }),
    startedAt: iso(startedAt),
    millis: Math.round(millis * 1000) / 1000,
    ...(answer !== undefined && { response: { ...answer, body: yield* redaction.hideInSteps(answer.body, isSecret) } }),
    ...(failed !== undefined && { error: failed }),
    ...(isCut && { cut: true }),
    ...(order !== undefined && { order })
  }
})

/** The filter of a list. The value of an index may come from a Secret. */
const filterDocument = (filter: string | object, text: (text: string) => string): unknown => {
  const index: unknown = typeof filter === "object" ? Reflect.get(filter, "index") : undefined
  if (typeof index !== "object" || index === null) return filter
  const value: unknown = Reflect.get(index, "value")
  return typeof value === "string" ? { ...Object(filter), index: { ...index, value: text(value) } } : filter
}

const readDocument = (
  { found, of, resource, verb }: CachedRead,
  indexes: ReadonlyMap<KubernetesObject, number>,
  { text }: Redaction.Redaction
): ReadDocument => {
  const indexOf = (object: KubernetesObject): number => indexes.get(object) ?? -1
  return {
    verb,
    resource: Resource.identityOf(resource),
    ...(verb === "get" && typeof of === "string" && { key: of }),
    ...(verb === "list" && of !== undefined && { filter: filterDocument(of, text) }),
    ...(verb === "byOwner" && { owner: ownerOf(of) }),
    ...(found !== undefined && { found: isList(found) ? found.map(indexOf) : indexOf(found) })
  }
}

const ownerOf = (owner: CachedRead["of"]): string => {
  const metadata: unknown = typeof owner === "object" ? Reflect.get(owner, "metadata") : undefined
  const uid: unknown = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "uid") : undefined
  return typeof uid === "string" ? uid : ""
}

const memoryDocument = (
  { accepted, dropped, fight, isBereft, isClean, report, unserved }: Entries,
  { text }: Redaction.Redaction
): Document["memory"] => ({
  ...(accepted !== undefined && {
    accepted: Object.fromEntries(Array.from(accepted, ([slot, hash]) => [slot, hash.toString()]))
  }),
  ...(report !== undefined && {
    report: { message: text(report.message), at: Number.isFinite(report.at) ? report.at : 0 }
  }),
  clean: isClean,
  bereft: isBereft,
  dropped: Array.from(dropped, (hash) => hash.toString()),
  ...(unserved.size > 0 && { unserved: [...unserved] }),
  ...(fight !== undefined && { fight: { ...fight, note: text(fight.note) } })
})

/** The memory of a document. */
export const entriesOf = ({ memory }: Document): Entries => ({
  accepted:
    memory.accepted === undefined
      ? undefined
      : new Map(Object.entries(memory.accepted).map(([slot, hash]) => [slot, BigInt(hash)])),
  report: memory.report,
  isClean: memory.clean,
  isBereft: memory.bereft,
  dropped: new Set(memory.dropped.map(BigInt)),
  unserved: new Set(memory.unserved),
  fight: memory.fight
})

/** The redaction that knows the secrets of a recording. */
const redactionOf = Effect.fnUntraced(function* (
  { requests }: Pick<Recorded, "requests">,
  objects: ReadonlyMap<KubernetesObject, boolean>
) {
  const redaction = Redaction.make()
  for (const [object, isSecret] of objects) {
    yield* Effect.yieldNow
    redaction.learn(object, isSecret)
  }
  for (const { request, response } of requests) {
    const isSecret = isSecretPath(request.path)
    for (const [body, keys] of [[request.body], [response?.body, request.secretKeys]] as const) {
      yield* Effect.yieldNow
      redaction.learn(jsonOf(body), isSecret, keys)
    }
    // The recording shows the path. A field such as `secret` may have the same name.
    for (const part of request.path.split(/[/?]/)) redaction.spare(part)
  }
  return redaction
})

const shownEnding = ({ ending }: Recorded, { text }: Redaction.Redaction): Ending =>
  ending.message === undefined ? ending : { ...ending, message: Text.clip(text(ending.message), Record.longest) }

/** The ending of a recording, without secrets. */
export const endingOf = (recorded: Recorded): Effect.Effect<Ending> =>
  recorded.ending.message === undefined
    ? Effect.succeed(recorded.ending)
    : Effect.map(redactionOf(recorded, objectsOf(recorded)), (redaction) => shownEnding(recorded, redaction))

/** The document of a recording, without secrets. Other fibers run in between. */
export const of = Effect.fnUntraced(function* (
  recorded: Recorded,
  server: string,
  program?: string | undefined
): Effect.fn.Return<Document> {
  const objects = objectsOf(recorded)
  const redaction = yield* redactionOf(recorded, objects)
  const indexes = new Map([...objects.keys()].map((object, index) => [object, index]))
  const { reads, requests } = recorded
  // A copy of an object is an object.
  const shown = yield* Effect.forEach(
    objects,
    ([object, isSecret]) => redaction.hideInSteps(object, isSecret) as Effect.Effect<KubernetesObject>
  )
  const readOnes = reads.kept.map((read) => readDocument(read, indexes, redaction))
  const exchanged = yield* Effect.forEach(requests, (each) => requestDocument(each, redaction))
  const memory = memoryDocument(recorded.memory, redaction)
  const ending = shownEnding(recorded, redaction)
  return {
    kind: "Recording",
    version: 1,
    ...(program !== undefined && { program }),
    server,
    reconcileID: recorded.id,
    trace: recorded.trace,
    controller: recorded.controller,
    object: { kind: recorded.kind, key: recorded.key },
    attempt: recorded.number,
    startedAt: iso(recorded.startedAt),
    finishedAt: iso(recorded.finishedAt),
    ending,
    redacted: redaction.count(),
    omitted: { reads: reads.count - reads.kept.length, requests: recorded.moreRequests },
    memory,
    start: indexes.get(recorded.object) ?? 0,
    objects: shown,
    reads: readOnes,
    requests: exchanged
  }
})

type Members = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const areTexts = (value: unknown, ...names: ReadonlyArray<string>): boolean =>
  isMembers(value) && names.every((name) => typeof value[name] === "string")

const isTime = (value: unknown): boolean => typeof value === "string" && !Number.isNaN(Date.parse(value))

const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem)

/** A hash has 64 bits. More digits would cost time that grows with their square. */
const isHash = (value: unknown): boolean => typeof value === "string" && /^\d{1,20}$/.test(value)

/** A count, or the index of an object. */
const isIndex = (value: unknown): boolean => typeof value === "number" && Number.isInteger(value)

const isResponse = (value: unknown): boolean =>
  isMembers(value) && Number.isInteger(value.status) && isMembers(value.headers)

const isOrder = (value: unknown): boolean =>
  isMembers(value) && Number.isInteger(value.began) && Number.isInteger(value.ended)

const isRequest = (value: unknown): boolean =>
  isMembers(value) &&
  areTexts(value, "method", "path") &&
  isTime(value.startedAt) &&
  typeof value.millis === "number" &&
  (value.order === undefined || isOrder(value.order)) &&
  (value.response === undefined || isResponse(value.response)) &&
  (value.error === undefined || areTexts(value.error, "tag", "message", "code", "reason"))

const isMemory = (value: unknown): boolean =>
  isMembers(value) &&
  isListOf(value.dropped, isHash) &&
  (value.unserved === undefined || isListOf(value.unserved, (each) => typeof each === "string")) &&
  (value.fight === undefined ||
    (isMembers(value.fight) && areTexts(value.fight, "note") && typeof value.fight.until === "number")) &&
  (value.accepted === undefined || (isMembers(value.accepted) && Object.values(value.accepted).every(isHash)))

const isRead = (value: unknown): boolean =>
  isMembers(value) &&
  areTexts(value, "verb", "resource") &&
  (value.found === undefined || isIndex(value.found) || isListOf(value.found, isIndex))

/** The check of each part. */
const parts: ReadonlyArray<readonly [name: string, isValid: (value: unknown) => boolean]> = [
  ...["controller", "reconcileID", "trace", "server"].map(
    (name) => [name, (value: unknown) => typeof value === "string"] as const
  ),
  ["startedAt", isTime],
  ["finishedAt", isTime],
  ["object", (value) => areTexts(value, "kind", "key")],
  ["ending", (value) => areTexts(value, "outcome")],
  ["memory", isMemory],
  ["omitted", (value) => isMembers(value) && isIndex(value.reads) && isIndex(value.requests)],
  ["redacted", isIndex],
  ["start", isIndex],
  ["objects", (value) => isListOf(value, (each) => isMembers(each) && areTexts(each.metadata, "name"))],
  ["reads", (value) => isListOf(value, isRead)],
  ["requests", (value) => isListOf(value, isRequest)]
]

/** The document in a text; otherwise why it is invalid. */
export const parse = (text: string): Document | string => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return "it is not JSON"
  }
  if (typeof value !== "object" || value === null || Reflect.get(value, "kind") !== "Recording") {
    return 'its kind is not "Recording"'
  }
  const version: unknown = Reflect.get(value, "version")
  if (version !== 1)
    return `its version is ${Text.clip(JSON.stringify(version) ?? "absent", 20)} (this program reads 1)`
  // The members of the objects and the bodies are not checked: the program that recorded them is of this version.
  const invalid = parts.find(([name, isValid]) => !isValid(Reflect.get(value, name)))
  return invalid === undefined ? (value as Document) : `its part ${JSON.stringify(invalid[0])} is absent or invalid`
}
