/** The AdmissionRequest of a request, and the other variables of expressions. */

import type * as AdmissionExpressions from "../kinds/cel/AdmissionExpressions.ts"
import * as Authorizer from "../kinds/cel/AuthorizerLibrary.ts"
import * as Attributes from "../model/Attributes.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as User from "../model/User.ts"
import * as Matching from "./Matching.ts"
import type { ServerState, WriteOptions } from "./ServerState.ts"

const optionsKinds = { CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions" } as const

const optionsOf = (
  { deleteOptions, operation }: Attributes.Attributes,
  { dryRun, query }: WriteOptions
): JsonObject => ({
  apiVersion: "meta.k8s.io/v1",
  kind: optionsKinds[operation],
  ...(operation === "DELETE" ? deleteOptions : query),
  ...(dryRun && { dryRun: ["All"] })
})

/** The AdmissionRequest without the objects, in the version of the resource that a policy matches. */
export const requestOf = (attributes: Attributes.Attributes, matched: Kind, options: WriteOptions): JsonObject => {
  const { kind, name, operation, resource, subresource } = attributes
  const namespace = Attributes.namespaceOf(attributes)
  const sub = subresource === "" ? {} : { subResource: subresource, requestSubResource: subresource }
  return {
    kind: Attributes.kindOf(kind ?? matched),
    resource: Attributes.resourceOf(matched),
    requestKind: Attributes.kindOf(kind ?? resource),
    requestResource: Attributes.resourceOf(resource),
    ...sub,
    ...(name !== "" && { name }),
    ...(namespace !== "" && { namespace }),
    operation,
    userInfo: User.infoOf(options.user),
    dryRun: options.dryRun,
    options: optionsOf(attributes, options)
  }
}

/** The variables of a policy's expressions. */
export const inputOf = (
  state: ServerState,
  attributes: Attributes.Attributes,
  matched: Kind,
  params: JsonObject | null,
  options: WriteOptions
): AdmissionExpressions.Input => {
  const { object, oldObject, resource, subresource } = attributes
  const { authorizer, user } = options
  const convert = (one: JsonObject | null) =>
    attributes.kind === undefined ? Attributes.converted(one, resource, matched) : one
  return {
    object: convert(object),
    oldObject: convert(oldObject),
    request: requestOf(attributes, matched, options),
    namespaceObject: exposed(Matching.storedNamespace(state, attributes.namespace)),
    params,
    authorizer: Authorizer.of(user, authorizer?.authorize, {
      group: resource.group,
      resource: resource.plural,
      subresource,
      namespace: attributes.namespace,
      name: attributes.name
    })
  }
}

/** The variables of match conditions: no namespace, and the resource of the original request. */
export const conditionInput = (
  input: AdmissionExpressions.Input,
  { resource }: Attributes.Attributes
): AdmissionExpressions.Input => ({
  ...input,
  request: { ...input.request, resource: Attributes.resourceOf(resource) },
  namespaceObject: null
})

const exposedMetadata = [
  "name",
  "generateName",
  "namespace",
  "labels",
  "annotations",
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generation",
  "resourceVersion",
  "finalizers"
]

/** The fields of a Namespace that expressions can read. */
const exposed = (namespace: JsonObject | undefined): JsonObject | null => {
  if (namespace === undefined) return null
  const metadata = Json.object(namespace.metadata)
  const shown = exposedMetadata.flatMap((name) =>
    metadata[name] === undefined ? [] : [[name, metadata[name]] as const]
  )
  return { ...namespace, metadata: Object.fromEntries(shown) }
}

/** The name in a denial: the name of the object, or its `generateName`. */
export const shownName = ({ name, object }: Attributes.Attributes): string =>
  name || Json.text(Json.at(object ?? undefined, "metadata", "generateName")) || "Unknown"
