/**
 * Objects of which only the metadata is shown.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { Accepted } from "./Negotiation.ts"

/** An object as PartialObjectMetadata. */
export const partial = (object: Json.JsonObject, version: Accepted["version"]): Json.JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: Json.object(object.metadata)
})

/** A list as PartialObjectMetadataList. An empty one has `items: null`, as the real server's. */
export const partialList = (
  objects: ReadonlyArray<Json.JsonObject>,
  listMetadata: Json.JsonObject,
  version: Accepted["version"]
): Json.JsonObject => ({
  kind: "PartialObjectMetadataList",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: listMetadata,
  items: objects.length === 0 ? null : objects.map((object) => partial(object, version))
})

/** What is said to a client that wants one object of a list (406). */
export const isList = (kind: Kind): Failure.Failure =>
  unfit(`you requested PartialObjectMetadata, but the requested object is a list (*${goName(kind, "List")})`)

/** What is said to a client that wants a list of one object (406; of a custom one 500). */
export const isNoList = (kind: Kind): Failure.Failure =>
  kind.custom
    ? Failure.plain("content is not a list")
    : unfit(`you requested PartialObjectMetadataList, but the requested object is not a list (*${goName(kind, "")})`)

const unfit = (message: string): Failure.Failure => new Failure.Failure({ code: 406, reason: "NotAcceptable", message })

/** The Go type of the real server that holds it: `core.ConfigMap`. */
const goName = (kind: Kind, ending: "" | "List"): string =>
  kind.custom ? `unstructured.Unstructured${ending}` : `${internalGroup(kind)}.${kind.kind}${ending}`

/** The package of a group's internal types: `core`, `apps`, `rbac`. */
export const internalGroup = ({ group }: Pick<Kind, "group">): string =>
  group === "" || group === "events.k8s.io" ? "core" : (group.split(".")[0] ?? group)
