/**
 * Records schemas, query parameters, names and columns of a kube-apiserver, for the kinds that the embedded server serves.
 * The recording is committed, so the embedded server runs without a kube-apiserver.
 */

import * as Hash from "@homeostat/apiserver/http/openapi/Hash"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Api from "@homeostat/testkit/envtest/Api"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"

/** The files, by their paths in `test/apiserver`. */
export interface Recording {
  /** The schemas that the served kinds consist of, by their names in `components.schemas`. */
  readonly "model/definitions.json": JsonObject
  /** The query parameters of each action; `path` has the parameters of the path itself. */
  readonly "http/openapi/parameters.json": JsonObject
  /** The resources in the order of discovery. */
  readonly "kinds/names.json": ReadonlyArray<JsonObject>
  /** The columns of each kind that can be listed, by `group/version/Kind`. */
  readonly "kinds/columns/columns.json": JsonObject
  /** All paths of the kube-apiserver: its resources with their verbs and subresources, by group and version, and its other paths. */
  readonly "http/openapi/discovery.json": JsonObject
}

/** The kinds that the embedded server serves, by group and version. */
export const served: { readonly [groupVersion: string]: ReadonlyArray<string> } = {
  v1: [
    "Namespace",
    "Pod",
    "Service",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Node",
    "Event",
    "Endpoints",
    "ReplicationController",
    "LimitRange",
    "ResourceQuota",
    "PodTemplate"
  ],
  "apps/v1": ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision"],
  "events.k8s.io/v1": ["Event"],
  "authentication.k8s.io/v1": ["SelfSubjectReview", "TokenReview"],
  "authorization.k8s.io/v1": [
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview"
  ],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
  "autoscaling/v1": ["HorizontalPodAutoscaler"],
  "batch/v1": ["Job", "CronJob"],
  "networking.k8s.io/v1": ["Ingress", "IngressClass", "NetworkPolicy"],
  "node.k8s.io/v1": ["RuntimeClass"],
  "policy/v1": ["PodDisruptionBudget"],
  "rbac.authorization.k8s.io/v1": ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"],
  "storage.k8s.io/v1": ["StorageClass"],
  "admissionregistration.k8s.io/v1": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration"
  ],
  "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
  "scheduling.k8s.io/v1": ["PriorityClass"],
  "coordination.k8s.io/v1": ["Lease"],
  "discovery.k8s.io/v1": ["EndpointSlice"]
}

/** Kinds that are not resources: bodies of subresources, patches and deletions of the served kinds. */
const bodies: ReadonlyArray<string> = [
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
  "io.k8s.api.authentication.v1.TokenRequest",
  "io.k8s.api.autoscaling.v1.Scale",
  "io.k8s.api.core.v1.Binding",
  "io.k8s.api.policy.v1.Eviction"
]

const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

/** Reads all files of the recording from a kube-apiserver. Fails if a request fails. */
export const record = (cluster: ControlPlane): Effect.Effect<Recording, Api.RequestFailed> =>
  Effect.gen(function* () {
    const documents = yield* Effect.forEach(Object.keys(served), (groupVersion) =>
      ask(cluster, `/openapi/v3${rootOf(groupVersion)}`)
    )
    const groups = [
      ...discovered(yield* ask(cluster, "/api", aggregated)),
      ...discovered(yield* ask(cluster, "/apis", aggregated))
    ]
    const hashes = yield* Effect.forEach(Object.keys(served), (groupVersion) => ask(cluster, rootOf(groupVersion)))
    const names = namesOf(
      groups,
      documents,
      new Map(Object.keys(served).map((groupVersion, at) => [groupVersion, J.object(hashes[at])]))
    )
    const root = yield* ask(cluster, "/")
    const columns = yield* Effect.forEach(
      names.filter((name) => J.list(name.verbs).includes("list")),
      (name) =>
        Effect.map(
          ask(
            cluster,
            `${rootOf(groupVersionOf(name))}/${name.plural}`,
            "application/json;as=Table;v=v1;g=meta.k8s.io"
          ),
          (table) => [`${name.group}/${name.version}/${name.kind}`, table.columnDefinitions] as const
        )
    )
    return {
      "model/definitions.json": definitionsOf(documents),
      "http/openapi/parameters.json": parametersOf(documents),
      "kinds/names.json": names,
      "kinds/columns/columns.json": Object.fromEntries(columns),
      "http/openapi/discovery.json": { resources: resourcesOf(groups), paths: otherPathsOf(root) }
    }
  })

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** `/api/v1`, `/apis/apps/v1`. */
const rootOf = (groupVersion: string): string =>
  groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`

const groupVersionOf = ({ group, version }: JsonObject): string => (group === "" ? `${version}` : `${group}/${version}`)

const ask = (cluster: ControlPlane, path: string, accept?: string): Effect.Effect<JsonObject, Api.RequestFailed> =>
  Effect.map(Api.expect(cluster.admin, "GET", path, { accept }), (answer) => J.object(answer as Json))

interface Version {
  readonly group: string
  readonly version: string
  readonly resources: ReadonlyArray<JsonObject>
}

const discovered = (list: JsonObject): ReadonlyArray<Version> =>
  J.objects(list.items).flatMap((group) =>
    J.objects(group.versions).map((version) => ({
      group: J.text(J.at(group, "metadata", "name")) ?? "",
      version: J.text(version.version) ?? "",
      resources: J.objects(version.resources)
    }))
  )

/** The verbs of each resource and subresource. */
const resourcesOf = (versions: ReadonlyArray<Version>): JsonObject =>
  Object.fromEntries(
    versions.map((version) => [
      groupVersionOf({ ...version }),
      version.resources.map((resource) => ({
        plural: resource.resource,
        namespaced: resource.scope === "Namespaced",
        verbs: resource.verbs,
        subresources: J.objects(resource.subresources).map(({ subresource, verbs }) => ({ name: subresource, verbs }))
      }))
    ])
  )

/** The paths outside of `/api` and `/apis`. */
const otherPathsOf = (root: JsonObject): ReadonlyArray<Json> =>
  J.list(root.paths).filter((path) => !/^\/apis?(\/|$)/.test(`${path}`))

/** The served resources, each with the version in which its objects are stored if that is another version. */
const namesOf = (
  versions: ReadonlyArray<Version>,
  documents: ReadonlyArray<JsonObject>,
  lists: ReadonlyMap<string, JsonObject>
): ReadonlyArray<JsonObject> =>
  versions.flatMap(({ group, resources, version }) => {
    const groupVersion = groupVersionOf({ group, version })
    return resources.flatMap((resource) => {
      const kind = J.text(J.at(resource, "responseKind", "kind")) ?? ""
      if (!(served[groupVersion] ?? []).includes(kind)) return []
      const listed = J.objects(lists.get(groupVersion)?.resources).find(({ name }) => name === resource.resource)
      const storedAs = storageVersion(kind, J.text(listed?.storageVersionHash))
      return [
        {
          group,
          version,
          kind,
          plural: resource.resource,
          singular: resource.singularResource,
          namespaced: resource.scope === "Namespaced",
          verbs: resource.verbs,
          shortNames: J.list(resource.shortNames),
          categories: J.list(resource.categories),
          deletedAs: deletedAs(documents, { group, version, kind }),
          ...(storedAs === undefined || storedAs === groupVersion ? {} : { storageVersion: storedAs }),
          subresources: J.objects(resource.subresources).map((subresource) => ({
            name: subresource.subresource,
            // An empty version stands for the resource's own group and version.
            ...(J.at(subresource, "responseKind", "version") === ""
              ? { group, version }
              : {
                  group: J.at(subresource, "responseKind", "group"),
                  version: J.at(subresource, "responseKind", "version")
                }),
            kind: J.at(subresource, "responseKind", "kind"),
            verbs: subresource.verbs
          }))
        }
      ]
    })
  })

/** The body of the response to the DELETE of one object, according to the OpenAPI documents: the object or a Status. */
const deletedAs = (documents: ReadonlyArray<JsonObject>, of: JsonObject): "object" | "status" => {
  const operations = documents
    .flatMap((document) => Object.values(J.object(document.paths)))
    .map((path) => J.object(J.at(path, "delete")))
  const deletion = operations.find(
    (operation) => operation["x-kubernetes-action"] === "delete" && J.equal(operation[gvk], of)
  )
  const answer = J.text(J.at(deletion, "responses", "200", "content", "application/json", "schema", "$ref"))
  return answer === undefined || answer.endsWith(".Status") ? "status" : "object"
}

/** The version with this hash. A server publishes only the hash of the storage version. */
const storageVersion = (kind: string, hash: string | undefined): string | undefined =>
  // CustomResourceDefinitions are stored in a version that is no longer served.
  [...Object.keys(served), "apiextensions.k8s.io/v1beta1"].find(
    (groupVersion) => Hash.storageVersion(groupVersion, kind) === hash
  )

const schemasOf = (document: JsonObject | undefined): JsonObject => J.object(J.at(document, "components", "schemas"))

const definitionsOf = (documents: ReadonlyArray<JsonObject>): JsonObject => {
  const all: JsonObject = Object.assign({}, ...documents.map(schemasOf))
  const reached = new Set<string>()
  const reach = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    for (const reference of references(all[name])) reach(reference)
  }
  for (const name of [...Object.keys(all).filter((name) => isServed(all[name])), ...bodies]) reach(name)
  // Each document also lists DeleteOptions under its own group. The embedded server adds that group when it makes a document.
  const options = J.object(all[deleteOptions])
  const core = J.objects(options[gvk]).filter(({ group }) => group === "")
  return Object.fromEntries(
    [...reached].sort().map((name) => [name, name === deleteOptions ? { ...options, [gvk]: core } : all[name]])
  )
}

const gvk = "x-kubernetes-group-version-kind"

/** Returns true for a served kind and for the list of a served kind. */
const isServed = (schema: Json | undefined): boolean =>
  J.objects(J.at(schema, gvk)).some((is) => {
    const kinds = served[groupVersionOf(is)] ?? []
    return kinds.some((kind) => is.kind === kind || is.kind === `${kind}List`)
  })

const references = (value: Json | undefined): ReadonlyArray<string> => {
  if (J.isList(value)) return value.flatMap(references)
  if (!J.isObject(value)) return []
  const reference = value.$ref
  if (typeof reference === "string") return [reference.replace("#/components/schemas/", "")]
  return Object.values(value).flatMap(references)
}

/** The parameters of one kind. They are the same for all kinds. */
const parametersOf = (documents: ReadonlyArray<JsonObject>): JsonObject => {
  const paths: JsonObject = Object.assign({}, ...documents.map((document) => J.object(document.paths)))
  const collection = J.object(paths["/apis/apps/v1/namespaces/{namespace}/deployments"])
  const item = J.object(paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"])
  return {
    path: item.parameters,
    list: J.at(collection, "get", "parameters"),
    post: J.at(collection, "post", "parameters"),
    deletecollection: J.at(collection, "delete", "parameters"),
    put: J.at(item, "put", "parameters"),
    patch: J.at(item, "patch", "parameters"),
    delete: J.at(item, "delete", "parameters")
  }
}
