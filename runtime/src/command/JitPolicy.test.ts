import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import type { Informer, Listener } from "../cache/Informer.ts"
import * as JitPolicy from "./JitPolicy.ts"

type Changes = Parameters<Listener>[0]

/** An informer with listeners, and how a test gives them changes. */
const informer = () => {
  const listeners = new Set<Listener>()
  const subscribe: Informer["subscribe"] = (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const change = (count: number): void => {
    const changes: Changes = Array.from({ length: count }, () => ({}) as Changes[number])
    for (const listener of listeners) listener(changes)
  }
  return { subscribe, change, listeners }
}

describe("The JIT policy", () => {
  test("goes over to work once, at a hundred changes of all caches, which it then leaves alone", async () => {
    let begun = 0
    const [one, other] = [informer(), informer()]
    Effect.runSync(JitPolicy.atWork([one, other, one], () => begun++))
    expect(one.listeners.size).toBe(1)
    one.change(60)
    other.change(39)
    expect(begun).toBe(0)
    one.change(1)
    other.change(500)
    expect(begun).toBe(1)
    await Promise.resolve()
    expect([one.listeners.size, other.listeners.size]).toEqual([0, 0])
  })

  test("changes only in a program that was compiled with that of a start", () => {
    const set: Array<number> = []
    const build = { commit: "unknown", target: "linux-x64", runtime: "bun 1.4.5" }
    const programs = [undefined, [], ["jitPolicy=3"], ["minify", `jitPolicy=${JitPolicy.starting}`]]
    for (const settings of programs)
      JitPolicy.work(
        { name: "p", version: "1.0.0", ...(settings !== undefined && { build: { ...build, settings } }) },
        (policy) => set.push(policy)
      )
    expect(set).toEqual([JitPolicy.working])
  })
})
