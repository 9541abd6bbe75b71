/**
 * OpenAPI v3 for clients such as kubectl: an index of the group-versions with the hash of each document, and the documents. A client that
 * requests a document by its hash can cache it without expiry. `OpenApiV2` serves version 2.
 *
 * The server builds a document at its first request, and rebuilds it after the kinds of the group-version have changed.
 */

import type { JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { apiVersionOf, type Kind } from "../../model/Kind.ts"
import { definitions, nameOfKind } from "../../model/OpenApiDefinitions.ts"
import * as CustomSchemas from "./CustomSchemas.ts"
import * as Hash from "./Hash.ts"
import { type DefinitionNames, pathsOf } from "./OpenApiPaths.ts"

/** A request for a document. */
export interface Request {
  /** The path without the query: `/openapi/v3/apis/apps/v1`. */
  readonly path: string
  /** The hash in the query. */
  readonly hash: string | undefined
  readonly accept: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The response to a request. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** Handles a request below `/openapi/v3`. */
export const answer = (kinds: ReadonlyArray<Kind>, { accept, hash, ifNoneMatch, now, path }: Request): Answer => {
  if (path === root)
    return {
      status: 200,
      headers: { ...uncached, "content-type": "text/plain; charset=utf-8" },
      body: JSON.stringify(index(kinds))
    }
  const key = path.slice(root.length + 1)
  const document = documentAt(kinds, key)
  if (document === undefined) return { status: 404, headers: uncached, body: "" }
  if (!acceptsJson(accept)) return { status: 406, headers: { ...uncached, vary: "Accept" }, body: "" }
  const headers = { etag: `"${document.hash}"`, vary: "Accept" }
  if (hash !== undefined && hash !== "" && hash !== document.hash) {
    return {
      status: 301,
      headers: { ...uncached, ...headers, "content-type": "application/json", location: urlOf(key, document) },
      body: ""
    }
  }
  const caching = hash === document.hash ? { "cache-control": "public, immutable", expires: inAYear(now) } : uncached
  if (ifNoneMatch === headers.etag) return { status: 304, headers: { ...caching, ...headers }, body: "" }
  return { status: 200, headers: { ...caching, ...headers, "content-type": "application/json" }, body: document.text }
}

/** The index with the URL of the document of each group-version, such as `apis/apps/v1`. */
export const index = (kinds: ReadonlyArray<Kind>): JsonObject => ({
  paths: Object.fromEntries(
    [...grouped(kinds)]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, members]) => [key, { serverRelativeURL: urlOf(key, documentOf(members)) }])
  )
})

/** The document of a group-version. */
export const groupVersionDocument = (kinds: ReadonlyArray<Kind>, group: string, version: string): JsonObject => {
  const members = kinds.filter((kind) => kind.group === group && kind.version === version)
  const paths: JsonObject = Object.assign({}, ...members.map((kind) => pathsOf(kind, namesOf(kind))))
  const own: JsonObject = Object.assign(
    {},
    ...members.map((kind) => (kind.custom ? CustomSchemas.definitionsOf(kind, namesOf(kind)) : {}))
  )
  return {
    openapi: "3.0.0",
    info: members.some(({ custom }) => custom)
      ? { title: "Kubernetes CRD Swagger", version: "v0.1.0" }
      : { title: "Kubernetes", version: "1.37" },
    paths: sorted(paths),
    // The document of a custom kind omits its own group from DeleteOptions.
    components: { schemas: closure(paths, own, members.some(({ custom }) => custom) ? undefined : { group, version }) }
  }
}

const root = "/openapi/v3"
const uncached = { "cache-control": "no-cache, private" }

interface Document {
  readonly text: string
  readonly hash: string
}

/** `api/v1`, `apis/apps/v1`. */
const keyOf = (kind: Kind): string => `${kind.group === "" ? "api" : "apis"}/${apiVersionOf(kind)}`

const grouped = (kinds: ReadonlyArray<Kind>): ReadonlyMap<string, ReadonlyArray<Kind>> => Map.groupBy(kinds, keyOf)

const documentAt = (kinds: ReadonlyArray<Kind>, key: string): Document | undefined => {
  const members = kinds.filter((kind) => keyOf(kind) === key)
  return members.length === 0 ? undefined : documentOf(members)
}

/** The latest documents, by the first of their kinds. Building and hashing all of them takes tens of milliseconds. */
const made = new WeakMap<Kind, { readonly members: ReadonlyArray<Kind>; readonly document: Document }>()

const documentOf = (members: ReadonlyArray<Kind>): Document => {
  const [first] = members
  if (first === undefined) return { text: "", hash: "" }
  const last = made.get(first)
  if (
    last !== undefined &&
    last.members.length === members.length &&
    last.members.every((kind, at) => kind === members[at])
  ) {
    return last.document
  }
  const text = JSON.stringify(groupVersionDocument(members, first.group, first.version))
  const document = { text, hash: Hash.document(text) }
  made.set(first, { members, document })
  return document
}

const urlOf = (key: string, { hash }: Document): string => `${root}/${key}?hash=${hash}`

const inAYear = (now: number): string => {
  const date = new Date(now)
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date.toUTCString().replace("GMT", "UTC")
}

const acceptsJson = (accept: string | undefined): boolean =>
  accept === undefined ||
  accept.trim() === "" ||
  accept.split(",").some((clause) => /^\s*(application|\*)\/(json|\*)\s*(;|$)/.test(clause))

const namesOf = (kind: Kind): DefinitionNames =>
  kind.custom
    ? { object: CustomSchemas.definitionName(kind, kind.kind), list: CustomSchemas.definitionName(kind, kind.listKind) }
    : {
        object: nameOfKind(kind.group, kind.version, kind.kind) ?? "",
        list: nameOfKind(kind.group, kind.version, kind.listKind) ?? ""
      }

/** The definitions that the paths refer to, directly or through other definitions. */
const closure = (
  paths: JsonObject,
  own: JsonObject,
  of: { readonly group: string; readonly version: string } | undefined
): JsonObject => {
  const schemas = new Map<string, JsonObject>()
  const reach = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [member, inner] of Object.entries(value)) {
      if (member !== "$ref" || typeof inner !== "string") reach(inner)
      else {
        const name = inner.slice(inner.lastIndexOf("/") + 1)
        if (schemas.has(name)) continue
        const schema = J.object(own[name] ?? definitions()[name])
        schemas.set(name, name === deleteOptions && of !== undefined ? alsoOf(schema, of) : schema)
        reach(schema)
      }
    }
  }
  reach(paths)
  return sorted(Object.fromEntries(schemas))
}

const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
const gvk = "x-kubernetes-group-version-kind"

/** Every built-in group has DeleteOptions as one of its kinds. */
const alsoOf = (
  schema: JsonObject,
  { group, version }: { readonly group: string; readonly version: string }
): JsonObject =>
  group === "" ? schema : { ...schema, [gvk]: [...J.list(schema[gvk]), { group, kind: "DeleteOptions", version }] }

const sorted = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
