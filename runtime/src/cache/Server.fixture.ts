/**
 * An API server of one kind in memory, with the real Client and a cache, for the tests of this folder. It supports lists, watches, create,
 * merge patch and delete. A test decides when its watches send events, and which requests it rejects.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import type { Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Cache from "./Cache.ts"
import * as LabelSelector from "./LabelSelector.ts"

interface Watcher {
  readonly namespace: string | undefined
  readonly matches: LabelSelector.LabelSelector
  readonly queue: Queue.Queue<Uint8Array | undefined>
}

/** The server with the controls of a test. */
export interface Server {
  readonly transport: Layer.Layer<Transport.Transport>
  /** Creates or changes an object as another client. */
  readonly put: (object: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: LabelSelector.Labels
  }) => void
  /** Deletes an object as another client. */
  readonly remove: (key: string) => void
  /** Holds back all watch events until `release`. */
  readonly hold: () => void
  readonly release: () => void
  /** The status code that rejects a request; undefined to accept it. 404: the kind is not served. */
  refuse: (path: string) => number | undefined
  /** Ends all watches normally. */
  readonly endWatches: () => void
  /** Sends a line that is not JSON to all watches, which breaks them. */
  readonly breakWatches: () => void
  /** The number of open watches, and the watch requests so far. */
  readonly watches: () => number
  readonly requests: ReadonlyArray<string>
}

const encoder = new TextEncoder()
const line = (value: unknown): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`)
const status = (code: number): string =>
  code === 404
    ? "404 page not found"
    : JSON.stringify({
        kind: "Status",
        code,
        reason: code === 403 ? "Forbidden" : "Other",
        message: `refused with ${code}`
      })

const notFound = { kind: "Status", code: 404, reason: "NotFound", message: "not found" }

/** A server without objects. */
export const make = (): Server => {
  const objects = new Map<string, KubernetesObject>()
  const watchers = new Set<Watcher>()
  const requests: Array<string> = []
  let held: Array<() => void> | undefined
  let revision = 100
  let uids = 0

  const emit = (type: string, object: KubernetesObject, before: KubernetesObject | undefined): void => {
    const deliver = (): void => {
      for (const { matches, namespace, queue } of watchers) {
        if (namespace !== undefined && namespace !== object.metadata.namespace) continue
        const did = before !== undefined && matches(before.metadata.labels)
        const does = type !== "DELETED" && matches(object.metadata.labels)
        const seen = does ? (did ? "MODIFIED" : "ADDED") : did ? "DELETED" : undefined
        if (seen !== undefined) Queue.offerUnsafe(queue, line({ type: seen, object }))
      }
    }
    if (held === undefined) deliver()
    else held.push(deliver)
  }

  const write = (key: string, metadata: Partial<ObjectMeta>): KubernetesObject => {
    const before = objects.get(key)
    const [namespace = "", name = ""] = key.split("/")
    const object: KubernetesObject = {
      apiVersion: "apps.kubedojo.io/v1beta1",
      kind: "WebApp",
      metadata: {
        uid: before?.metadata.uid ?? `u${++uids}`,
        creationTimestamp: "2026-11-20T00:00:00Z",
        ...before?.metadata,
        ...metadata,
        name,
        namespace,
        resourceVersion: `${++revision}`,
        managedFields: [{ manager: "someone" }]
      }
    }
    objects.set(key, object)
    emit(before === undefined ? "ADDED" : "MODIFIED", object, before)
    return object
  }

  const remove = (key: string): KubernetesObject | undefined => {
    const before = objects.get(key)
    if (before === undefined) return undefined
    objects.delete(key)
    emit("DELETED", { ...before, metadata: { ...before.metadata, resourceVersion: `${++revision}` } }, before)
    return before
  }

  const parse = (request: Request) => {
    const url = new URL(request.path, "http://memory")
    const [, namespace, name] = /(?:namespaces\/([^/]+)\/)?webapps(?:\/([^/]+))?/.exec(url.pathname) ?? []
    requests.push(`${request.method} ${url.pathname}`)
    const matches = LabelSelector.parse(url.searchParams.get("labelSelector") ?? "") ?? (() => true)
    return { namespace, key: `${namespace}/${name}`, matches, refused: server.refuse(url.pathname) }
  }

  const select = (namespace: string | undefined, matches: LabelSelector.LabelSelector) =>
    [...objects.values()].filter(
      ({ metadata }) => (namespace === undefined || metadata.namespace === namespace) && matches(metadata.labels)
    )

  const send = (request: Request): Response => {
    const { key, matches, namespace, refused } = parse(request)
    const answer = (code: number, body: unknown): Response => ({
      status: code,
      headers: new Headers(),
      body: typeof body === "string" ? body : JSON.stringify(body)
    })
    if (refused !== undefined) return answer(refused, status(refused))
    // The bodies in these tests are objects or metadata patches, as the client encodes them.
    const body: { metadata?: Partial<ObjectMeta> } = request.body === undefined ? {} : JSON.parse(request.body)
    switch (request.method) {
      case "GET":
        if (!key.endsWith("/undefined")) {
          const object = objects.get(key)
          return object === undefined ? answer(404, notFound) : answer(200, object)
        }
        return answer(200, { metadata: { resourceVersion: `${revision}` }, items: select(namespace, matches) })
      case "POST":
        return answer(201, write(`${namespace}/${body.metadata?.name}`, body.metadata ?? {}))
      case "DELETE": {
        const removed = remove(key)
        return removed === undefined
          ? answer(404, notFound)
          : answer(200, { kind: "Status", status: "Success", details: { uid: removed.metadata.uid } })
      }
      default:
        return answer(200, write(key, body.metadata ?? {}))
    }
  }

  const open: (typeof Transport.Transport.Service)["open"] = (request) =>
    Effect.gen(function* () {
      const { matches, namespace, refused } = parse(request)
      const queue = yield* Queue.unbounded<Uint8Array | undefined>()
      const streaming = {
        headers: new Headers(),
        next: Queue.take(queue),
        abort: Effect.asVoid(Queue.shutdown(queue))
      }
      if (refused !== undefined) {
        Queue.offerUnsafe(queue, encoder.encode(status(refused)))
        Queue.offerUnsafe(queue, undefined)
        return { status: refused, ...streaming }
      }
      const watcher: Watcher = { namespace, matches, queue }
      watchers.add(watcher)
      yield* Effect.addFinalizer(() => Effect.sync(() => watchers.delete(watcher)))
      return { status: 200, ...streaming }
    })

  const server: Server = {
    transport: Layer.succeed(Transport.Transport, {
      server: "memory",
      send: (request) => Effect.sync(() => send(request)),
      open
    }),
    put: ({ labels, name, namespace = "default" }) => {
      write(`${namespace}/${name}`, labels === undefined ? {} : { labels })
    },
    remove: (key) => {
      remove(key)
    },
    hold: () => {
      held = []
    },
    release: () => {
      const waiting = held ?? []
      held = undefined
      for (const deliver of waiting) deliver()
    },
    refuse: () => undefined,
    endWatches: () => {
      for (const { queue } of watchers) Queue.offerUnsafe(queue, undefined)
    },
    breakWatches: () => {
      for (const { queue } of watchers) Queue.offerUnsafe(queue, encoder.encode("{\n"))
    },
    watches: () => watchers.size,
    requests
  }
  return server
}

export const coordinates = { group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp", plural: "webapps" }
export const WebApp = Resource.make<KubernetesObject>(coordinates)
export const Node = Resource.make({ group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false })

/** A change of the label `app`. */
export const label = (value: string) => Patch.merge({ metadata: { labels: { app: value } } })

/** Runs a test against a server, with a real client and a cache of these namespaces. */
export const withServer =
  (
    namespaces: ReadonlyArray<string>,
    body: (server: Server) => Effect.Effect<void, unknown, Cache.Cache | Client.Client>,
    options?: Pick<Cache.Options, "memory">
  ) =>
  (): Effect.Effect<void, unknown> =>
    Effect.suspend(() => {
      const server = make()
      const client = Client.layer().pipe(Layer.provide(server.transport))
      // Other tests check the log of the cache.
      const quiet = Layer.effect(
        Logger.CurrentLoggers,
        Effect.map(Logger.CurrentLoggers, (all) => new Set([...all].filter((one) => one !== Logger.defaultLogger)))
      )
      return Effect.provide(
        body(server),
        Cache.layer({ ...options, namespaces }).pipe(Layer.provideMerge(client), Layer.provideMerge(quiet))
      )
    })

/** Runs all fibers until they wait. */
export const settle = TestClock.adjust("1 millis")

/** Changes as short lines. */
export const lines = (changes: ReadonlyArray<Cache.Change>): ReadonlyArray<string> =>
  changes.map(({ initial, object, type }) => `${type} ${object.metadata.name}${initial ? " initial" : ""}`)
