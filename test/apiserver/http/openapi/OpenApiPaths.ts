/**
 * The operations of a kind as OpenAPI paths. kubectl reads from them whether a PATCH supports `fieldValidation` and strategic merge
 * patches.
 *
 * Unlike a kube-apiserver, this server does not publish protobuf, or the deprecated paths of `/watch/`.
 */
import type { Json, JsonObject } from "../../model/Json.ts"
import { apiVersionOf, type Kind, type Verb } from "../../model/Kind.ts"
import { nameOfKind } from "../../model/OpenApiDefinitions.ts"
import parameters from "./parameters.json"

/** The paths of a kind. `reference` names the definition of a kind in `components.schemas`. */
export const pathsOf = (kind: Kind, names: DefinitionNames): JsonObject => {
  const root = `/${kind.group === "" ? "api" : "apis"}/${apiVersionOf(kind)}`
  const collection = `${root}${kind.namespaced ? "/namespaces/{namespace}" : ""}/${kind.plural}`
  const made = (actions: ReadonlyArray<Action>) => actions.filter(({ verb }) => kind.verbs.includes(verb))
  const allNamespaces: ReadonlyArray<Action> = kind.namespaced ? [{ ...list, everywhere: true }] : []
  const subresourcePath = (
    name: string,
    actions: ReadonlyArray<Action>,
    as: Subject | undefined
  ): Iterable<readonly [string, ReadonlyArray<Action>]> => [
    [`${collection}/{name}/${name}`, actions.map((action) => ({ ...action, subresource: name, as }))]
  ]
  const paths: ReadonlyArray<readonly [string, ReadonlyArray<Action>]> = [
    [`${root}/${kind.plural}`, made(allNamespaces)],
    [collection, made([list, post, deletecollection])],
    [`${collection}/{name}`, made([get, put, remove, patch])],
    ...(kind.scale === undefined ? [] : subresourcePath("scale", parts, scale)),
    ...(kind.status === undefined ? [] : subresourcePath("status", parts, undefined)),
    ...(kind.otherSubresources ?? []).flatMap(({ name, verbs, ...of }) => [
      ...subresourcePath(
        name,
        verbs.flatMap((verb) => byVerb.get(verb) ?? []),
        of.kind === kind.kind ? undefined : { ...of, definition: nameOfKind(of.group, of.version, of.kind) ?? "" }
      )
    ])
  ]
  return Object.fromEntries(
    paths
      .filter(([, actions]) => actions.length > 0)
      .map(([path, actions]) => [path, pathItem(kind, names, path, actions)])
  )
}

/** The names of the definitions of a kind and of its list in `components.schemas`. */
export interface DefinitionNames {
  readonly object: string
  readonly list: string
}

/** The reference to a definition in a document. */
export const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** The kind of the body of a subresource, if it differs from the kind of the object. */
interface Subject {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Its name in `components.schemas`. */
  readonly definition: string
}

/** An operation of a path. */
interface Action {
  readonly method: "get" | "post" | "put" | "patch" | "delete"
  /** The value of `x-kubernetes-action`, which is also the key of the recorded parameters. */
  readonly action: "list" | "get" | "post" | "put" | "patch" | "delete" | "deletecollection"
  /** The verb that the kind must have. */
  readonly verb: Kind["verbs"][number]
  /** The first word of the operation's id. */
  readonly says: string
  readonly subresource?: string
  readonly as?: Subject | undefined
  readonly everywhere?: boolean
}

const list: Action = { method: "get", action: "list", verb: "list", says: "list" }
const post: Action = { method: "post", action: "post", verb: "create", says: "create" }
const deletecollection: Action = {
  method: "delete",
  action: "deletecollection",
  verb: "deletecollection",
  says: "delete"
}
const get: Action = { method: "get", action: "get", verb: "get", says: "read" }
const put: Action = { method: "put", action: "put", verb: "update", says: "replace" }
const remove: Action = { method: "delete", action: "delete", verb: "delete", says: "delete" }
const patch: Action = { method: "patch", action: "patch", verb: "patch", says: "patch" }

const parts = [get, put, patch]

const byVerb: ReadonlyMap<Verb, Action> = new Map([post, put].map((action) => [action.verb, action]))

const scale: Subject = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  definition: "io.k8s.api.autoscaling.v1.Scale"
}

const recorded: { readonly [action: string]: ReadonlyArray<JsonObject> } = parameters

/** If a path has only one operation, the parameters of the operation move to the path. */
const pathItem = (kind: Kind, names: DefinitionNames, path: string, actions: ReadonlyArray<Action>): JsonObject => {
  const [only] = actions.length === 1 ? actions : []
  const as = kind.custom ? undefined : actions[0]?.as
  const shared = [
    ...pathParameters(as?.kind ?? kind.kind, path),
    ...(only === undefined ? [] : parametersOf(kind, only))
  ]
  return {
    ...Object.fromEntries(
      actions.map((action) => [
        action.method,
        operation(kind, names, action, only === undefined ? parametersOf(kind, action) : [])
      ])
    ),
    parameters: shared.sort((one, other) => ((one.name ?? "") < (other.name ?? "") ? -1 : 1))
  }
}

const pathParameters = (kind: string, path: string): ReadonlyArray<JsonObject> =>
  (recorded.path ?? []).flatMap((parameter) => {
    if (parameter.in === "path" && !path.includes(`{${parameter.name}}`)) return []
    return parameter.name === "name" ? [{ ...parameter, description: `name of the ${kind}` }] : [parameter]
  })

const parametersOf = (kind: Kind, { action }: Action): ReadonlyArray<JsonObject> => {
  // A kube-apiserver publishes different parameters for these two actions of custom kinds.
  if (kind.custom && action === "get") return (recorded.list ?? []).filter(({ name }) => name === "resourceVersion")
  if (kind.custom && action === "deletecollection") return recorded.list ?? []
  return recorded[action] ?? []
}

const operation = (
  kind: Kind,
  names: DefinitionNames,
  action: Action,
  parameters: ReadonlyArray<JsonObject>
): JsonObject => {
  const { group, version } = kind
  const about = (kind.custom ? undefined : action.as) ?? kind
  const body = bodyOf(kind, names, action)
  return {
    tags: [`${identifier(group === "" ? "core" : group, false)}_${identifier(version, false)}`],
    description: described(kind, action),
    operationId: operationId(kind, action),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responses(kind, names, action),
    "x-kubernetes-action": action.action,
    "x-kubernetes-group-version-kind": { group: about.group, version: about.version, kind: about.kind }
  }
}

/** `patchAppsV1NamespacedDeploymentScale`. */
const operationId = (
  { group, kind, namespaced, version }: Kind,
  { action, subresource, everywhere, says }: Action
): string =>
  [
    says,
    identifier(group === "" ? "core" : group, true),
    identifier(version, true),
    action === "deletecollection" ? "Collection" : "",
    namespaced && everywhere !== true ? "Namespaced" : "",
    kind,
    subresource === undefined ? "" : identifier(subresource, true),
    everywhere === true ? "ForAllNamespaces" : ""
  ].join("")

/** `rbac.authorization.k8s.io` as `rbacAuthorization`. */
const identifier = (name: string, capitalized: boolean): string => {
  const joined = name
    .replace(/\.k8s\.io$/, "")
    .replace(/[^A-Za-z0-9_]+(.)?/g, (_, next: string = "") => next.toUpperCase())
  return capitalized ? joined.slice(0, 1).toUpperCase() + joined.slice(1) : joined
}

const described = ({ custom, kind }: Kind, { action, subresource, says }: Action): string => {
  const part = subresource === undefined ? "" : ` ${subresource} of`
  switch (action) {
    case "list":
      return `${custom ? "list" : "list or watch"} objects of kind ${kind}`
    case "deletecollection":
      return `delete collection of ${kind}`
    case "post":
    case "delete":
      return `${says}${part} ${article(kind)}${kind}`
    case "patch":
      return `partially update${part} the specified ${kind}`
    default:
      return `${says}${part} the specified ${kind}`
  }
}

const article = (noun: string): string => {
  if (noun.endsWith("s") && !noun.endsWith("ss")) return ""
  return /^[aeiou]/i.test(noun) ? "an " : "a "
}

const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
const status = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
const anyPatch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"

const objectOf = (names: DefinitionNames, { as }: Action): string => as?.definition ?? names.object

const bodyOf = ({ custom }: Kind, names: DefinitionNames, action: Action): JsonObject | undefined => {
  const types = custom ? served : ["*/*"]
  switch (action.action) {
    case "list":
    case "get":
      return undefined
    case "delete":
      return { content: content(types, deleteOptions) }
    case "deletecollection":
      return custom ? undefined : { content: content(types, deleteOptions) }
    case "patch":
      return {
        content: content(custom ? patches : [...patches, "application/strategic-merge-patch+json"], anyPatch),
        required: true
      }
    default:
      return { content: content(types, objectOf(names, action)), required: true }
  }
}

const served = ["application/json", "application/yaml"]
const watched = ["application/json", "application/json;stream=watch", "application/yaml"]
const patches = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]

const content = (types: ReadonlyArray<string>, name: string): JsonObject =>
  Object.fromEntries(types.map((type) => [type, { schema: reference(name) }]))

const responses = ({ custom, deletedAs }: Kind, names: DefinitionNames, action: Action): JsonObject => {
  const answer = (description: string, name: string, types = served): Json => ({
    description,
    content: content(types, name)
  })
  const object = objectOf(names, action)
  const unauthorized = { "401": { description: "Unauthorized" } }
  switch (action.action) {
    case "list":
      return { "200": answer("OK", names.list, custom ? served : watched), ...unauthorized }
    case "post":
      return {
        "200": answer("OK", object),
        "201": answer("Created", object),
        "202": answer("Accepted", object),
        ...unauthorized
      }
    case "put":
      return { "200": answer("OK", object), "201": answer("Created", object), ...unauthorized }
    case "patch":
      return { "200": answer("OK", object), ...(custom ? {} : { "201": answer("Created", object) }), ...unauthorized }
    case "delete": {
      const deleted = deletedAs === "object" ? names.object : status
      return { "200": answer("OK", deleted), "202": answer("Accepted", deleted), ...unauthorized }
    }
    case "deletecollection":
      return { "200": answer("OK", status), ...unauthorized }
    case "get":
      return { "200": answer("OK", object), ...unauthorized }
  }
}
