/**
 * What a built-in kind adds to what all of them have in common: every object is brought into canonical form, a status is
 * written by `/status` only, and `metadata.generation` counts the changes of what the user wants.
 */
import type { FieldError } from "../model/FieldError.ts"
import type { Format } from "../model/Format.ts"
import type { DraftObject, JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind, Strategy, Writing } from "../model/Kind.ts"
import * as Shape from "./Shape.ts"

/** The errors of an object, as they are found. */
export type Errors = Iterable<FieldError>

/** What is said of one kind in its module. What discovery, OpenAPI and tables say of it comes from elsewhere. */
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
  /** The form that names of the kind have; absent: a DNS subdomain. */
  readonly names?: Format
}

/** What a kind says of the writing of its objects. */
export interface StrategyOptions {
  /** The Go type, see `Shape`. */
  readonly shape: string
  readonly default?: (draft: DraftObject) => void
  /** The changes of admission plugins, see `Strategy`. */
  readonly admit?: Strategy["admit"]
  readonly prepareForCreate?: (draft: DraftObject, writing: Writing) => void
  readonly prepareForUpdate?: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  readonly validate?: (object: JsonObject, writing: Writing) => Errors
  /** All the errors of an update; absent: those of `validate`. */
  readonly validateUpdate?: (object: JsonObject, old: JsonObject, writing: Writing) => Errors
  /** The warnings about an object without errors; `old`: about a change of it. */
  readonly warnings?: (object: JsonObject, old?: JsonObject) => Iterable<string>
  /** What a new object's status says; absent: the kind has none that is kept apart. */
  readonly status?: JsonObject
  /** The parts whose changes `metadata.generation` counts; absent: it is not counted. */
  readonly generation?: ReadonlyArray<ReadonlyArray<string>>
}

/** The generation of most kinds counts the changes of `spec`. */
export const spec: ReadonlyArray<ReadonlyArray<string>> = [["spec"]]

/** The strategy by which an object is created and updated. */
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

/** What a kind says of the writing of its status. */
export interface StatusStrategyOptions {
  /** What stays as it was, besides `spec`, as paths of member names. */
  readonly kept?: ReadonlyArray<ReadonlyArray<string>>
  readonly prepareForUpdate?: (draft: DraftObject, old: JsonObject, writing: Writing) => void
  readonly validateUpdate?: (object: JsonObject, old: JsonObject, writing: Writing) => Errors
}

/** The strategy of `/status` of a kind with that main strategy: everything but `status` stays as it was. */
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

/** Puts what stands at the path in the old object back into the new one. */
export const keep = (draft: DraftObject, old: JsonObject, ...path: ReadonlyArray<string>): void => {
  const name = path.at(-1) ?? ""
  const value = Json.at(old, ...path)
  let holder = draft
  for (const step of path.slice(0, -1)) holder = Json.member(holder, step)
  if (value === undefined) delete holder[name]
  else holder[name] = Json.copy(value)
}

/** Sets the member unless it says something; an empty text says nothing. */
export const fill = (draft: DraftObject, name: string, value: Json.Draft): void => {
  if (draft[name] === undefined || draft[name] === null || draft[name] === "") draft[name] = value
}

/** The objects of a list, to be written to. */
export const drafts = (draft: DraftObject, name: string): ReadonlyArray<DraftObject> => {
  const found = draft[name]
  return Array.isArray(found) ? found.filter(isDraft) : []
}

/** The object that is a member, to be written to; nothing where there is none. */
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
