/** The part of the discovery and documents of a kube-apiserver that the embedded server serves, exactly. */

import { webApps } from "@homeostat/apiserver/kinds/Definitions.fixture"
import { names } from "@homeostat/apiserver/kinds/Names"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { apiVersionOf } from "@homeostat/apiserver/model/Kind"

/** Subresources of a kube-apiserver that the embedded server does not advertise. A test fails if the list has too many. */
export const gaps: ReadonlySet<string> = new Set([
  "nodes/proxy",
  "pods/attach",
  "pods/ephemeralcontainers",
  "pods/exec",
  "pods/portforward",
  "pods/proxy",
  "pods/resize",
  "services/proxy"
])

/** Subresources that the embedded server advertises without documents of their operations. */
const undocumented: ReadonlySet<string> = new Set(["pods/log"])

const { group, versions } = webApps.spec

const plurals: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Map.groupBy(
    [
      ...names.map((name) => ({ groupVersion: apiVersionOf(name), plural: name.plural })),
      ...versions.map(({ name }) => ({ groupVersion: `${group}/${name}`, plural: webApps.spec.names.plural }))
    ],
    ({ groupVersion }) => groupVersion
  )
    .entries()
    .map(([groupVersion, all]) => [groupVersion, new Set(all.map(({ plural }) => plural))] as const)
)

const isGroup = (group: Json | undefined): boolean =>
  plurals.keys().some((groupVersion) => (groupVersion.includes("/") ? groupVersion.split("/")[0] : "") === group)

const isResource = (groupVersion: string, resource: Json | undefined): boolean =>
  plurals.get(groupVersion)?.has(`${resource}`.split("/")[0] ?? "") === true && !gaps.has(`${resource}`)

/** The part of a real response that the embedded server returns. */
export const partOf = (path: string, body: Json): Json => {
  if (!J.isObject(body)) return body
  if (path === "/openapi/v3") return { paths: filtered(body.paths, (key) => plurals.has(key.replace(/^apis?\//, ""))) }
  if (path.startsWith("/openapi/v3/")) return documentOf(path, body)
  switch (body.kind) {
    case "APIGroupDiscoveryList":
      return {
        ...body,
        items: J.objects(body.items)
          .filter(({ metadata }) => isGroup(nameIn(metadata)))
          .map(discovered)
      }
    case "APIGroupList":
      return { ...body, groups: J.objects(body.groups).filter(({ name }) => isGroup(name)) }
    case "APIResourceList":
      return {
        ...body,
        resources: J.objects(body.resources).filter(({ name }) => isResource(`${body.groupVersion}`, name))
      }
    default:
      return body
  }
}

const nameIn = (metadata: Json | undefined): Json => J.object(metadata).name ?? ""

const discovered = (item: JsonObject): JsonObject => ({
  ...item,
  versions: J.objects(item.versions).map((version) => {
    const groupVersion = apiVersionOf({ group: `${nameIn(item.metadata)}`, version: `${version.version}` })
    const resources = J.objects(version.resources).filter(({ resource }) => isResource(groupVersion, resource))
    return {
      ...version,
      resources: resources.map((resource) =>
        resource.subresources === undefined ? resource : withoutGaps(groupVersion, resource)
      )
    }
  })
})

const withoutGaps = (groupVersion: string, { subresources, ...resource }: JsonObject): JsonObject => {
  const left = J.objects(subresources).filter(({ subresource }) =>
    isResource(groupVersion, `${resource.resource}/${subresource}`)
  )
  return left.length === 0 ? resource : { ...resource, subresources: left }
}

/** The paths of the resources without the deprecated ones of watches, and the schemas that these paths refer to. */
const documentOf = (path: string, document: JsonObject): JsonObject => {
  const groupVersion = path.replace(/^\/openapi\/v3\/apis?\//, "").replace(/\?.*/, "")
  const paths = withoutProtobuf(
    filtered(document.paths, (name) => {
      const [plural = "", , subresource] = name
        .replace(`/${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}/`, "")
        .replace("namespaces/{namespace}/", "")
        .split("/")
      const resource = subresource === undefined ? plural : `${plural}/${subresource}`
      return isResource(groupVersion, resource) && !undocumented.has(resource)
    })
  )
  const schemas = J.object(J.at(document, "components", "schemas"))
  const all: JsonObject = { ...schemas, [deleteOptions]: ofOwnGroup(groupVersion, J.object(schemas[deleteOptions])) }
  const reached = new Set<string>()
  const reach = (value: Json | undefined): void => {
    for (const [, name = ""] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (reached.has(name)) continue
      reached.add(name)
      reach(all[name])
    }
  }
  reach(paths)
  return {
    ...document,
    paths,
    components: { ...J.object(document.components), schemas: filtered(all, (name) => reached.has(name)) }
  }
}

const gvk = "x-kubernetes-group-version-kind"
const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

/** The document of a custom kind lists all groups of a kube-apiserver with DeleteOptions. */
const ofOwnGroup = (groupVersion: string, schema: JsonObject): JsonObject => ({
  ...schema,
  [gvk]: J.objects(schema[gvk]).filter(({ group, version }) =>
    ["v1", groupVersion].includes(apiVersionOf({ group: `${group}`, version: `${version}` }))
  )
})

/** Removes the media types that the embedded server does not support. */
const withoutProtobuf = (value: Json): Json => {
  if (J.isList(value)) return value.map(withoutProtobuf)
  if (!J.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !name.startsWith("application/vnd.kubernetes.protobuf"))
      .map(([name, inner]) => [name, withoutProtobuf(inner ?? null)])
  )
}

const filtered = (value: Json | undefined, is: (name: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(J.object(value)).filter(([name]) => is(name)))
