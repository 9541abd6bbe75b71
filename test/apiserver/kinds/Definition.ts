/**
 * The definition of a built-in kind, and the strategy that all of them share. The strategy writes each object in canonical form.
 * It lets only `/status` write a status, and counts the changes of the desired state in `metadata.generation`.
 */
import type { FieldError } from "../model/FieldError.ts"
import type { Format } from "../model/Format.ts"
import type { DraftObject, JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind, Strategy, Writing } from "../model/Kind.ts"
import * as Shape from "./Shape.ts"

/** The errors of an object, in the order of validation. */
export type Errors = Iterable<FieldError>

/** The part of a kind that its module defines. `BuiltInKinds` adds the names of discovery, the schema and the columns. */
export interface Definition
  extends Pick<Kind, "group" | "version" | "kind" | "strategy">,
    Partial<
      Pick<
        Kind,
        | "storage"
        | "status"
        | "scale"
        | "selectableFields"
        | "unconditionalUpdate"
        | "createOnUpdate"
        | "dependents"
        | "graceful"
        | "subresources"
        | "gracePeriod"
        | "fromStorage"
        | "forUpdate"
        | "toStorage"
        | "internal"
        | "rowConditions"
      >
    > {
  /** The format of `metadata.name`. Default: a DNS subdomain. */
  readonly names?: Format
}

/** The options of a kind for creates and updates of its objects. */
export interface StrategyOptions {
  /** The name of the Go type, such as `apps/v1.Deployment`. See `Shape`. */
  readonly shape: string
  readonly default?: (draft: DraftObject) => void
  /** Applies the admission plugins of the kind. See `Strategy`. */
  readonly admit?: Strategy["admit"]
  readonly prepareForCreate?: (draft: DraftObject, writing: Writing) => void
  readonly prepareForUpdate?: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  readonly validate?: (object: JsonObject, writing: Writing) => Errors
  /** Yields all errors of an update. Default: `validate` of the new object. */
  readonly validateUpdate?: (object: JsonObject, old: JsonObject, writing: Writing) => Errors
  /** Yields the warnings about a valid object. `old`: the object before an update. */
  readonly warnings?: (object: JsonObject, old?: JsonObject) => Iterable<string>
  /** The status of a new object. Default: the strategy does not reset the status. */
  readonly status?: JsonObject
  /** The paths whose changes increment `metadata.generation`. Default: the strategy does not set the generation. */
  readonly generation?: ReadonlyArray<ReadonlyArray<string>>
}

/** The `generation` option of most kinds: changes of `spec` increment it. */
export const spec: ReadonlyArray<ReadonlyArray<string>> = [["spec"]]

/** The strategy of the main resource of a kind. */
export const strategy = (options: StrategyOptions): Strategy => {
  const shape = Shape.of(options.shape)
  const { generation, status } = options
  return {
    resetFields: status === undefined ? [] : [["status"]],
    admit: options.admit,
    default: (draft) => {
      Shape.canonicalize(shape, draft, "kept")
      options.default?.(draft)
    },
    prepareForCreate: (draft, writing) => {
      if (status !== undefined) draft.status = Json.copy(status)
      if (generation !== undefined) Json.member(draft, "metadata").generation = 1
      options.prepareForCreate?.(draft, writing)
      Shape.canonicalize(shape, draft, "null")
    },
    prepareForUpdate: (draft, old, writing) => {
      if (status !== undefined) keep(draft, old, "status")
      options.prepareForUpdate?.(draft, old, writing)
      Shape.canonicalize(shape, draft, "null")
      if (generation !== undefined) bumpGeneration(draft, old, generation)
    },
    validate: (object, writing) => {
      for (const text of options.warnings?.(object) ?? []) writing.warn(text)
      return [...(options.validate?.(object, writing) ?? [])]
    },
    validateUpdate: (object, old, writing) => {
      for (const text of options.warnings?.(object, old) ?? []) writing.warn(text)
      const validate = options.validateUpdate ?? ((object, _, writing) => options.validate?.(object, writing) ?? [])
      return [...validate(object, old, writing)]
    }
  }
}

/** The options of a kind for updates by `/status`. */
export interface StatusStrategyOptions {
  /** The paths that `/status` resets to the old object, besides `spec`. */
  readonly kept?: ReadonlyArray<ReadonlyArray<string>>
  readonly prepareForUpdate?: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  readonly validateUpdate?: (object: JsonObject, old: JsonObject, writing: Writing) => Errors
}

/** The strategy of `/status`, made of the main strategy. It resets `spec` and the paths of `kept` to the old object. */
export const statusStrategy = (main: Strategy, shape: string, options: StatusStrategyOptions = {}): Strategy => {
  const kept = [["spec"], ...(options.kept ?? [])]
  return {
    ...main,
    resetFields: kept,
    prepareForUpdate: (draft, old, writing) => {
      for (const path of kept) keep(draft, old, ...path)
      options.prepareForUpdate?.(draft, old, writing)
      Shape.canonicalize(Shape.of(shape), draft, "null")
    },
    validate: () => [],
    validateUpdate: (object, old, writing) => [...(options.validateUpdate?.(object, old, writing) ?? [])]
  }
}

/** Resets the value at a path to that of the old object. Removes the member if the old object lacks it. */
export const keep = (draft: DraftObject, old: JsonObject, ...path: ReadonlyArray<string>): void => {
  const name = path.at(-1) ?? ""
  const value = Json.at(old, ...path)
  let holder = draft
  for (const step of path.slice(0, -1)) holder = Json.member(holder, step)
  if (value === undefined) delete holder[name]
  else holder[name] = Json.copy(value)
}

/** Sets a default: writes the member if it is missing, null or an empty string. */
export const fill = (draft: DraftObject, name: string, value: Json.Draft): void => {
  if (draft[name] === undefined || draft[name] === null || draft[name] === "") draft[name] = value
}

/** The mutable objects of a list. Returns an empty list if the member is missing. */
export const drafts = (draft: DraftObject, name: string): ReadonlyArray<DraftObject> => {
  const found = draft[name]
  return Array.isArray(found) ? found.filter(isDraft) : []
}

/** The mutable object of a member, or `undefined` if the member is missing. */
export const part = (draft: DraftObject | undefined, name: string): DraftObject | undefined => {
  const found = draft?.[name]
  return isDraft(found) ? found : undefined
}

const isDraft = (value: Json.Draft | undefined): value is DraftObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const bumpGeneration = (draft: DraftObject, old: JsonObject, counted: ReadonlyArray<ReadonlyArray<string>>): void => {
  const before = Json.number(Json.at(old, "metadata", "generation")) ?? 0
  const changed = counted.some((path) => !Json.equal(Json.at(draft, ...path), Json.at(old, ...path)))
  const metadata = Json.member(draft, "metadata")
  const now = changed ? before + 1 : before
  if (now > 0) metadata.generation = now
}
