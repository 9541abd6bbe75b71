/** Handles requests about objects by their verb. It decodes the body and the query for the verb, and encodes the result for the client. */

import { Duration, Effect } from "effect"
import * as Decode from "../codec/Decode.ts"
import * as Negotiation from "../codec/Negotiation.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as Delete from "../rest/Delete.ts"
import * as DeleteOptions from "../rest/DeleteOptions.ts"
import * as List from "../rest/List.ts"
import * as Query from "../rest/Query.ts"
import * as Selection from "../rest/Selection.ts"
import * as View from "../rest/View.ts"
import * as Watch from "../rest/Watch.ts"
import * as Step from "../storage/Step.ts"
import * as Exchange from "./Exchange.ts"
import type { ResourcePath } from "./Path.ts"
import type { RequestScope } from "./RequestScope.ts"

/** A request about objects of a kind. */
export interface ResourceRequest {
  readonly scope: RequestScope
  readonly exchange: Exchange.Exchange
  readonly kind: Kind
  readonly path: ResourcePath
}

/** A response; an Effect if the response has to wait. */
export type Answer = Exchange.HttpResponse | Effect.Effect<Exchange.HttpResponse, Failure.Failure>

/** GET of one object. */
export const get = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  const accepted = acceptedBy(request)
  const view = View.make(kind, accepted, exchange.target.query)
  const required = Query.revision(exchange.target.query.get("resourceVersion") ?? "", Failure.plain) ?? 0
  return after(scope, required, () =>
    Exchange.answer(
      exchange,
      200,
      View.object(view, scope.verbs.get(kind, path.namespace, path.name), exchange.now),
      accepted
    )
  )
}

/** GET of many objects, or a watch. */
export const list = (request: ResourceRequest, watches: boolean): Answer => {
  const { exchange, kind, path, scope } = request
  const { query } = exchange.target
  const wantsWatch = watches || isWatch(query)
  const accepted = acceptedBy(request, wantsWatch)
  const options = Query.list(query, watches)
  const selection = Selection.make(kind, path.namespace, path.name, options)
  const view = View.make(kind, accepted, query)
  if (options.watch) return watch(request, { view, selection, options })
  return after(scope, List.required(options), () =>
    Exchange.answer(
      exchange,
      200,
      View.list(view, List.page(scope.state.store, kind, selection, options), exchange.now),
      accepted
    )
  )
}

const isWatch = (query: URLSearchParams): boolean => {
  const value = query.get("watch")
  return value !== null && !["false", "0"].includes(value.toLowerCase())
}

/** The minimum duration of a watch in seconds, if the client sets no timeout. The maximum is twice as long. */
const watchSeconds = 1800

const watch = (
  { exchange, kind, scope }: ResourceRequest,
  chosen: Pick<Watch.Request, "view" | "selection" | "options">
): Answer => {
  const { identity, registry, store } = scope.state
  const request: Watch.Request = {
    ...chosen,
    now: exchange.now,
    defaultSeconds: watchSeconds * (1 + identity.fraction()),
    whenDropped: (listener) => registry.whenDropped(kind, listener)
  }
  const { format } = request.view.accepted
  const streamed = (body: Watch.Streamed) =>
    Exchange.streamed(exchange, body, Negotiation.streamType(format), format === "protobuf")
  const open = () => streamed(Watch.open(store, scope.watches, request))
  const opened = after(scope, Watch.required(request.options), open)
  // If a watch fails at its start, the error is the response of a watch.
  return Effect.isEffect(opened)
    ? Effect.catch(opened, (failure) => Effect.succeed(streamed(Watch.failed(request.view.accepted, failure))))
    : opened
}

/** Handles POST: creates the object in the body. Throws a Failure. */
export const create = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  const accepted = acceptedBy(request)
  const format = Negotiation.bodyFormat(exchange.request.headers["content-type"], kind.custom)
  const body = Exchange.bodyOf(exchange)
  const query = Query.write(exchange.target.query, "Create")
  const object = decode(request, body, format, query)
  const made = scope.verbs.create(kind, path.namespace, object, writeOptions(exchange, query))
  return Exchange.answer(exchange, 201, View.object(viewOf(request, accepted), made, exchange.now), accepted)
}

/** Handles PUT: replaces an object. Throws a Failure. */
export const update = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  if (path.name === "") throw Failure.badRequest("name must be provided")
  const accepted = acceptedBy(request)
  const body = Exchange.bodyOf(exchange)
  const query = Query.write(exchange.target.query, "Update")
  const format = Negotiation.bodyFormat(exchange.request.headers["content-type"], kind.custom)
  const object = decode(request, body, format, query)
  const options = writeOptions(exchange, query)
  const changed = scope.verbs.update(kind, path.subresource, path.namespace, path.name, object, options)
  const shown = View.object(viewOf(request, accepted), changed.object, exchange.now)
  return Exchange.answer(exchange, changed.created ? 201 : 200, shown, accepted)
}

/** Handles PATCH, including server-side apply. Throws a Failure. */
export const patch = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  const type = Negotiation.patchType(exchange.request.headers["content-type"], kind.custom)
  if (path.name === "") throw Failure.badRequest("name must be provided")
  const accepted = acceptedBy(request)
  const text = Decode.textOf(Exchange.bodyOf(exchange))
  const query = Query.write(exchange.target.query, "Patch", type === "apply")
  const changed = scope.verbs.patch(
    kind,
    path.subresource,
    path.namespace,
    path.name,
    { type, text },
    { ...writeOptions(exchange, query), fieldValidation: query.fieldValidation, force: query.force === true }
  )
  const shown = View.object(viewOf(request, accepted), changed.object, exchange.now)
  return Exchange.answer(exchange, changed.created ? 201 : 200, shown, accepted)
}

/** DELETE of one object. */
export const remove = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  const accepted = acceptedBy(request)
  const options = deleteOptionsOf(request)
  const { answer, gone } = scope.verbs.delete(kind, path.namespace, path.name, options, deleting(exchange, options))
  const status = !gone && options.orphanDependents === false ? 202 : 200
  return Exchange.answer(exchange, status, View.object(viewOf(request, accepted), answer, exchange.now), accepted)
}

/** DELETE of many objects. */
export const removeAll = (request: ResourceRequest): Answer => {
  const { exchange, kind, path, scope } = request
  const accepted = acceptedBy(request)
  const listed = Query.list(exchange.target.query)
  const selection = Selection.make(kind, path.namespace, "", listed)
  const options = deleteOptionsOf(request)
  Query.checkDeletion(options)
  Delete.warnOfOrphans(kind, options, { warn: Exchange.warn(exchange) })
  const page = Step.once(() => List.page(scope.state.store, kind, selection, listed))
  for (const object of page.items) {
    const [namespace, name] = [ObjectMeta.namespaceOf(object), ObjectMeta.nameOf(object)]
    const each = { ...deleting(exchange, options), collection: true }
    Step.once(() => scope.verbs.delete(kind, namespace, name, options, each))
  }
  return Exchange.answer(exchange, 200, View.list(viewOf(request, accepted), page, exchange.now), accepted)
}

/** DeleteOptions from the body, or from the query for a request without a body. Throws a Failure (400, 413, 415). */
const deleteOptionsOf = ({ exchange, scope }: ResourceRequest): Json.JsonObject => {
  const body = Exchange.bodyOf(exchange)
  if (!Exchange.hasBody(exchange)) return Query.deletion(exchange.target.query)
  const format = Negotiation.bodyFormat(exchange.request.headers["content-type"], false)
  return DeleteOptions.decode(body, format, scope.state.registry.knows)
}

const deleting = (exchange: Exchange.Exchange, options: Json.JsonObject) => ({
  ...writeOptions(exchange, { fieldManager: "", dryRun: Json.list(options.dryRun).length > 0 })
})

/** Decodes the object in a body. */
export const decode = (
  { exchange, kind, scope }: Pick<ResourceRequest, "exchange" | "kind" | "scope">,
  body: string | Uint8Array | undefined,
  format: Negotiation.Format,
  { fieldValidation }: Pick<Query.WriteQuery, "fieldValidation">
): Json.JsonObject =>
  Decode.object(kind, body, format, {
    fieldValidation,
    warn: Exchange.warn(exchange),
    knows: scope.state.registry.knows
  })

/** The options of a write, from the query and the request. */
export const writeOptions = (
  exchange: Exchange.Exchange,
  { dryRun, fieldManager }: Pick<Query.WriteQuery, "dryRun" | "fieldManager">
) => ({
  manager: fieldManager === "" ? agentOf(exchange) : fieldManager,
  query: queryOf(exchange.target.query),
  dryRun,
  now: exchange.now,
  user: exchange.user,
  warn: Exchange.warn(exchange)
})

const queryOf = (query: URLSearchParams) =>
  Object.fromEntries(
    ["fieldManager", "fieldValidation"].flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))
  )

/** The name of the client program, from its `User-Agent`. */
const agentOf = ({ request: { headers } }: Exchange.Exchange): string => {
  const agent = headers["user-agent"] ?? ""
  const slash = agent.indexOf("/")
  const name = slash < 0 ? agent : agent.slice(0, slash)
  return (name === "" ? "unknown" : name).replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "").slice(0, 128)
}

/** The media type and the form of the response. Throws a Failure (406). */
export const acceptedBy = ({ exchange, kind, path }: ResourceRequest, watch = false): Negotiation.Accepted =>
  Negotiation.accepted(exchange.request.headers.accept, {
    custom: kind.custom,
    watch,
    collection: path.name === "" && exchange.request.method === "GET"
  })

/** The view of the objects in a response. */
const viewOf = ({ exchange, kind }: ResourceRequest, accepted: Negotiation.Accepted): View.View =>
  View.make(kind, accepted, exchange.target.query)

/** How long a request waits for a resourceVersion that the server has not reached yet. */
const patience = Duration.seconds(3)

/** The response after the server has reached a revision. */
const after = (scope: RequestScope, revision: number, answer: () => Exchange.HttpResponse): Answer => {
  const { store } = scope.state
  if (revision <= store.revision) return answer()
  const reached = Effect.callback<void>((resume) => {
    // The server may have reached the revision before this fiber started.
    if (store.revision >= revision) return resume(Effect.void)
    const stop = store.subscribe(() => {
      if (store.revision < revision) return
      stop()
      // The step that makes the change ends first.
      resume(Effect.yieldNow)
    })
    return Effect.sync(stop)
  })
  return reached.pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(Failure.tooLargeVersion(revision, store.revision))
    }),
    Effect.flatMap(() => Effect.mapError(Step.run(Step.make(), answer), Step.failureOf))
  )
}
