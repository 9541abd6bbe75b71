/**
 * An API server in memory, under the real Client, for the tests of events, controllers and managers. It accepts any kind, and
 * supports the operations that controllers use: get, list, watch, create, the patches, apply, delete with finalizers, the status
 * subresource, resourceVersions and generations. A test can change objects as another client, inspect every request, and fail, hold
 * or lose requests.
 *
 * It has no validation, no defaults (a test sets them with `stores`), no garbage collection, and does not require namespaces to
 * exist.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Disconnect from "../client/Disconnect.ts"
import { infoOf, type Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Json from "./Json.fixture.ts"
import * as Storage from "./Storage.fixture.ts"

/** A request for assertions. `what` reads like `PATCH /apis/apps/v1/namespaces/a/deployments/b`; watches are `WATCH …`. */
export interface Seen {
  readonly what: string
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  readonly body: Json.Json | undefined
}

/** A failure instead of a response: a status code, or the code of a lost connection such as `ECONNREFUSED`. */
export type Fault = number | string

/** An object for `put`, which adds the missing fields. */
export type Put = Json.Fields & { readonly metadata: Json.Fields & { readonly name: string } }

/** The server, with the controls of a test. */
export interface ApiServer {
  readonly transport: Layer.Layer<Transport.Transport>
  /** All requests so far, and those that write. */
  readonly requests: ReadonlyArray<Seen>
  readonly writes: () => ReadonlyArray<Seen>
  /** The number of open watches. */
  readonly watches: () => number
  /** The stored object. */
  readonly get: (kind: Resource.Any, name: string) => Json.Fields | undefined
  readonly list: (kind: Resource.Any) => ReadonlyArray<Json.Fields>
  /** Creates, merges or deletes an object as another client. The default namespace is `default`. */
  readonly put: (kind: Resource.Any, object: Put) => void
  readonly change: (kind: Resource.Any, name: string, patch: Json.Fields, manager?: string) => void
  readonly remove: (kind: Resource.Any, name: string) => void
  /** Fails the next `times` matching requests; without `times`, all of them until `repair`. */
  readonly fail: (what: RegExp, fault: Fault, times?: number) => { readonly repair: () => void }
  /** From now on, watches that match deliver each event this much later. */
  readonly delay: (what: RegExp, duration: Duration.DurationInput) => void
  /**
   * Matching requests wait until they are released, or forever if they are lost: before their effect or, with `answer`, after it.
   * Later requests do not wait.
   */
  readonly hold: (
    what: RegExp,
    part?: "request" | "answer"
  ) => { readonly release: () => void; readonly lose: () => void }
  /** Turns each written object into the stored one: unknown fields of this server version, defaults, spelling. */
  stores: (object: Json.Fields) => Json.Fields
}

const { meta } = Storage

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

const matches = (labels: Watcher["labels"], object: Json.Fields | undefined): boolean => {
  const own = meta(object).labels
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
  const watchers = new Set<Watcher>()
  const requests: Array<Seen> = []
  const faults: Array<{ readonly what: RegExp; readonly fault: Fault; left: number }> = []
  const holds: Array<{ readonly what: RegExp; readonly part: "request" | "answer"; readonly gate: Effect.Latch }> = []
  const delays: Array<{ readonly what: RegExp; readonly duration: Duration.DurationInput }> = []
  const tell = ({ collection, namespace, labels, project, queue }: Watcher, event: Storage.Event): void => {
    if (event.collection !== collection) return
    if (namespace !== undefined && meta(event.object).namespace !== namespace) return
    const did = matches(labels, event.before)
    const does = event.type !== "DELETED" && matches(labels, event.object)
    const type = does ? (did ? "MODIFIED" : "ADDED") : did ? "DELETED" : undefined
    const line = JSON.stringify({ type, object: project(event.object) })
    if (type !== undefined) queue.unsafeOffer(encoder.encode(`${line}\n`))
  }

  const storage = Storage.make(
    (object) => server.stores(object),
    (event) => {
      for (const watcher of watchers) tell(watcher, event)
    }
  )

  /** A write to `/status` changes only the status, any other write everything except the status. */
  const through = (target: Target, old: Json.Fields | undefined, next: Json.Fields): Json.Fields => {
    if (target.subresource === "status") return { ...old, status: next.status }
    const { status, ...rest } = next
    return old?.status === undefined ? rest : { ...rest, status: old.status }
  }

  const write = (request: Request, target: Target, body: Json.Json): Response => {
    const { collection, key = "" } = target
    const old = storage.get({ collection, key })
    const manager = target.query.get("fieldManager") ?? "unknown"
    const done = (next: Json.Fields, intent: Json.Json = body) =>
      answer(200, storage.put({ collection, key }, through(target, old?.object, next), { manager, intent }))
    const contentType = request.headers["content-type"]
    const precondition = Json.isFields(body) ? meta(body).resourceVersion : undefined
    if (old !== undefined && precondition !== undefined && precondition !== meta(old.object).resourceVersion) {
      return refusal(409, "the object has been modified; please apply your changes to the latest version")
    }
    if (contentType === "application/apply-patch+yaml" && Json.isFields(body)) {
      const { resourceVersion: _, ...metadata } = meta(body)
      const wanted = { ...body, metadata }
      const applier = `${manager} ${target.subresource ?? ""}`
      const others = [...(old?.intents ?? [])].flatMap(([other, intent]) => (other === applier ? [] : [intent]))
      const { value, conflicts } = Json.apply(old?.object, old?.intents.get(applier), wanted, others)
      if (conflicts.length > 0 && target.query.get("force") !== "true") {
        const causes = conflicts.map((field) => ({ reason: "FieldManagerConflict", field, message: "is another's" }))
        return refusal(409, `Apply failed with ${causes.length} conflicts`, { causes })
      }
      const next = through(target, old?.object, Json.isFields(value) ? value : {})
      const code = old === undefined ? 201 : 200
      return answer(code, storage.put({ collection, key }, next, { manager: applier, intent: wanted, claims: true }))
    }
    if (old === undefined) return refusal(404, `${collection} "${key}" not found`)
    if (contentType === "application/json-patch+json") {
      // The body of a JSON patch is a list of operations.
      const next = Json.patch(old.object, body as unknown as ReadonlyArray<Json.Operation>)
      if (Json.isFields(next) && meta(next).resourceVersion !== meta(old.object).resourceVersion) {
        return refusal(409, "the object has been modified; please apply your changes to the latest version")
      }
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
    storage
      .list(target.collection)
      .filter(
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
    const { collection } = target
    const found = storage.get({ collection, key: target.key ?? "" })?.object
    switch (request.method) {
      case "GET":
        if (target.key === undefined) {
          const items = select(target).map((object) => project(request, object))
          return answer(200, { metadata: { resourceVersion: String(storage.revision()) }, items })
        }
        return found === undefined ? refusal(404) : answer(200, project(request, found))
      case "POST": {
        const object = Json.isFields(body) ? body : {}
        const name = String(meta(object).name)
        const key = keyString({ namespace: target.namespace, name })
        if (storage.get({ collection, key }) !== undefined) return refusal(409, `${collection} "${key}" already exists`)
        const manager = target.query.get("fieldManager") ?? "unknown"
        return answer(
          201,
          storage.put({ collection, key }, through(target, undefined, object), { manager, intent: object })
        )
      }
      case "DELETE": {
        if (found === undefined) return refusal(404)
        const left = storage.remove({ collection, key: target.key ?? "" })
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

  /** Waits or fails if the test wants that for this request. */
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
      const seen = look(request, "WATCH")
      const next = Effect.tap(Queue.take(queue), () => {
        const delay = delays.find(({ what }) => what.test(seen.what))
        return delay === undefined ? Effect.void : Effect.sleep(delay.duration)
      })
      const streaming = { status: 200, headers, next, abort: Effect.asVoid(Queue.shutdown(queue)) }
      const refused = yield* Transport.abortable(request, pass(request, seen))
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
      const from = Number(target.query.get("resourceVersion"))
      for (const event of storage.history) if (event.revision > from) tell(watcher, event)
      watchers.add(watcher)
      yield* Effect.addFinalizer(() => Effect.sync(() => watchers.delete(watcher)))
      return streaming
    })

  const placeOf = (kind: Resource.Any, name: string, namespace = "default"): Storage.Place => ({
    collection: `${kind.plural}.${kind.group}`,
    key: keyString(kind.namespaced ? { namespace, name } : { name })
  })

  const server: ApiServer = {
    transport: Layer.succeed(Transport.Transport, { server: "memory", send, open }),
    requests,
    watches: () => watchers.size,
    writes: () => requests.filter(({ what }) => !/^(GET|WATCH) /.test(what)),
    get: (kind, name) => storage.get(placeOf(kind, name))?.object,
    list: (kind) => storage.list(placeOf(kind, "").collection),
    put: (kind, { metadata, ...rest }) => {
      const namespace = typeof metadata.namespace === "string" ? metadata.namespace : "default"
      const placed = { ...(kind.namespaced ? { namespace } : {}), ...metadata }
      const object = { apiVersion: Resource.apiVersionOf(kind), kind: kind.kind, ...rest, metadata: placed }
      storage.put(placeOf(kind, metadata.name, namespace), object, { manager: "somebody", intent: object })
    },
    change: (kind, name, patch, manager = "somebody") => {
      const next = Json.merge(server.get(kind, name), patch)
      if (Json.isFields(next)) storage.put(placeOf(kind, name), next, { manager, intent: patch })
    },
    remove: (kind, name) => {
      storage.remove(placeOf(kind, name))
    },
    fail: (what, fault, times = Number.POSITIVE_INFINITY) => {
      const entry = { what, fault, left: times }
      faults.push(entry)
      return {
        repair: () => {
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
    delay: (what, duration) => {
      delays.push({ what, duration })
    },
    stores: (object) => object
  }
  return server
}

/** An object of the server, typed as its kind. */
export const typed = <A extends KubernetesObject>(
  _: Resource.Resource<A, never>,
  object: Json.Fields | undefined
): A => {
  if (object === undefined) throw new Error("there is no such object")
  // A test stored the object as this kind.
  return object as unknown as A
}
