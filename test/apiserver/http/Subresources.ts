/** The subresources of an object: status, scale, and those of pods and namespaces. */
import { Effect } from "effect"
import * as Decode from "../codec/Decode.ts"
import * as Negotiation from "../codec/Negotiation.ts"
import * as ScaleManagers from "../fields/ScaleManagers.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as Binding from "../rest/Binding.ts"
import * as Eviction from "../rest/Eviction.ts"
import * as Patch from "../rest/Patch.ts"
import * as Body from "../rest/PatchBody.ts"
import * as PodLogs from "../rest/PodLogs.ts"
import * as Query from "../rest/Query.ts"
import * as Scale from "../rest/Scale.ts"
import * as TokenRequest from "../rest/TokenRequest.ts"
import * as Verbs from "../rest/Verbs.ts"
import * as View from "../rest/View.ts"
import * as Exchange from "./Exchange.ts"
import * as Unserved from "./openapi/Unserved.ts"
import * as Resources from "./Resources.ts"

/** Handles a request about a subresource. Throws a Failure. */
export const answer = (request: Resources.ResourceRequest, method: string): Resources.Answer => {
  const { kind, path } = request
  const { subresource } = path
  if (subresource === "status" && kind.status !== undefined) return ofStatus(request, method)
  if (subresource === "scale" && kind.scale !== undefined) return ofScale(request, method)
  if (kind.custom) throw Failure.notFound(kind, path.name)
  if (Object.hasOwn(kind.subresources ?? {}, subresource)) return written(request, method)
  const served = builtIn[`${kind.group}/${kind.plural}/${subresource}`]
  if (served === undefined) {
    Unserved.check(path)
    throw Failure.noSuchPath()
  }
  if (served.method !== method) throw Failure.noSuchMethod()
  return served.answer(request)
}

const ofStatus = (request: Resources.ResourceRequest, method: string): Resources.Answer => {
  switch (method) {
    case "GET":
    case "HEAD":
      return Resources.get(request)
    case "PUT":
      return Resources.update(request)
    case "PATCH":
      return Resources.patch(request)
    default:
      throw refusedMethod(request.kind, method)
  }
}

/** A subresource that clients can only write, and that has the kind of its object. */
const written = (request: Resources.ResourceRequest, method: string): Resources.Answer => {
  if (method !== "PUT") throw Failure.noSuchMethod()
  return Resources.update(request)
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["POST", "create"],
  ["DELETE", "delete"]
])

const refusedMethod = (kind: Kind, method: string): Failure.Failure =>
  kind.custom ? Failure.methodNotAllowed(kind, verbs.get(method) ?? "") : Failure.noSuchMethod()

const ofScale = (request: Resources.ResourceRequest, method: string): Resources.Answer => {
  const { exchange, kind, path, scope } = request
  const { query } = exchange.target
  const target = { kind, namespace: path.namespace, name: path.name, subresource: "" }
  const accepted = Resources.acceptedBy(request)
  const answer = (scale: JsonObject) =>
    Exchange.answer(
      exchange,
      200,
      View.object(View.make(scaleKind(kind), accepted, query), scale, exchange.now),
      accepted
    )
  if (method === "GET" || method === "HEAD") return answer(Scale.get(scope.state, target))
  const body = Exchange.bodyOf(exchange)
  const { headers } = exchange.request
  if (method === "PUT") {
    const options = Query.write(query, "Update")
    const format = Negotiation.bodyFormat(headers["content-type"], kind.custom)
    const decode = () => Resources.decode({ ...request, kind: scaleKind(kind) }, body, format, options)
    const next = kind.custom ? unregistered(decode) : decode()
    return answer(Scale.change(scope.state, target, () => next, complete(request, options)))
  }
  if (method !== "PATCH") throw refusedMethod(kind, method)
  const type = Negotiation.patchType(headers["content-type"], kind.custom)
  const options = Query.write(query, "Patch", type === "apply")
  const text = Decode.textOf(body)
  const patchOptions = {
    ...complete(request, options),
    fieldValidation: options.fieldValidation,
    force: options.force === true
  }
  if (type === "apply") {
    const intent = Json.object(Decode.parse(text, "yaml").value)
    return answer(
      Scale.change(scope.state, target, () => intent, { ...patchOptions, applies: { force: options.force === true } })
    )
  }
  const patch = Body.read(type, text)
  return answer(
    Scale.change(
      scope.state,
      target,
      (live) => Patch.changed(scope.state, scaleKind(kind), live, patch, patchOptions),
      patchOptions
    )
  )
}

/** A kube-apiserver cannot encode the errors of the Scale of a custom kind, because the encoder does not know its type. */
const unregistered = <A>(decode: () => A): A => {
  try {
    return decode()
  } catch (error) {
    const isKnown =
      !(error instanceof Failure.Failure) || error.code !== 400 || error.message.startsWith("the API version")
    throw isKnown
      ? error
      : Failure.badRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
  }
}

/** The Scale as a kind. It has the name and the schema of Scale, and otherwise the properties of the object's kind. */
const scaleKind = (kind: Kind): Kind => ({ ...kind, ...ScaleManagers.kind(), columns: [] })

const complete = (
  { exchange, scope }: Resources.ResourceRequest,
  query: Pick<Query.WriteQuery, "dryRun" | "fieldManager">
) =>
  Verbs.admitted(scope.state, {
    ...Resources.writeOptions(exchange, query),
    stored: scope.state.store.list,
    values: scope.state.store.values
  })

/** A subresource with POST only. The response is a Status. */
const posted =
  (
    schemaOf: () => Pick<Kind, "group" | "version" | "kind" | "schema">,
    post: (request: Resources.ResourceRequest, body: JsonObject, options: ReturnType<typeof complete>) => void
  ) =>
  (request: Resources.ResourceRequest): Resources.Answer => {
    const { exchange } = request
    const accepted = Resources.acceptedBy(request)
    const format = Negotiation.bodyFormat(exchange.request.headers["content-type"], request.kind.custom)
    const query = Query.write(exchange.target.query, "Create")
    const kind = { ...request.kind, ...schemaOf() }
    const body = Resources.decode({ ...request, kind }, Exchange.bodyOf(exchange), format, query)
    post(request, body, complete(request, query))
    return Exchange.answer(exchange, 201, created, accepted)
  }

const token = (request: Resources.ResourceRequest): Resources.Answer => {
  const { exchange, kind, path, scope } = request
  const accepted = Resources.acceptedBy(request)
  const format = Negotiation.bodyFormat(exchange.request.headers["content-type"], request.kind.custom)
  const query = Query.write(exchange.target.query, "Create")
  const body = Resources.decode(
    { ...request, kind: { ...kind, ...TokenRequest.named() } },
    Exchange.bodyOf(exchange),
    format,
    query
  )
  const options = complete(request, query)
  const answer = TokenRequest.answer(scope.state, kind, path.namespace, path.name, body, options)
  return Exchange.answer(exchange, 201, answer, accepted)
}

const created: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

const logs = ({ exchange, kind, path, scope }: Resources.ResourceRequest): Resources.Answer => {
  const pod = scope.verbs.get(kind, path.namespace, path.name)
  const options = PodLogs.of(pod, exchange.target.query)
  if ((Json.text(Json.at(pod, "spec", "nodeName")) ?? "") === "") {
    throw Failure.badRequest(`pod ${path.name} does not have a host assigned`)
  }
  if (scope.logs === undefined) throw Failure.notImplemented("logs without a kubelet")
  return Effect.map(scope.logs(pod, options), (body) =>
    typeof body === "string" ? Exchange.text(200, body) : Exchange.streamed(exchange, body, "text/plain")
  )
}

/** The subresources of built-in kinds that are not views of the object. */
const builtIn: {
  readonly [path: string]: {
    readonly method: string
    readonly answer: (request: Resources.ResourceRequest) => Resources.Answer
  }
} = {
  "/pods/binding": {
    method: "POST",
    answer: posted(Binding.named, ({ kind, path, scope }, body, options) =>
      Binding.bind(scope.state, kind, path.namespace, path.name, body, options)
    )
  },
  "/pods/eviction": {
    method: "POST",
    answer: posted(Eviction.named, ({ kind, path, scope }, body, options) =>
      Eviction.evict(scope.state, kind, path.namespace, path.name, body, options)
    )
  },
  "/pods/log": { method: "GET", answer: logs },
  "/serviceaccounts/token": { method: "POST", answer: token }
}
