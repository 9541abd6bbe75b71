/**
 * Conditions as in `metav1.Condition`: the findings of a controller about an object, one entry per type.
 *
 * The types follow kstatus, so that `kubectl wait`, Flux, Argo CD and others understand any kind: {@link Ready}, {@link Reconciling}
 * during progress, {@link Stalled} if the controller cannot continue. Times are RFC 3339 with whole seconds; the caller passes them.
 */
import * as Schema from "effect/Schema"
import * as Field from "./Field.ts"
import * as Text from "./Text.ts"

/** The object has the state of its spec and works. */
export const Ready = "Ready"
/** The controller still works towards the spec. Present only with status True. */
export const Reconciling = "Reconciling"
/** The controller cannot reach the spec until a user acts. Present only with status True. */
export const Stalled = "Stalled"

/**
 * The most characters of a message.
 *
 * @internal
 */
export const longestMessage = 32_768

/**
 * The message in a form that the API server accepts and a terminal can show; itself if it has that form.
 *
 * @internal
 */
export const plain = (message: string): string => {
  if (message.length <= longestMessage && Text.isPrintable(message)) return message
  const text = Text.printable(message)
  return text.length > longestMessage ? Text.clip(text, longestMessage - 1) : text
}

/** The schema of one condition, with the patterns and lengths of Kubernetes. */
export const schema = Schema.Struct({
  type: Schema.String.check(
    Schema.isMaxLength(316),
    Schema.isPattern(
      /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/
    )
  ).annotate({ description: "The aspect of the object, such as Ready." }),
  status: Schema.Literals(["True", "False", "Unknown"]).annotate({ description: "Whether the aspect holds." }),
  observedGeneration: Schema.optionalKey(
    Schema.Natural.pipe(Field.format("int64")).annotate({
      description:
        "The metadata.generation that the condition is about. A smaller value than that of the object means that the condition is out of date."
    })
  ),
  lastTransitionTime: Schema.String.pipe(Field.format("date-time")).annotate({
    description: "When the status last changed."
  }),
  reason: Schema.String.check(
    Schema.isBetweenLength(1, 1024),
    Schema.isPattern(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
  ).annotate({ description: "Why, in one CamelCase word for programs." }),
  message: Schema.String.check(Schema.isMaxLength(longestMessage)).annotate({
    description: "Why, in words for people."
  })
})

/** One condition. */
export type Condition = typeof schema.Type

/** The schema of `status.conditions`: a list in which each controller owns the entries of its types. */
export const list = Schema.Array(schema).pipe(Field.listMap("type"))

/** A condition to set. {@link set} adds the time of the last transition. */
export type Draft = Omit<Condition, "lastTransitionTime">

/** The other fields of a condition. */
type Facts = Pick<Draft, "reason" | "message" | "observedGeneration">

const yes = (type: string, facts: Facts): Draft => ({ type, status: "True", ...facts })
const no = (type: string, facts: Facts): Draft => ({ type, status: "False", ...facts })

export {
  /**
   * A condition with status False.
   *
   * @example
   * ```ts
   * const ready = Condition.false("Ready", { reason: "Rollout", message: "1 of 3 ready" })
   * ready.status // => "False"
   * ```
   */
  no as false,
  /**
   * A condition with status True: `Condition.true("Ready", { reason: "Available", message: "3/3 ready", observedGeneration: 4 })`.
   *
   * @example
   * ```ts
   * const ready = Condition.true("Ready", { reason: "Available", message: "3 of 3 ready", observedGeneration: 2 })
   * ready.status // => "True"
   * ```
   */
  yes as true
}
/**
 * A condition with status Unknown.
 *
 * @example
 * ```ts
 * const ready = Condition.unknown("Ready", { reason: "NoAnswer", message: "The site does not answer" })
 * ready.status // => "Unknown"
 * ```
 */
export const unknown = (type: string, facts: Facts): Draft => ({ type, status: "Unknown", ...facts })

/**
 * The condition of this type, if any.
 *
 * @example
 * ```ts
 * const reason = Condition.find(site.status?.conditions, "Ready")?.reason
 * ```
 */
export const find = <C extends Draft>(conditions: ReadonlyArray<C> | undefined, type: string): C | undefined =>
  conditions?.find((condition) => condition.type === type)

/**
 * Whether the condition of this type has status True.
 *
 * @example
 * ```ts
 * Condition.isTrue(site.status?.conditions, "Ready") // => false
 * ```
 */
export const isTrue = (conditions: ReadonlyArray<Condition> | undefined, type: string): boolean =>
  find(conditions, type)?.status === "True"

const none: ReadonlyArray<Condition> = []

/**
 * Sets conditions. A new condition replaces the old one of its type, and all others stay.
 *
 * `lastTransitionTime` becomes `now` only if the status changes. Without any change it returns the same array, so `===` shows whether
 * a write is needed.
 *
 * @example
 * ```ts
 * const ready = Condition.true("Ready", { reason: "Available", message: "" })
 * const conditions = Condition.set([], ready, "2026-11-20T09:00:00Z")
 * conditions.map(({ lastTransitionTime }) => lastTransitionTime) // => ["2026-11-20T09:00:00Z"]
 * ```
 */
export const set = (
  conditions: ReadonlyArray<Condition> | undefined,
  drafts: Draft | ReadonlyArray<Draft>,
  now: string
): ReadonlyArray<Condition> =>
  (isMany(drafts) ? drafts : [drafts]).reduce((before, draft) => setOne(before, draft, now), conditions ?? none)

const isMany = (drafts: Draft | ReadonlyArray<Draft>): drafts is ReadonlyArray<Draft> => Array.isArray(drafts)

/**
 * The condition of a draft: `former` itself without a change.
 *
 * @internal
 */
export const dated = (draft: Draft, former: Condition | undefined, now: string): Condition => {
  const isSame = former?.status === draft.status
  if (
    isSame &&
    former.reason === draft.reason &&
    former.message === draft.message &&
    former.observedGeneration === draft.observedGeneration
  ) {
    return former
  }
  return { ...draft, lastTransitionTime: isSame ? former.lastTransitionTime : now }
}

const setOne = (conditions: ReadonlyArray<Condition>, draft: Draft, now: string): ReadonlyArray<Condition> => {
  const at = conditions.findIndex(({ type }) => type === draft.type)
  const former = conditions[at]
  const next = dated(draft, former, now)
  if (former === undefined) return [...conditions, next]
  return next === former ? conditions : conditions.with(at, next)
}

/**
 * Removes the condition of this type. Returns the same array if there is none.
 *
 * @example
 * ```ts
 * const conditions = Condition.remove(site.status?.conditions ?? [], "Ready")
 * ```
 */
export const remove = (conditions: ReadonlyArray<Condition>, type: string): ReadonlyArray<Condition> =>
  find(conditions, type) === undefined ? conditions : conditions.filter((condition) => condition.type !== type)
