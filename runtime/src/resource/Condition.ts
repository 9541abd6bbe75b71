/**
 * Conditions as `metav1.Condition` has them: what a controller found out about an object, one entry per question.
 *
 * The names follow kstatus, by which `kubectl wait`, Flux, Argo CD and others judge an object without knowing its kind:
 * {@link Ready}, {@link Reconciling} while it is on its way there, {@link Stalled} when it cannot get there by itself.
 * Times are RFC 3339 with whole seconds, given by the caller, who has the clock.
 */
import * as Schema from "effect/Schema"
import * as Field from "./Field.ts"

/** The object is in the state that its spec asks for, and does its work. */
export const Ready = "Ready"
/** The controller is still working towards the spec. Present with status True only while it is so. */
export const Reconciling = "Reconciling"
/** The controller cannot reach the spec until a user acts. Present with status True only while it is so. */
export const Stalled = "Stalled"

/** The schema of one condition, with the patterns and lengths that Kubernetes prescribes. */
export const schema = Schema.Struct({
  type: Schema.String.pipe(
    Schema.maxLength(316),
    Schema.pattern(
      /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/
    )
  ).annotations({ description: "What is judged, such as Ready." }),
  status: Schema.Literal("True", "False", "Unknown"),
  observedGeneration: Schema.optionalWith(
    Schema.NonNegativeInt.pipe(Field.format("int64")).annotations({
      description: "The metadata.generation this was found out for; older than the object's own means out of date."
    }),
    { exact: true }
  ),
  lastTransitionTime: Schema.String.pipe(Field.format("date-time")).annotations({
    description: "When the status last changed."
  }),
  reason: Schema.String.pipe(
    Schema.length({ min: 1, max: 1024 }),
    Schema.pattern(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
  ).annotations({ description: "Why, in one CamelCase word for programs." }),
  message: Schema.String.pipe(Schema.maxLength(32_768)).annotations({ description: "Why, in words for people." })
})

/** One condition. */
export type Condition = typeof schema.Type

/** The schema of `status.conditions`: a list of which each controller owns the entries of its types. */
export const list = Schema.Array(schema).pipe(Field.listMap("type"))

/** A condition before it is set: the time of its last transition comes from what was there. */
export type Draft = Omit<Condition, "lastTransitionTime">

/** What a condition says besides its type and status. */
type Facts = Pick<Draft, "reason" | "message" | "observedGeneration">

const yes = (type: string, facts: Facts): Draft => ({ type, status: "True", ...facts })
const no = (type: string, facts: Facts): Draft => ({ type, status: "False", ...facts })

export {
  /** The question is answered with no. */
  no as false,
  /** The question is answered with yes: `Condition.true("Ready", { reason: "Available", message: "3/3 ready", observedGeneration: 4 })`. */
  yes as true
}
/** The question cannot be answered yet. */
export const unknown = (type: string, facts: Facts): Draft => ({ type, status: "Unknown", ...facts })

/** The condition of this type, if any. */
export const find = (conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

/** Whether there is a condition of this type with status True. */
export const isTrue = (conditions: ReadonlyArray<Condition> | undefined, type: string): boolean =>
  find(conditions, type)?.status === "True"

const none: ReadonlyArray<Condition> = []

/**
 * The conditions with these set; one of a type takes the place of the former one, and all others stay.
 *
 * `lastTransitionTime` becomes `now` only where the status changes. When nothing changes at all, the very same array is
 * returned, so `===` shows whether a write is needed.
 */
export const set = (
  conditions: ReadonlyArray<Condition> | undefined,
  drafts: Draft | ReadonlyArray<Draft>,
  now: string
): ReadonlyArray<Condition> =>
  (isMany(drafts) ? drafts : [drafts]).reduce((before, draft) => setOne(before, draft, now), conditions ?? none)

const isMany = (drafts: Draft | ReadonlyArray<Draft>): drafts is ReadonlyArray<Draft> => Array.isArray(drafts)

const setOne = (conditions: ReadonlyArray<Condition>, draft: Draft, now: string): ReadonlyArray<Condition> => {
  const at = conditions.findIndex(({ type }) => type === draft.type)
  const former = conditions[at]
  if (former === undefined) return [...conditions, { ...draft, lastTransitionTime: now }]
  if (
    former.status === draft.status &&
    former.reason === draft.reason &&
    former.message === draft.message &&
    former.observedGeneration === draft.observedGeneration
  ) {
    return conditions
  }
  const lastTransitionTime = former.status === draft.status ? former.lastTransitionTime : now
  return conditions.with(at, { ...draft, lastTransitionTime })
}

/** The conditions without that of this type: the very same array when there is none. */
export const remove = (conditions: ReadonlyArray<Condition>, type: string): ReadonlyArray<Condition> =>
  find(conditions, type) === undefined ? conditions : conditions.filter((condition) => condition.type !== type)
