/** Matches requests against the rules and selectors of webhooks and policies. */
import * as Check from "../kinds/Check.ts"
import * as Attributes from "../model/Attributes.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { ServerState } from "./ServerState.ts"

const group = "admissionregistration.k8s.io"

/** True if policies and webhooks skip the request, because it writes a policy or a webhook. */
export const isExempt = ({ resource }: Attributes.Attributes): boolean => resource.group === group

const labelsOf = (object: JsonObject | null): { readonly [name: string]: string } =>
  Json.texts(Json.at(object ?? undefined, "metadata", "labels"))

/** The stored Namespace with this name; undefined if it does not exist. */
export const storedNamespace = ({ store }: Pick<ServerState, "store">, name: string): JsonObject | undefined =>
  name === "" ? undefined : store.get("/namespaces", "", name)

/** True if a `namespaceSelector` matches. It matches all cluster-scoped objects. */
const matchesNamespace = (
  state: ServerState,
  selector: JsonValue | undefined,
  attributes: Attributes.Attributes
): boolean => {
  const { object, operation, resource, subresource } = attributes
  const namespace = Attributes.namespaceOf(attributes)
  if (Check.isEmptySelector(selector) || (namespace === "" && !Attributes.isNamespaces(resource))) return true
  const written = Attributes.isNamespaces(resource) && subresource === "" && operation !== "DELETE"
  return Check.selects(selector, labelsOf(written ? object : (storedNamespace(state, namespace) ?? null)))
}

/** True if an `objectSelector` matches the new or the old object. */
const matchesObject = (selector: JsonValue | undefined, { object, oldObject }: Attributes.Attributes): boolean =>
  Check.isEmptySelector(selector) ||
  [object, oldObject].some((one) => one !== null && Check.selects(selector, labelsOf(one)))

/** True if `namespaceSelector` and `objectSelector` match. */
export const selects = (state: ServerState, selectors: JsonObject, attributes: Attributes.Attributes): boolean =>
  matchesNamespace(state, selectors.namespaceSelector, attributes) &&
  matchesObject(selectors.objectSelector, attributes)

/**
 * The version of the resource that a rule matches; undefined if no rule matches. With the match policy Equivalent, it may differ from the
 * version of the request.
 */
export const matched = (
  state: ServerState,
  rules: JsonValue | undefined,
  matchPolicy: JsonValue | undefined,
  attributes: Attributes.Attributes
): Kind | undefined => {
  const given = Json.objects(rules)
  const { resource } = attributes
  if (given.some((rule) => matches(rule, resource, attributes))) return resource
  if (matchPolicy === "Exact") return undefined
  const others = state.registry.kinds().filter((kind) => kind.storage === resource.storage && kind !== resource)
  for (const rule of given) {
    const found = others.find((kind) => matches(rule, kind, attributes))
    if (found !== undefined) return found
  }
  return undefined
}

const includes = (value: JsonValue | undefined, wanted: string): boolean =>
  Json.list(value).some((one) => one === "*" || one === wanted)

const matches = (rule: JsonObject, kind: Kind, attributes: Attributes.Attributes): boolean => {
  const names = Json.list(rule.resourceNames)
  return (
    inScope(rule.scope, kind, attributes) &&
    includes(rule.operations, attributes.operation) &&
    includes(rule.apiGroups, kind.group) &&
    includes(rule.apiVersions, kind.version) &&
    Json.list(rule.resources).some((one) => isResource(String(one), kind.plural, attributes.subresource)) &&
    (names.length === 0 || names.includes(attributes.name))
  )
}

const inScope = (scope: JsonValue | undefined, kind: Kind, attributes: Attributes.Attributes): boolean => {
  const isInNamespace = !Attributes.isNamespaces(kind) && Attributes.namespaceOf(attributes) !== ""
  if (scope === "Namespaced") return isInNamespace
  return scope !== "Cluster" || !isInNamespace
}

/** Matches the resource of a rule: `pods`, `pods/status`, `pods/*`, `*`, `*\/scale` or `*\/*`. */
const isResource = (rule: string, plural: string, subresource: string): boolean => {
  const slash = rule.indexOf("/")
  const resource = slash < 0 ? rule : rule.slice(0, slash)
  const sub = slash < 0 ? "" : rule.slice(slash + 1)
  return (resource === "*" || resource === plural) && (sub === "*" || sub === subresource)
}
