/** The columns of `kubectl get` that show the condition Ready and a pause, for each kind whose status has conditions. */
import type { StructuralSchema } from "./StructuralSchema.ts"

/** Whether the status has conditions as `Condition.list` declares them: one per type. */
const hasConditions = (schema: StructuralSchema): boolean => {
  const { items, "x-kubernetes-list-map-keys": keys } = schema.properties?.status?.properties?.conditions ?? {}
  const fields = items?.properties
  return keys?.includes("type") === true && fields?.reason !== undefined && fields.lastTransitionTime !== undefined
}

/** A column with its type; the fields in use. */
interface TypedColumn {
  readonly name: string
  readonly path: string
  readonly type: "string" | "integer" | "number" | "boolean" | "date"
  readonly description?: string | undefined
}

const ofReady = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`

/** The columns of the condition Ready. A phase may be old; these have a reason, and the age of the state. */
const readyColumns: ReadonlyArray<TypedColumn> = [
  {
    name: "Ready",
    path: ofReady("status"),
    type: "string",
    description: "Whether the object has the state of its spec"
  },
  { name: "Reason", path: ofReady("reason"), type: "string", description: "Why, in one word" },
  { name: "Since", path: ofReady("lastTransitionTime"), type: "date", description: "When Ready last changed" },
  {
    name: "Paused",
    path: '.status.conditions[?(@.type=="Paused")].status',
    type: "string",
    description: "Whether a user pauses the object"
  }
]

const ageColumn: TypedColumn = { name: "Age", path: ".metadata.creationTimestamp", type: "date" }

/** The own columns of a kind, with those of the condition Ready, which an own column of the same name replaces, and the age. */
export const before = <C extends TypedColumn>(
  schema: StructuralSchema,
  own: ReadonlyArray<C>
): ReadonlyArray<C | TypedColumn> =>
  hasConditions(schema)
    ? [
        ...readyColumns.filter(({ name }) => own.every((each) => each.name !== name)),
        ...own,
        ...(own.some(({ path }) => path === ageColumn.path) ? [] : [ageColumn])
      ]
    : own
