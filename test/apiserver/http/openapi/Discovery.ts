/**
 * Discovery: the resources of a server at `/api`, `/apis` and the paths below. Clients use it to map kinds to paths.
 *
 * `/api` and `/apis` have two forms. A client that accepts `APIGroupDiscoveryList` gets all resources in one response. Other clients get
 * the names of the groups, and request each version.
 */

import { clausesOf, type Format } from "../../codec/Negotiation.ts"
import { names } from "../../kinds/Names.ts"
import type { JsonObject } from "../../model/Json.ts"
import { apiVersionOf, type Kind, type Subresource, type Verb } from "../../model/Kind.ts"
import * as Hash from "./Hash.ts"
import { byPriority } from "./Version.ts"

/** The media type of the aggregated form. */
export const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** All resources of the core group (`/api`) or of all others (`/apis`). */
export const aggregated = (kinds: ReadonlyArray<Kind>, root: "api" | "apis"): JsonObject => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  metadata: {},
  items: groupsOf(kinds)
    .filter((group) => (group === "") === (root === "api"))
    .map((group) => ({
      metadata: group === "" ? {} : { name: group },
      versions: versionsOf(kinds, group).map((version) => ({
        version,
        resources: resourcesOf(kinds, group, version).map(resource),
        freshness: "Current"
      }))
    }))
})

/** The response at `/api`. `address` is the address at which clients reach the server: `127.0.0.1:6443`. */
export const apiVersions = (address: string): JsonObject => ({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }]
})

/** The response at `/apis`. */
export const apiGroupList = (kinds: ReadonlyArray<Kind>): JsonObject => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: groupsOf(kinds)
    .filter((group) => group !== "")
    .map((group) => groupIn(kinds, group))
})

/** The response at `/apis/{group}`; undefined for an unknown group. */
export const apiGroup = (kinds: ReadonlyArray<Kind>, group: string): JsonObject | undefined =>
  group !== "" && groupsOf(kinds).includes(group)
    ? { kind: "APIGroup", apiVersion: "v1", ...groupIn(kinds, group) }
    : undefined

/** The response at `/api/v1` and `/apis/{group}/{version}`; undefined for an unknown version. */
export const apiResourceList = (kinds: ReadonlyArray<Kind>, group: string, version: string): JsonObject | undefined => {
  const resources = resourcesOf(kinds, group, version)
  if (resources.length === 0) return undefined
  return {
    kind: "APIResourceList",
    // The APIResourceList of the core group has no apiVersion, for historical reasons.
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf({ group, version }),
    resources: resources.flatMap((kind) => [
      {
        name: kind.plural,
        singularName: kind.singular,
        namespaced: kind.namespaced,
        kind: kind.kind,
        verbs: kind.verbs,
        ...aliases(kind),
        ...(kind.verbs.includes("list") ? { storageVersionHash: storageVersionHash(kind) } : {})
      },
      ...subresourcesOf(kind).map((subresource) => ({
        name: `${kind.plural}/${subresource.name}`,
        singularName: "",
        namespaced: kind.namespaced,
        ...(isOwn(kind, subresource) ? {} : { group: subresource.group, version: subresource.version }),
        kind: subresource.kind,
        verbs: subresource.verbs
      }))
    ])
  }
}

/** The entity tag of an aggregated response. */
export const etag = (list: JsonObject): string => `"${Hash.document(JSON.stringify(list))}"`

/** The form of `/api` and `/apis` for an `Accept` header; undefined if the server does not have any of its media types (406). */
export const formOf = (accept: string | undefined): Form | undefined => {
  for (const { parameters, type } of clausesOf(accept === undefined || accept.trim() === "" ? "*/*" : accept)) {
    const format = formats[type]
    if (format === undefined) continue
    if (!parameters.has("as")) return { format, aggregated: false }
    if (
      parameters.get("as") === "APIGroupDiscoveryList" &&
      parameters.get("g") === "apidiscovery.k8s.io" &&
      parameters.get("v") === "v2"
    ) {
      return { format, aggregated: true }
    }
  }
  return undefined
}

/** One of the forms of `/api` and `/apis`. */
export interface Form {
  readonly format: Format
  readonly aggregated: boolean
}

const formats: { readonly [type: string]: Format } = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/vnd.kubernetes.protobuf": "protobuf",
  "application/*": "json",
  "*/*": "json"
}

/** The built-in groups in the order of a kube-apiserver, because clients depend on it. All other groups follow by name. */
const groupsOf = (kinds: ReadonlyArray<Kind>): ReadonlyArray<string> => {
  const builtIn = [...new Set(names.map(({ group }) => group))]
  const served = new Set(kinds.map(({ group }) => group))
  return [
    ...builtIn.filter((group) => served.has(group)),
    ...[...served].filter((group) => !builtIn.includes(group)).sort()
  ]
}

/** The versions of a group, the preferred one first. */
const versionsOf = (kinds: ReadonlyArray<Kind>, group: string): ReadonlyArray<string> =>
  [...new Set(kinds.filter((kind) => kind.group === group).map(({ version }) => version))].sort(byPriority)

const resourcesOf = (kinds: ReadonlyArray<Kind>, group: string, version: string): ReadonlyArray<Kind> =>
  kinds
    .filter((kind) => kind.group === group && kind.version === version)
    .sort((one, other) => (one.plural < other.plural ? -1 : 1))

const groupIn = (kinds: ReadonlyArray<Kind>, group: string): JsonObject => {
  const versions = versionsOf(kinds, group).map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions, preferredVersion: versions[0] }
}

const resource = (kind: Kind): JsonObject => {
  const subresources = subresourcesOf(kind)
  return {
    resource: kind.plural,
    responseKind: responseKind(kind, kind),
    scope: kind.namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...aliases(kind),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map((subresource) => ({
            subresource: subresource.name,
            responseKind: responseKind(kind, subresource),
            verbs: subresource.verbs
          }))
        })
  }
}

const aliases = ({ categories, shortNames }: Kind): JsonObject => ({
  ...(shortNames.length === 0 ? {} : { shortNames }),
  ...(categories.length === 0 ? {} : { categories })
})

/** The kind of a resource. It omits the group and the version if they are those of the list. */
const responseKind = (of: Kind, { group, kind, version }: Pick<Kind, "group" | "version" | "kind">): JsonObject =>
  isOwn(of, { group, version }) && !of.custom ? { group: "", version: "", kind } : { group, version, kind }

const isOwn = (of: Kind, { group, version }: Pick<Kind, "group" | "version">): boolean =>
  of.group === group && of.version === version

/** The subresources of a kind in the order of a kube-apiserver: sorted for built-in kinds, `status` first for custom kinds. */
const subresourcesOf = (kind: Kind): ReadonlyArray<Subresource> => {
  const { group, kind: name, version } = kind
  const all = [
    ...(kind.status === undefined ? [] : [{ name: "status", group, version, kind: name, verbs: parts }]),
    ...(kind.scale === undefined
      ? []
      : [{ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: parts }]),
    ...(kind.otherSubresources ?? [])
  ]
  return kind.custom ? all : all.sort((one, other) => (one.name < other.name ? -1 : 1))
}

const parts: ReadonlyArray<Verb> = ["get", "patch", "update"]

/** The hash of the storage version. It changes with that version, so clients can detect that they must migrate objects. */
const storageVersionHash = (kind: Kind): string =>
  Hash.storageVersion(kind.storageVersion ?? apiVersionOf(kind), kind.kind)
