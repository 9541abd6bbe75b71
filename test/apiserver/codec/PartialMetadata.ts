/**
 * Encodes objects with only their metadata.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { Accepted } from "./Negotiation.ts"

/** Returns an object as a PartialObjectMetadata. */
export const partial = (object: Json.JsonObject, version: Accepted["version"]): Json.JsonObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: Json.object(object.metadata)
})

/** Returns a list as a PartialObjectMetadataList. An empty list has `items: null`, as in kube-apiserver. */
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

/** The error (406) for a client that requests the metadata of one object but gets a list. */
export const isList = (kind: Kind): Failure.Failure =>
  unfit(`you requested PartialObjectMetadata, but the requested object is a list (*${goName(kind, "List")})`)

/** The error for a client that requests the metadata of a list but gets one object: 406, or 500 for a custom kind. */
export const isNoList = (kind: Kind): Failure.Failure =>
  kind.custom
    ? Failure.plain("content is not a list")
    : unfit(`you requested PartialObjectMetadataList, but the requested object is not a list (*${goName(kind, "")})`)

const unfit = (message: string): Failure.Failure => new Failure.Failure({ code: 406, reason: "NotAcceptable", message })

/** Returns kube-apiserver's Go type of an object or a list: `core.ConfigMap`. */
const goName = (kind: Kind, ending: "" | "List"): string =>
  kind.custom ? `unstructured.Unstructured${ending}` : `${internalGroup(kind)}.${kind.kind}${ending}`

/** Returns the package of a group's internal Go types: `core`, `apps`, `rbac`. */
export const internalGroup = ({ group }: Pick<Kind, "group">): string =>
  group === "" || group === "events.k8s.io" ? "core" : (group.split(".")[0] ?? group)
