/** A plan as a JSON document, which names the build of the program. A later plan can be compared with it. */
import * as Schema from "effect/Schema"
import type { Unknown } from "./Endings.ts"
import type { Plan } from "./Plan.ts"
import type { ObjectName, Write } from "./Write.ts"

/** The build that made a plan. */
export interface Maker {
  readonly name: string
  readonly version: string
  /** Absent for a program that runs from its sources. */
  readonly commit?: string | undefined
}

/** The numbers of a plan. */
export interface Summary {
  readonly create: number
  readonly change: number
  readonly delete: number
  /** The workloads whose pods are replaced. */
  readonly rollouts: number
  /** The rollouts that this build causes by itself, by namespace: see {@link ownRollouts}. */
  readonly own: ReadonlyArray<Rollouts>
  readonly unknown: number
}

/** The rollouts in a namespace. */
export interface Rollouts {
  readonly namespace: string
  readonly rollouts: number
  readonly pods: number
}

/** The parts of a plan, or some of them. */
export type Parts = Pick<Plan, "writes" | "unknown" | "problems">

/** The document. */
export interface Document extends Plan {
  readonly kind: "Plan"
  readonly version: 1
  readonly program: Maker
  /** The flags that change the writes of a plan, such as `--namespace=shop`. */
  readonly flags: ReadonlyArray<string>
  /** Whether no part is unknown. */
  readonly complete: boolean
  readonly summary: Summary
}

/**
 * The rollouts of objects whose spec has not changed since the last manager reconciled it: the plan leaves their
 * `status.observedGeneration`. Another build, another referenced object or a change of the workload itself causes them. A kind without that
 * field counts as unchanged. The namespaces with the most pods come first.
 */
export const ownRollouts = (writes: ReadonlyArray<Write>): ReadonlyArray<Rollouts> => {
  const idOf = ({ kind, name, namespace = "" }: ObjectName): string => `${kind} ${namespace}/${name}`
  const isNew = ({ fields }: Write): boolean => fields.some(({ path }) => path === "status.observedGeneration")
  const changed = new Set(writes.flatMap((write) => (isNew(write) ? [idOf(write.target)] : [])))
  const own = writes.filter(
    ({ object, rollout, target }) => rollout !== undefined && !changed.has(idOf(object ?? target))
  )
  return Array.from(
    Map.groupBy(own, ({ target }) => target.namespace ?? ""),
    ([namespace, some]) => ({
      namespace,
      rollouts: some.length,
      pods: some.reduce((sum, { rollout }) => sum + (rollout?.pods ?? 0), 0)
    })
  ).toSorted((one, other) => other.pods - one.pods || (one.namespace < other.namespace ? -1 : 1))
}

/** The numbers of some writes. */
export const summaryOf = ({ unknown, writes }: Parts): Summary => {
  const count = (wanted: Write["action"]) => writes.filter(({ action }) => action === wanted).length
  return {
    create: count("create"),
    change: count("change"),
    delete: count("delete"),
    rollouts: writes.filter(({ rollout }) => rollout !== undefined).length,
    own: ownRollouts(writes),
    unknown: unknown.length
  }
}

/** The document of a plan. */
export const of = (plan: Plan, program: Maker, flags: ReadonlyArray<string>): Document => ({
  kind: "Plan",
  version: 1,
  program,
  flags,
  complete: plan.unknown.length === 0,
  summary: summaryOf(plan),
  ...plan
})

const text = Schema.String
const maybe = Schema.optional(text)
const object = { kind: text, namespace: maybe, name: text }
const field = Schema.Struct({ path: text })
const part = { controller: maybe, object: Schema.optional(Schema.Struct(object)) }

/** The parts of a document that its text and its comparison need. */
const isDocument = Schema.is(
  Schema.Struct({
    kind: Schema.Literal("Plan"),
    version: Schema.Literal(1),
    server: text,
    program: Schema.Struct({ name: text, version: text, commit: maybe }),
    flags: Schema.Array(text),
    controllers: Schema.Array(Schema.Struct({ name: text, kind: text })),
    writes: Schema.Array(
      Schema.Struct({
        ...part,
        target: Schema.Struct(object),
        subresource: maybe,
        action: Schema.Literals(["create", "change", "delete"]),
        verb: text,
        fields: Schema.Array(field),
        rollout: Schema.optional(Schema.Struct({ pods: Schema.Number }))
      })
    ),
    unknown: Schema.Array(Schema.Struct({ ...part, reason: text })),
    problems: Schema.Array(Schema.Struct({ ...part, message: text }))
  })
)

/** The document in a text; undefined if the text has none. */
export const parse = (text: string): Document | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    // The only unchecked cast: a program wrote the rest of the document, and the version names its form.
    return isDocument(value) ? (value as unknown as Document) : undefined
  } catch {
    return undefined
  }
}

/** Whether a plan has nothing to write, and knows it. */
export const isEmpty = ({ unknown, writes }: Pick<Parts, "writes" | "unknown">): boolean =>
  writes.length === 0 && unknown.length === 0

/** The plan before and now, without the parts that are the same. */
export interface Difference {
  readonly before: Document
  readonly now: Document
  /** The unknown parts of both plans, which cannot be compared. */
  readonly unknown: ReadonlyArray<Unknown>
  /** Why the two plans do not answer the same question, in sentences. */
  readonly warnings: ReadonlyArray<string>
}

/** Times differ from one plan to the next, and so do the uids of new objects. */
const timeless = (value: object): string =>
  JSON.stringify(value).replace(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g,
    ""
  )

/** The items of one list that the other lacks. An item that occurs twice needs two equal ones. */
const without = <A extends object>(items: ReadonlyArray<A>, others: ReadonlyArray<A>): ReadonlyArray<A> => {
  const left = new Map<string, number>()
  for (const other of others) left.set(timeless(other), (left.get(timeless(other)) ?? 0) + 1)
  return items.filter((item) => {
    const text = timeless(item)
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    return count <= 0
  })
}

const warningsOf = (before: Document, now: Document): ReadonlyArray<string> => {
  const flagsOf = ({ flags }: Document): string => (flags.length === 0 ? "no flags" : `the flags ${flags.join(" ")}`)
  return [
    ...(before.server === now.server
      ? []
      : [`The earlier plan is for ${before.server}, and this plan is for ${now.server}.`]),
    ...(flagsOf(before) === flagsOf(now)
      ? []
      : [`The earlier plan has ${flagsOf(before)}, and this plan has ${flagsOf(now)}.`])
  ]
}

/** The parts that only one of two plans has. Times do not count. */
export const difference = (before: Document, now: Document): Difference => {
  const only = (one: Document, other: Document): Document => {
    const part = {
      writes: without(one.writes, other.writes),
      unknown: without(one.unknown, other.unknown),
      problems: without(one.problems, other.problems)
    }
    return { ...one, ...part, summary: summaryOf(part) }
  }
  const [earlier, later] = [only(before, now), only(now, before)]
  return {
    before: earlier,
    now: later,
    unknown: without(now.unknown, later.unknown),
    warnings: warningsOf(before, now)
  }
}

/** Whether two plans are the same, and know it. */
export const isSame = ({ before, now, unknown, warnings }: Difference): boolean =>
  [before, now].every((side) => isEmpty(side) && side.problems.length === 0) &&
  unknown.length === 0 &&
  warnings.length === 0
