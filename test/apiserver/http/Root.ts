/** The paths without resources: the version of the server, its health, and discovery. */

import * as Negotiation from "../codec/Negotiation.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Exchange from "./Exchange.ts"
import * as Discovery from "./openapi/Discovery.ts"
import * as OpenApi from "./openapi/OpenApi.ts"
import * as OpenApiV2 from "./openapi/OpenApiV2.ts"
import * as Unserved from "./openapi/Unserved.ts"
import type { RequestScope } from "./RequestScope.ts"

/** The version of the server. */
const version: JsonObject = {
  major: "1",
  minor: "37",
  emulationMajor: "1",
  emulationMinor: "37",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "36",
  gitVersion: "v1.37.1+homeostat",
  gitCommit: "unknown",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: ""
}

const checks = ["ping", "log", "etcd"]

/** Handles a request for a path without a resource. */
export const answer = (
  scope: RequestScope,
  exchange: Exchange.Exchange,
  parts: ReadonlyArray<string>
): Exchange.HttpResponse => {
  const [first, second, third] = parts
  switch (first) {
    case undefined:
      return json(exchange, { paths: paths(scope) })
    case "version":
      if (exchange.request.method !== "GET" && exchange.request.method !== "HEAD") throw Failure.noSuchMethod()
      if (parts.length > 1) return Exchange.nothing
      checkRepresentation(exchange, ["application/json"])
      return json(exchange, version)
    case "healthz":
    case "livez":
    case "readyz":
      return health(exchange, first, second)
    case "openapi":
      if (second === "v2" && parts.length === 2) return OpenApiV2.answer(exchange.request.headers.accept)
      return second === "v3" ? openApi(scope, exchange) : Exchange.nothing
    case "api":
      if (second === undefined) {
        checkRepresentation(exchange, representations)
        return groups(scope, exchange, "api")
      }
      return parts.length === 2 ? ofVersion(scope, exchange, "", second) : Exchange.nothing
    case "apis":
      if (second === undefined) return groups(scope, exchange, "apis")
      if (second === "") return Exchange.nothing
      if (third === undefined) return ofGroup(scope, exchange, second)
      return parts.length === 3 ? ofVersion(scope, exchange, second, third) : Exchange.nothing
    default:
      Unserved.checkPath(exchange.target.path)
      return Exchange.nothing
  }
}

const representations = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]

/**
 * Rejects a client that does not accept any of the media types, like the router of a kube-apiserver. Ranges such as `application/*` do not match.
 */
const checkRepresentation = ({ request: { headers } }: Exchange.Exchange, available: ReadonlyArray<string>): void => {
  const { accept = "" } = headers
  const types = Negotiation.clausesOf(accept).map(({ type }) => type)
  if (accept.trim() === "" || types.some((type) => type === "*/*" || available.includes(type))) return
  throw Failure.noRepresentation(available)
}

const json = (exchange: Exchange.Exchange, value: JsonObject): Exchange.HttpResponse =>
  Exchange.answer(exchange, 200, value, { format: "json", view: "object", version: "v1", pretty: false })

const health = ({ target: { path, query } }: Exchange.Exchange, name: string, check: string | undefined) => {
  if (check !== undefined) {
    if (checks.includes(check)) return Exchange.text(200, "ok")
    Unserved.checkPath(path)
    return Exchange.nothing
  }
  return Exchange.text(
    200,
    query.has("verbose") ? `${checks.map((one) => `[+]${one} ok\n`).join("")}${name} check passed\n` : "ok"
  )
}

const openApi = (
  scope: RequestScope,
  { now, request: { headers }, target }: Exchange.Exchange
): Exchange.HttpResponse =>
  OpenApi.answer(scope.state.registry.kinds(), {
    path: target.path,
    hash: target.query.get("hash") ?? undefined,
    accept: headers.accept,
    ifNoneMatch: headers["if-none-match"],
    now
  })

const groups = (scope: RequestScope, exchange: Exchange.Exchange, root: "api" | "apis"): Exchange.HttpResponse => {
  const kinds = scope.state.registry.kinds()
  const form = Discovery.formOf(exchange.request.headers.accept)
  if (form === undefined) {
    throw Failure.notAcceptable(representations)
  }
  if (form.aggregated) return aggregated(scope, exchange, root, form.format)
  const list = root === "api" ? Discovery.apiVersions(scope.address) : Discovery.apiGroupList(kinds)
  return shown(exchange, list, form.format, {})
}

const aggregated = (
  scope: RequestScope,
  exchange: Exchange.Exchange,
  root: "api" | "apis",
  format: Discovery.Form["format"]
): Exchange.HttpResponse => {
  const list = Discovery.aggregated(scope.state.registry.kinds(), root)
  const etag = Discovery.etag(list)
  const headers = { etag, vary: "Accept", "cache-control": "public" }
  if (exchange.request.headers["if-none-match"] === etag) return { status: 304, headers, body: "" }
  const answer = shown(exchange, list, format, headers)
  const type = Discovery.aggregatedType.replace("application/json", Negotiation.contentType(format))
  return { ...answer, headers: { ...answer.headers, "content-type": type } }
}

const ofGroup = (scope: RequestScope, exchange: Exchange.Exchange, group: string): Exchange.HttpResponse => {
  const found = Discovery.apiGroup(scope.state.registry.kinds(), group)
  if (found !== undefined) return list(exchange, found)
  Unserved.checkGroup(group)
  return Exchange.nothing
}

const ofVersion = (
  scope: RequestScope,
  exchange: Exchange.Exchange,
  group: string,
  version = ""
): Exchange.HttpResponse => {
  const found = Discovery.apiResourceList(scope.state.registry.kinds(), group, version)
  if (found !== undefined) {
    if (scope.builtInGroups.has(group)) checkRepresentation(exchange, representations)
    return list(exchange, found)
  }
  Unserved.checkGroup(group, version)
  if (scope.builtInGroups.has(group)) throw Failure.noSuchPath()
  return Exchange.nothing
}

const list = (exchange: Exchange.Exchange, value: JsonObject): Exchange.HttpResponse => {
  const form = Discovery.formOf(exchange.request.headers.accept)
  if (form === undefined) {
    throw Failure.notAcceptable(representations)
  }
  return shown(exchange, value, form.format, {})
}

const shown = (
  exchange: Exchange.Exchange,
  value: JsonObject,
  format: Discovery.Form["format"],
  headers: { readonly [name: string]: string }
): Exchange.HttpResponse => {
  const accepted = { format, view: "object", version: "v1", pretty: false } as const
  const answer = Exchange.answer(exchange, 200, value, accepted)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

const paths = ({ state: { registry } }: RequestScope): ReadonlyArray<string> =>
  [
    ...new Set([
      ...registry
        .kinds()
        .flatMap(({ group, version }) =>
          group === "" ? ["/api", `/api/${version}`] : ["/apis", `/apis/${group}`, `/apis/${group}/${version}`]
        ),
      ...["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
    ])
  ].sort()
