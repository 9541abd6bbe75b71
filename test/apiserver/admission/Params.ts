/** The params of a policy: objects of its `paramKind` that a binding names or selects. */
import * as Check from "../kinds/Check.ts"
import * as Attributes from "../model/Attributes.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import type { ServerState } from "./ServerState.ts"

/** The kind of the params. Undefined if the policy has no `paramKind`; a text is the error for an unknown kind. */
export const kindOf = ({ registry }: ServerState, value: JsonValue | undefined): Kind | string | undefined => {
  if (!Json.isObject(value)) return undefined
  const apiVersion = Json.text(value.apiVersion) ?? ""
  const kind = Json.text(value.kind) ?? ""
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion]
  return (
    registry.named(apiVersion, kind) ??
    `failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`
  )
}

/** The params of a binding. A text is the error for missing or invalid params. The server evaluates the policy for each of them. */
export const collect = (
  { store }: ServerState,
  kind: Kind | undefined,
  value: JsonValue | undefined,
  attributes: Attributes.Attributes
): ReadonlyArray<JsonObject | null> | string => {
  if (kind === undefined || !Json.isObject(value)) return [null]
  const own = Json.text(value.namespace) ?? ""
  const namespace = own === "" ? Attributes.namespaceOf(attributes) : own
  if (kind.namespaced && namespace === "") {
    return "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
  }
  if (!kind.namespaced && own !== "") {
    return "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
  }
  const paramNamespace = kind.namespaced ? namespace : ""
  const name = Json.text(value.name) ?? ""
  const named = name === "" ? undefined : store.get(kind.storage, paramNamespace, name)
  const found =
    name === ""
      ? store
          .list(kind.storage, kind.namespaced ? paramNamespace : undefined)
          .filter((one) => Check.selects(value.selector, Json.texts(Json.at(one, "metadata", "labels"))))
      : named === undefined
        ? []
        : [named]
  if (found.length === 0 && value.parameterNotFoundAction === "Deny") {
    return "no params found for policy binding with `Deny` parameterNotFoundAction"
  }
  return found.map((one) => ({ ...kind.fromStorage(one), apiVersion: apiVersionOf(kind), kind: kind.kind }))
}
