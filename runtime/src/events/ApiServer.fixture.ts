/**
 * For the tests of events, controllers and managers: an API server in memory, under the real Client. It knows any kind, and
 * of each what controllers use: get, list, watch, create, the patches, apply, delete with finalizers, the status
 * subresource, resourceVersions and generations. A test can change objects as somebody else, look at every request, and
 * make requests fail, wait, or be lost.
 *
 * What it does not know: validation, defaults (a test gives them by `stores`), garbage collection, namespaces that must exist.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Disconnect from "../client/Disconnect.ts"
import { infoOf, type Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import { type KubernetesObject, keyString, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Json from "./Json.fixture.ts"

/** A request as a test looks at it. `what` reads like `PATCH /apis/apps/v1/namespaces/a/deployments/b`; watches are `WATCH …`. */
export interface Seen {
  readonly what: string
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  readonly body: Json.Json | undefined
}

/** Instead of an answer: a status code, or the code of a lost connection such as `ECONNREFUSED`. */
export type Fault = number | string

/** An object to be put: what is left out is filled in. */
export type Put = Json.Fields & { readonly metadata: Json.Fields & { readonly name: string } }

/** The server, and what a test does to it. */
export interface ApiServer {
  readonly transport: Layer.Layer<Transport.Transport>
  /** Every request so far, and those that would change something. */
  readonly requests: ReadonlyArray<Seen>
  readonly writes: () => ReadonlyArray<Seen>
  /** How many watches are open. */
  readonly watches: () => number
  /** What is stored. */
  readonly get: (kind: Resource.Any, name: string) => Json.Fields | undefined
  readonly list: (kind: Resource.Any) => ReadonlyArray<Json.Fields>
  /** Somebody else creates an object, merges a patch into it, or deletes it. The namespace is `default` unless it says. */
  readonly put: (kind: Resource.Any, object: Put) => void
  readonly change: (kind: Resource.Any, name: string, patch: Json.Fields, manager?: string) => void
  readonly remove: (kind: Resource.Any, name: string) => void
  /** The next `times` requests whose `what` matches fail so; all of them, until told otherwise, if that is left out. */
  readonly fail: (what: RegExp, fault: Fault, times?: number) => { readonly mend: () => void }
  /**
   * Requests whose `what` matches wait, before anything is done or, with `answer`, after it: until they are released, or for
   * ever if they are lost. Later ones do not wait in either case.
   */
  readonly hold: (
    what: RegExp,
    part?: "request" | "answer"
  ) => { readonly release: () => void; readonly lose: () => void }
  /** Makes of every object that is written what is stored: what this version of the server knows, defaults, spelling. */
  stores: (object: Json.Fields) => Json.Fields
}

interface Watcher {
  readonly collection: string
  readonly namespace: string | undefined
  readonly labels: ReadonlyArray<readonly [string, string]>
  readonly queue: Queue.Queue<Uint8Array>
  readonly project: (object: Json.Fields) => Json.Fields
}

interface Target {
  readonly collection: string
  readonly namespace: string | undefined
  readonly key: string | undefined
  readonly subresource: string | undefined
  readonly query: URLSearchParams
}

interface Stored {
  readonly object: Json.Fields
  /** What each field manager applied or wrote. */
  readonly intents: ReadonlyMap<string, Json.Json>
}

interface Event {
  readonly type: string
  readonly revision: number
  readonly collection: string
  readonly object: Json.Fields
  readonly before: Json.Fields | undefined
}

const path =
  /^\/(?:api\/[^/]+|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/?]+)(?:\/([^/?]+))?(?:\/([^/?]+))?(?:\?(.*))?$/

const parse = (text: string): Target | undefined => {
  const match = path.exec(text)
  if (match === null) return undefined
  const [, group = "", namespace, plural = "", name, subresource, query = ""] = match
  return {
    collection: `${plural}.${group}`,
    namespace,
    key: name === undefined ? undefined : keyString({ namespace, name }),
    subresource,
    query: new URLSearchParams(query)
  }
}

const meta = (object: Json.Fields): Json.Fields => (Json.isFields(object.metadata) ? object.metadata : {})
const finalizersOf = (object: Json.Fields) => meta(object).finalizers
const isHeld = (object: Json.Fields): boolean => {
  const finalizers = finalizersOf(object)
  return Array.isArray(finalizers) && finalizers.length > 0
}
const collectionOf = (kind: Resource.Any): string => `${kind.plural}.${kind.group}`
const keyIn = (kind: Resource.Any, name: string, namespace = "default"): string =>
  keyString(kind.namespaced ? { namespace, name } : { name })

const matches = (labels: Watcher["labels"], object: Json.Fields | undefined): boolean => {
  const own = object === undefined ? undefined : meta(object).labels
  return object !== undefined && labels.every(([name, value]) => Json.isFields(own) && own[name] === value)
}

const reasons: { readonly [code: number]: string } = {
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  422: "Invalid"
}

const answer = (code: number, body: Json.Json): Response => ({
  status: code,
  headers: new Headers(),
  body: JSON.stringify(body)
})

const refusal = (code: number, message = `refused with ${code}`, details: Json.Fields = {}): Response =>
  answer(code, { kind: "Status", status: "Failure", code, reason: reasons[code] ?? "Unknown", message, details })

const encoder = new TextEncoder()

/** A server without objects. */
export const make = (): ApiServer => {
  const tables = new Map<string, Map<string, Stored>>()
  const history: Array<Event> = []
  const watchers = new Set<Watcher>()
  const requests: Array<Seen> = []
  const faults: Array<{ readonly what: RegExp; readonly fault: Fault; left: number }> = []
  const holds: Array<{ readonly what: RegExp; readonly part: "request" | "answer"; readonly gate: Effect.Latch }> = []
  let revision = 100
  let uids = 0

  const table = (collection: string): Map<string, Stored> => {
    const found = tables.get(collection) ?? new Map<string, Stored>()
    tables.set(collection, found)
    return found
  }

  const tell = ({ collection, namespace, labels, project, queue }: Watcher, event: Event): void => {
    if (event.collection !== collection) return
    if (namespace !== undefined && meta(event.object).namespace !== namespace) return
    const did = matches(labels, event.before)
    const does = event.type !== "DELETED" && matches(labels, event.object)
    const type = does ? (did ? "MODIFIED" : "ADDED") : did ? "DELETED" : undefined
    const line = JSON.stringify({ type, object: project(event.object) })
    if (type !== undefined) queue.unsafeOffer(encoder.encode(`${line}\n`))
  }

  const publish = (type: string, collection: string, object: Json.Fields, before: Json.Fields | undefined): void => {
    const event: Event = { type, revision, collection, object, before }
    history.push(event)
    for (const watcher of watchers) tell(watcher, event)
  }

  /**
   * Stores an object, or takes it away if nothing holds it any more; gives what the server answers with. Nothing changes
   * where the object is as it was, unless a manager `claims` by an apply what it did not claim before.
   */
  const store = (
    target: Target,
    next: Json.Fields,
    manager: string,
    intent: Json.Json,
    claims = false
  ): Json.Fields => {
    const { collection, key = "" } = target
    const before = table(collection).get(key)
    const old = before?.object
    const known = server.stores(next)
    const isNewClaim = claims && !Json.equal(before?.intents.get(manager), intent)
    if (old !== undefined && Json.equal(known, old) && !isNewClaim) return old
    const changed =
      !Json.equal(known.spec, old?.spec) || meta(known).deletionTimestamp !== meta(old ?? {}).deletionTimestamp
    const generation = Number(meta(old ?? {}).generation ?? 0) + (changed ? 1 : 0)
    const object: Json.Fields = {
      ...known,
      metadata: {
        ...meta(known),
        uid: meta(old ?? {}).uid ?? `uid-${++uids}`,
        creationTimestamp: "2026-11-20T00:00:00Z",
        resourceVersion: String(++revision),
        ...(known.spec === undefined ? {} : { generation })
      }
    }
    if (meta(object).deletionTimestamp !== undefined && !isHeld(object)) {
      table(collection).delete(key)
      publish("DELETED", collection, object, old)
      return object
    }
    const intents = new Map(before?.intents)
    table(collection).set(key, { object, intents: intents.set(manager, intent) })
    publish(old === undefined ? "ADDED" : "MODIFIED", collection, object, old)
    return object
  }

  const drop = (target: Target): Json.Fields | undefined => {
    const { collection, key = "" } = target
    const old = table(collection).get(key)?.object
    if (old === undefined) return undefined
    if (isHeld(old)) {
      return store(target, { ...old, metadata: { ...meta(old), deletionTimestamp: "2026-11-20T01:00:00Z" } }, "", {})
    }
    table(collection).delete(key)
    const object = { ...old, metadata: { ...meta(old), resourceVersion: String(++revision) } }
    publish("DELETED", collection, object, old)
    return undefined
  }

  /** Of a write to `/status` only the status counts, of any other write all but the status. */
  const through = (target: Target, old: Json.Fields | undefined, next: Json.Fields): Json.Fields => {
    if (target.subresource === "status") return { ...old, status: next.status }
    const { status, ...rest } = next
    return old?.status === undefined ? rest : { ...rest, status: old.status }
  }

  const write = (request: Request, target: Target, body: Json.Json): Response => {
    const old = table(target.collection).get(target.key ?? "")
    const manager = target.query.get("fieldManager") ?? "unknown"
    const done = (next: Json.Fields, intent: Json.Json = body) =>
      answer(200, store(target, through(target, old?.object, next), manager, intent))
    const contentType = request.headers["content-type"]
    const precondition = Json.isFields(body) ? meta(body).resourceVersion : undefined
    if (old !== undefined && precondition !== undefined && precondition !== meta(old.object).resourceVersion) {
      return refusal(409, "the object has been modified; please apply your changes to the latest version")
    }
    if (contentType === "application/apply-patch+yaml" && Json.isFields(body)) {
      const key = `${manager} ${target.subresource ?? ""}`
      const others = [...(old?.intents ?? [])].flatMap(([other, intent]) => (other === key ? [] : [intent]))
      const { value, conflicts } = Json.apply(old?.object, old?.intents.get(key), body, others)
      if (conflicts.length > 0 && target.query.get("force") !== "true") {
        const causes = conflicts.map((field) => ({ reason: "FieldManagerConflict", field, message: "is another's" }))
        return refusal(409, `Apply failed with ${causes.length} conflicts`, { causes })
      }
      const next = through(target, old?.object, Json.isFields(value) ? value : {})
      return answer(200, store(target, next, key, body, true))
    }
    if (old === undefined) return refusal(404, `${target.collection} "${target.key}" not found`)
    if (contentType === "application/json-patch+json") {
      // What a JSON patch has for a body is a list of operations.
      const next = Json.patch(old.object, body as unknown as ReadonlyArray<Json.Operation>)
      return Json.isFields(next)
        ? done(next, {})
        : refusal(422, "the server rejected our request: testing value failed")
    }
    const next = Json.merge(old.object, body)
    return Json.isFields(next) ? done(next) : refusal(400)
  }

  const project = (request: Request, object: Json.Fields): Json.Fields =>
    request.headers.accept?.includes("PartialObjectMetadata") === true
      ? { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata: object.metadata }
      : object

  const select = (target: Target): ReadonlyArray<Json.Fields> =>
    Array.from(table(target.collection).values(), ({ object }) => object).filter(
      (object) =>
        (target.namespace === undefined || meta(object).namespace === target.namespace) &&
        matches(labelsOf(target.query), object)
    )

  const labelsOf = (query: URLSearchParams): Watcher["labels"] =>
    (query.get("labelSelector") ?? "").split(",").flatMap((part) => {
      const [name = "", value = ""] = part.split("=")
      return name === "" ? [] : [[name, value] as const]
    })

  const respond = (request: Request): Response => {
    if (request.path === "/readyz") return { status: 200, headers: new Headers(), body: "ok" }
    const target = parse(request.path)
    if (target === undefined) return refusal(404)
    const body: Json.Json = request.body === undefined ? {} : JSON.parse(request.body)
    const found = table(target.collection).get(target.key ?? "")?.object
    switch (request.method) {
      case "GET":
        if (target.key === undefined) {
          const items = select(target).map((object) => project(request, object))
          return answer(200, { metadata: { resourceVersion: String(revision) }, items })
        }
        return found === undefined ? refusal(404) : answer(200, project(request, found))
      case "POST": {
        const object = Json.isFields(body) ? body : {}
        const name = String(meta(object).name)
        const key = keyString({ namespace: target.namespace, name })
        if (table(target.collection).has(key)) return refusal(409, `${target.collection} "${key}" already exists`)
        const manager = target.query.get("fieldManager") ?? "unknown"
        return answer(201, store({ ...target, key }, through(target, undefined, object), manager, object))
      }
      case "DELETE": {
        if (found === undefined) return refusal(404)
        const left = drop(target)
        return answer(200, left ?? { kind: "Status", status: "Success", details: { uid: meta(found).uid } })
      }
      default:
        return write(request, target, body)
    }
  }

  const look = (request: Request, verb: string): Seen => {
    const [bare = "", query = ""] = request.path.split("?", 2)
    const seen: Seen = {
      what: `${verb} ${bare}`,
      query: new URLSearchParams(query),
      contentType: request.headers["content-type"],
      body: request.body === undefined ? undefined : JSON.parse(request.body)
    }
    requests.push(seen)
    return seen
  }

  /** Waits where the test holds such requests, and fails where it wants that. */
  const pass = (request: Request, { what }: Seen) =>
    Effect.suspend(() => {
      const held = holds.filter((hold) => hold.part === "request" && hold.what.test(what))
      return Effect.forEach(held, ({ gate }) => gate.await, { discard: true })
    }).pipe(
      Effect.flatMap(() => {
        const fault = faults.find((candidate) => candidate.left > 0 && candidate.what.test(what))
        if (fault === undefined) return Effect.succeed(undefined)
        fault.left--
        return typeof fault.fault === "string"
          ? Effect.fail(Disconnect.make(infoOf(request), "memory", fault.fault))
          : Effect.succeed(refusal(fault.fault))
      })
    )

  const send: (typeof Transport.Transport.Service)["send"] = (request) =>
    Transport.abortable(
      request,
      Effect.gen(function* () {
        const seen = look(request, request.method)
        const refused = yield* pass(request, seen)
        const response = refused ?? respond(request)
        const held = holds.filter(({ part, what }) => part === "answer" && what.test(seen.what))
        yield* Effect.forEach(held, ({ gate }) => gate.await, { discard: true })
        return response
      })
    )

  const open: (typeof Transport.Transport.Service)["open"] = (request) =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<Uint8Array>()
      const headers = new Headers()
      const streaming = { status: 200, headers, next: Queue.take(queue), abort: Effect.asVoid(Queue.shutdown(queue)) }
      const refused = yield* Transport.abortable(request, pass(request, look(request, "WATCH")))
      if (refused !== undefined) {
        let body: Uint8Array | undefined = encoder.encode(refused.body)
        const next = Effect.sync(() => {
          const bytes = body
          body = undefined
          return bytes
        })
        return { ...streaming, status: refused.status, next }
      }
      const target = parse(request.path)
      if (target === undefined) return yield* Effect.dieMessage(`no collection at ${request.path}`)
      const labels = labelsOf(target.query)
      const watcher: Watcher = { ...target, labels, queue, project: (object) => project(request, object) }
      if (target.query.has("sendInitialEvents")) {
        const lines = select(target).map((object) => ({ type: "ADDED", object: project(request, object) }))
        const annotations = { "k8s.io/initial-events-end": "true" }
        const end = { type: "BOOKMARK", object: { metadata: { resourceVersion: String(revision), annotations } } }
        queue.unsafeOffer(encoder.encode([...lines, end].map((line) => `${JSON.stringify(line)}\n`).join("")))
      } else {
        const from = Number(target.query.get("resourceVersion"))
        for (const event of history) if (event.revision > from) tell(watcher, event)
      }
      watchers.add(watcher)
      yield* Effect.addFinalizer(() => Effect.sync(() => watchers.delete(watcher)))
      return streaming
    })

  const targetOf = (kind: Resource.Any, key: string): Target => ({
    collection: collectionOf(kind),
    namespace: undefined,
    key,
    subresource: undefined,
    query: new URLSearchParams()
  })

  const server: ApiServer = {
    transport: Layer.succeed(Transport.Transport, { server: "memory", send, open }),
    requests,
    watches: () => watchers.size,
    writes: () => requests.filter(({ what }) => !/^(GET|WATCH) /.test(what)),
    get: (kind, name) => table(collectionOf(kind)).get(keyIn(kind, name))?.object,
    list: (kind) => Array.from(table(collectionOf(kind)).values(), ({ object }) => object),
    put: (kind, { metadata, ...rest }) => {
      const namespace = kind.namespaced ? { namespace: "default" } : {}
      const object = {
        apiVersion: Resource.apiVersionOf(kind),
        kind: kind.kind,
        ...rest,
        metadata: { ...namespace, ...metadata }
      }
      const key: ObjectKey = { name: metadata.name, namespace: meta(object).namespace as string | undefined }
      store(targetOf(kind, keyString(key)), object, "somebody", object)
    },
    change: (kind, name, patch, manager = "somebody") => {
      const target = targetOf(kind, keyIn(kind, name))
      const next = Json.merge(server.get(kind, name), patch)
      if (Json.isFields(next)) store(target, next, manager, patch)
    },
    remove: (kind, name) => {
      drop(targetOf(kind, keyIn(kind, name)))
    },
    fail: (what, fault, times = Number.POSITIVE_INFINITY) => {
      const entry = { what, fault, left: times }
      faults.push(entry)
      return {
        mend: () => {
          entry.left = 0
        }
      }
    },
    hold: (what, part = "request") => {
      const hold = { what, part, gate: Effect.unsafeMakeLatch(false) }
      holds.push(hold)
      const lose = () => {
        holds.splice(holds.indexOf(hold), 1)
      }
      return {
        lose,
        release: () => {
          lose()
          hold.gate.unsafeOpen()
        }
      }
    },
    stores: (object) => object
  }
  return server
}

/** An object of the server as the kind that it is of. */
export const typed = <A extends KubernetesObject>(
  _: Resource.Resource<A, never>,
  object: Json.Fields | undefined
): A => {
  if (object === undefined) throw new Error("there is no such object")
  // What a test stored as this kind is of it.
  return object as unknown as A
}
