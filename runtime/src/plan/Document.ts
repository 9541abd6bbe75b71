/** A plan as a JSON document, which names the build of the program. A later plan can be compared with it. */
import type { Plan } from "./Plan.ts"
import type { Write } from "./Write.ts"

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
  readonly unknown: number
}

/** The document. */
export interface Document extends Plan {
  readonly kind: "Plan"
  readonly version: 1
  readonly program: Maker
  readonly summary: Summary
}

/** The numbers of some writes. */
export const summaryOf = ({ unknown, writes }: Pick<Plan, "writes" | "unknown">): Summary => {
  const count = (wanted: Write["action"]) => writes.filter(({ action }) => action === wanted).length
  return {
    create: count("create"),
    change: count("change"),
    delete: count("delete"),
    rollouts: writes.filter(({ rollout }) => rollout !== undefined).length,
    unknown: unknown.length
  }
}

/** The document of a plan. */
export const of = (plan: Plan, program: Maker): Document => ({
  kind: "Plan",
  version: 1,
  program,
  summary: summaryOf(plan),
  ...plan
})

/** The document in a text; undefined if the text has none. */
export const parse = (text: string): Document | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null) return undefined
    // The only unchecked cast: a program wrote the document, and the version names its form.
    return Reflect.get(value, "kind") === "Plan" && Reflect.get(value, "version") === 1
      ? (value as Document)
      : undefined
  } catch {
    return undefined
  }
}

/** Whether the plan has nothing to write, and knows it. */
export const isEmpty = ({ unknown, writes }: Pick<Plan, "writes" | "unknown">): boolean =>
  writes.length === 0 && unknown.length === 0

/** The plan before and now, without the parts that are the same. */
export interface Difference {
  readonly before: Pick<Document, "program" | "server" | "at" | "writes" | "unknown">
  readonly now: Document
}

/** Times differ from one plan to the next. */
const timeless = (value: object): string =>
  JSON.stringify(value).replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "")

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

/** The parts that only one of two plans has. Times do not count. */
export const difference = (before: Document, now: Document): Difference => {
  const only = (one: Document, other: Document) => {
    const part = { writes: without(one.writes, other.writes), unknown: without(one.unknown, other.unknown) }
    return { ...one, ...part, summary: summaryOf(part) }
  }
  return { before: only(before, now), now: only(now, before) }
}
