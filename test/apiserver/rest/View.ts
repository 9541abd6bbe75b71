/** The form of objects in a response: whole, as a table, or only their metadata, in JSON, YAML or protobuf. */
import type { Accepted } from "../codec/Negotiation.ts"
import * as PartialMetadata from "../codec/PartialMetadata.ts"
import * as Protobuf from "../codec/Protobuf.ts"
import * as Table from "../codec/Table.ts"
import * as Yaml from "../codec/Yaml.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as List from "./List.ts"

/** The form in which a client requests the objects of a kind. */
export interface View {
  readonly kind: Kind
  readonly accepted: Accepted
  readonly includeObject: Table.IncludeObject
}

/** Makes a view. Throws a Failure (400) for an unknown `includeObject`. */
export const make = (kind: Kind, accepted: Accepted, query: URLSearchParams): View => ({
  kind,
  accepted,
  includeObject: accepted.view === "Table" ? Table.includeObjectOf(query.get("includeObject") ?? undefined) : "Metadata"
})

/** The view of one object. Throws a Failure (406) if the client requests a list. */
export const object = ({ accepted, includeObject, kind }: View, shown: JsonObject, now: number): JsonObject => {
  const { version, view } = accepted
  if (view === "object" || shown.kind === "Status") return shown
  if (view === "PartialObjectMetadata") return PartialMetadata.partial(internal(kind, shown), version)
  if (view === "PartialObjectMetadataList") throw PartialMetadata.isNoList(kind)
  return Table.table(kind, [shown], {
    version,
    includeObject,
    now,
    metadata: Table.metadataOf(shown),
    withColumns: true
  })
}

/** The view of a page. Throws a Failure (406) if the client requests a single object. */
export const list = ({ accepted, includeObject, kind }: View, page: List.Page, now: number): JsonObject => {
  const shown = List.listOf(kind, page)
  const { version, view } = accepted
  if (view === "object") return shown
  if (view === "PartialObjectMetadata") throw PartialMetadata.isList(kind)
  // Only a list of whole custom objects has an empty continue token.
  const { continue: next, ...others } = Json.object(shown.metadata)
  const metadata = next === "" ? others : Json.object(shown.metadata)
  if (view === "PartialObjectMetadataList") {
    return PartialMetadata.partialList(
      page.items.map((item) => internal(kind, item)),
      metadata,
      version
    )
  }
  return Table.table(kind, page.items, { version, includeObject, now, metadata, withColumns: true })
}

/** The view of the object of a watch event. In a watch of tables, the first table describes the columns. */
export const watched = (
  { accepted, includeObject, kind }: View,
  shown: JsonObject,
  now: number,
  first: boolean
): JsonObject => {
  const { version, view } = accepted
  if (view === "object") return shown
  if (view !== "Table") return PartialMetadata.partial(internal(kind, shown), version)
  const metadata = Table.metadataOf(shown)
  return Table.table(kind, [shown], { version, includeObject, now, metadata, withColumns: first })
}

const internal = (kind: Kind, object: JsonObject): JsonObject => kind.internal?.(object) ?? object

/** The encoded response. Protobuf is text with one Latin-1 character per byte. */
export const text = ({ format, pretty }: Accepted, value: JsonObject): string => {
  if (format === "protobuf") return Protobuf.encode(value).toString("latin1")
  if (format === "yaml") return Yaml.format(value)
  return pretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`
}
