/**
 * How eagerly JavaScriptCore compiles functions to machine code. A start calls most functions a few times, so a compiled program begins with
 * {@link starting}. Many objects bring work that repeats, so it goes on with {@link working} after the first ones.
 */
import * as Effect from "effect/Effect"
import type { Informer } from "../cache/Informer.ts"
import type * as Build from "./Build.ts"

/** A function is compiled after this many times as many calls as by default. */
export const starting = 30

/** The same number for work. */
export const working = 3

/** The changes in the caches with which the work begins. */
export const fewest = 100

/** Sets the policy for work in a program that was compiled with {@link starting}. Others keep the policy that they have. */
export const work = ({ build }: Build.Built, set: (policy: number) => void = Bun.unsafe.setJITPolicy): void => {
  if (build?.settings.includes(`jitPolicy=${starting}`) === true) set(working)
}

/** Calls `begin` once, when the caches have had {@link fewest} changes. */
export const atWork = (informers: Iterable<Pick<Informer, "subscribe">>, begin: () => void): Effect.Effect<void> =>
  Effect.sync(() => {
    let changed = 0
    const forget: Array<() => void> = []
    for (const informer of new Set(informers))
      forget.push(
        informer.subscribe(({ length }) => {
          if (changed < fewest && changed + length >= fewest) {
            begin()
            queueMicrotask(() => {
              for (const each of forget) each()
            })
          }
          changed += length
        })
      )
  })
