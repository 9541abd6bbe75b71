/** Random scripts: three managers apply, patch and replace a Thing in both versions. A seed stands for one script. */
import type { Draft, DraftObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { apply, as, force, merge, put, type Script, type Step, spec } from "./Script.ts"
import * as Things from "./Things.ts"

/** A script with `length` steps after the first. */
export const script = (seed: number, length: number): Script => {
  const die = dieOf(seed)
  return {
    name: `three managers write at random, seed ${seed}`,
    kind: Things.v1,
    steps: [apply("a", spec(fieldsOf(die))), ...Array.from({ length }, () => stepOf(die))]
  }
}

/** Returns a number from 0 to `sides` - 1. */
type Die = (sides: number) => number

const dieOf = (seed: number): Die => {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % sides
  }
}

const stepOf = (die: Die): Step => {
  const by = ["a", "b", "c"][die(3)] ?? ""
  const step = writeOf(die, by)
  return die(5) === 0 ? as(Things.v2, step) : step
}

const writeOf = (die: Die, by: string): Step => {
  const way = die(10)
  const fields = fieldsOf(die)
  if (way < 5) return force(by, spec(fields))
  if (way < 7) return apply(by, spec(fields))
  if (way === 7) return put(by, (live) => Object.assign(J.member(live, "spec"), fields))
  const forgotten = Object.keys(fields).filter(() => die(6) === 0)
  return merge(by, spec({ ...fields, ...Object.fromEntries(forgotten.map((name) => [name, null])) }))
}

/** A third of the fields, with one of the few values that each may have. */
const fieldsOf = (die: Die): DraftObject => {
  const some = <A>(all: ReadonlyArray<A>): Array<A> => {
    const chosen = all.filter(() => die(2) === 0)
    return die(3) === 0 ? chosen.reverse() : chosen
  }
  const text = (): string => String(die(3))
  const maybe = (fields: DraftObject): DraftObject => (die(2) === 0 ? fields : {})
  const texts = (...names: ReadonlyArray<string>): DraftObject =>
    Object.fromEntries(some(names).map((name) => [name, text()]))
  const values: { readonly [field: string]: () => Draft } = {
    name: text,
    count: () => die(3),
    on: () => die(2) === 0,
    maybe: () => [null, "x", "y"][die(3)] ?? null,
    items: () =>
      some(["x", "y", "z", "w"]).map((name) => ({
        name,
        ...maybe({ value: text() }),
        ...maybe({ weight: die(3) }),
        ...maybe({ tags: some(["p", "q", "r"]) })
      })),
    ports: () =>
      some([80, 443]).flatMap((port) =>
        some(["TCP", "UDP"]).map((protocol) => ({
          port,
          ...(protocol === "TCP" ? maybe({ protocol }) : { protocol }),
          ...maybe({ title: text() })
        }))
      ),
    tags: () => some(["a", "b", "c", "d"]),
    atoms: () => some(["a", "b"]),
    plain: () => some(["a", "b"]).map((a) => ({ a })),
    granular: () => texts("a", "b", "c"),
    whole: () => texts("a", "b"),
    block: () => texts("a", "b"),
    open: () => ({
      ...maybe({ a: die(2) === 0 ? text() : { b: text(), c: [text()] } }),
      ...maybe({ b: { d: text() } })
    }),
    half: () => ({ ...maybe({ known: text() }), ...maybe({ x: { y: text() } }), ...maybe({ deep: { a: text() } }) }),
    anything: () => (die(2) === 0 ? [text()] : die(2) === 0 ? text() : maybe({ a: maybe({ c: text() }) })),
    amount: () => (die(2) === 0 ? die(3) : "5%"),
    deep: () => maybe({ a: maybe({ b: texts("c", "d") }) }),
    settings: () => texts("level", "mode"),
    groups: () => Object.fromEntries(some(["g", "h"]).map((name) => [name, texts("a", "b")]))
  }
  const fields: DraftObject = {}
  for (const [field, value] of Object.entries(values)) if (die(3) === 0) fields[field] = value()
  return fields
}
