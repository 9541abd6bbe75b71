/** Objects that enter and leave a selection, and two that are never selected. The lane deep tries all faults. */
import { expect } from "bun:test"
import { BuiltIn, Client, KubernetesObject } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Selection from "./Selection.ts"

Explore.test("an object that enters and leaves a selection survives crashes", Selection.story, { faults: ["Crash"] })

const { manager, steps } = Selection.story

/** After each step, whether the object has the finalizer, and whether its Secret exists. */
const states: ReadonlyArray<readonly [step: string, isMarked: boolean, isCopied: boolean]> = [
  ["create", true, true],
  ["annotation removed", false, false],
  ["annotation added", true, true],
  ["label removed", false, false],
  ["label added", true, true],
  ["news refused", true, true],
  ["news accepted", true, true],
  ["both removed", false, false],
  ["delete", false, false]
]

Harness.make({ manager: manager({ instance: "manager" }) })(
  "each step of the story leaves the finalizer and the Secret of a selected object only",
  () =>
    Effect.gen(function* () {
      for (const [index, step] of steps.entries()) {
        yield* step.act
        yield* TestClock.adjust("10 seconds")
        const maps = (yield* Client.list(BuiltIn.ConfigMap)).items
        const marked = maps.filter(({ metadata }) => metadata.finalizers !== undefined)
        const secrets = (yield* Client.list(BuiltIn.Secret)).items
        const [name, isMarked, isCopied] = states[index] ?? []
        expect(step.name).toBe(name ?? "")
        expect(marked.map((map) => KubernetesObject.keyOf(map))).toEqual(isMarked === true ? [Selection.mine] : [])
        expect(secrets.map(({ metadata }) => metadata.name)).toEqual(isCopied === true ? ["mine"] : [])
      }
    })
)
