/** Discovery, OpenAPI documents and tables as dialogues. */

import * as Discovery from "@homeostat/apiserver/http/openapi/Discovery"
import { sorted } from "@homeostat/apiserver/kinds/crd/Sorted"
import { webApps } from "@homeostat/apiserver/kinds/Definitions.fixture"
import { names } from "@homeostat/apiserver/kinds/Names"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { apiVersionOf } from "@homeostat/apiserver/model/Kind"
import type { Dialogue } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Recording from "../comparison/Recording.ts"
import type { Request } from "../comparison/Server.ts"
import { partOf } from "./Served.ts"
import { tables } from "./Tables.ts"

const v2 = Discovery.aggregatedType
const older = v2.replace("v=v2", "v=v2beta1")

const headers = ["cache-control", "content-type", "etag", "expires", "location", "vary"]

const groups = [...new Set(names.map(({ group }) => group).filter((group) => group !== "")), webApps.spec.group]
const groupVersions = [
  ...new Set(names.map(apiVersionOf)),
  ...webApps.spec.versions.map(({ name }) => `${webApps.spec.group}/${name}`)
]

const rootOf = (groupVersion: string): string => `/${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}`

const get = (path: string, accept?: string, headers?: Request["headers"]): Request => ({
  method: "GET",
  path,
  accept,
  headers
})

/** Removes the address of the server. */
const withoutAddress = (_: string, body: Json): Json =>
  JSON.parse(JSON.stringify(body).replaceAll(/(?<="serverAddress":")[^"]*/g, "ADDRESS")) as Json

/** Keeps only the kind or the format, because other dialogues compare the content. */
const formOf = (_: string, body: Json): Json => {
  if (J.isObject(body)) return body.kind === "Status" ? body : { kind: body.kind }
  return `${body}`.startsWith("apiVersion: ") ? "YAML" : body
}

const discovery: ReadonlyArray<Dialogue> = [
  {
    name: "discovery of the groups and their versions",
    headers,
    compared: withoutAddress,
    steps: ["/api", "/apis", ...groups.map((group) => `/apis/${group}`)].map((path) => get(path))
  },
  { name: "discovery of the resources of each version", headers, steps: groupVersions.map((one) => get(rootOf(one))) },
  { name: "aggregated discovery", headers, steps: [get("/api", v2), get("/apis", v2)] },
  {
    name: "discovery of unknown groups and versions",
    headers,
    compared: withoutAddress,
    steps: ["/apis/nope", "/apis/apps/v9", "/apis/nope/v1", "/api/v2", "/api/", "/apis/", "/apis/apps/"].map((path) =>
      get(path)
    )
  },
  ...[
    "",
    "*/*",
    "application/json",
    v2,
    older,
    `${older},application/json`,
    `${v2},${older},application/json`,
    `application/json;q=0.5,${v2}`,
    "application/yaml",
    v2.replace("json", "yaml"),
    "text/html",
    "text/html,*/*",
    "application/*"
  ].map((accept) => ({
    name: `discovery for Accept ${JSON.stringify(accept)}`,
    headers,
    compared: formOf,
    steps: [get("/apis", accept)]
  }))
]

const document = "/openapi/v3/apis/apps/v1"

/** Replaces parts of a document by their digests. */
const digested = (_: string, body: Json): Json => {
  if (!J.isObject(body) || body.paths === undefined || body.openapi === undefined) return body
  const digests = (parts: Json | undefined) =>
    Object.fromEntries(
      Object.entries(J.object(parts)).map(([name, part]) => [name, Recording.digest(sorted(part ?? null))])
    )
  const { components, paths, ...rest } = body
  return { ...rest, paths: digests(paths), schemas: digests(J.at(components, "schemas")) }
}

const documents: ReadonlyArray<Dialogue> = [
  { name: "the index of the OpenAPI documents", headers, steps: [get("/openapi/v3"), get("/openapi/v3/")] },
  ...groupVersions.map((groupVersion) => ({
    name: `the OpenAPI document of ${groupVersion}`,
    headers,
    compared: digested,
    steps: [get(`/openapi/v3${rootOf(groupVersion)}`)]
  })),
  {
    name: "an OpenAPI document by its hash",
    headers,
    compared: digested,
    steps: [
      get(document),
      get(document, ""),
      get(`${document}?hash=ABC`),
      ...[
        (hash: string) => get(`${document}?hash=${hash}`),
        (hash: string) => get(`${document}?hash=${hash}`, undefined, { "if-none-match": `"${hash}"` }),
        (hash: string) => get(document, undefined, { "if-none-match": `"${hash}"` })
      ].map(
        (asked): Dialogue["steps"][number] =>
          ({ answers }) =>
            asked(answers[0]?.headers.etag?.replaceAll('"', "") ?? "")
      ),
      get(document, "text/html"),
      get("/openapi/v3/apis/nope/v1")
    ]
  }
]

export const openapi: Suite = {
  name: "openapi",
  definitions: [webApps],
  // A default IngressClass changes the Ingresses of other dialogues.
  concurrency: 1,
  dialogues: [...[...discovery, ...documents].map((dialogue): Dialogue => ({ ...dialogue, served: partOf })), ...tables]
}
