import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Condition from "../resource/Condition.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import * as HotLoop from "./HotLoop.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import { pass, run, settle, Widget, type World, widget, withWorld } from "./World.fixture.ts"

const facts = { reason: "Available", message: "it works" }

/** How a reconcile may write its status, and the conditions without a fight. */
const habits = {
  "writes Ready": {
    write: (owner: Widget) => Status.ready(owner, facts),
    usual: ["Ready True Available"]
  },
  "writes Ready with the deviation of its spec": {
    write: (owner: Widget) => Status.reconciling(owner, facts),
    usual: ["Ready False Available", "Reconciling True Available"]
  },
  "writes conditions of its own": {
    write: (owner: Widget) => Status.update(owner, { conditions: [Condition.true("Painted", facts)] }),
    usual: ["Painted True Available"]
  },
  "writes fields, and no condition": {
    write: (owner: Widget) => Status.update(owner, { phase: "Running" }),
    usual: []
  },
  "writes no status": { write: () => Effect.void, usual: [] }
} satisfies { readonly [habit: string]: { readonly write: (owner: Widget) => unknown; readonly usual: unknown } }

const conditions = ({ server }: World) => server.get(Widget, "a")?.status?.conditions ?? []

const shown = (world: World) =>
  conditions(world)
    .map(({ reason, status, type }) => `${type} ${status} ${reason}`)
    .sort()

const statusWrites = ({ server }: World) => server.writes().filter(({ path }) => path.endsWith("/widgets/a/status"))

/** Another manager changes the child, and the controller puts it back. */
const rounds = ({ server }: World, times: number) =>
  Effect.repeat(
    Effect.suspend(() => {
      server.change(ConfigMap, "a", { data: { size: "7" } }, "rival")
      return pass("1 second")
    }),
    { times: times - 1 }
  )

const note = "data.size of ConfigMap default/a was put back 5 times within 30 s: rival keeps changing it."

describe("An object in a fight is not Ready, and names the other manager", () => {
  for (const [habit, { usual, write }] of Object.entries(habits)) {
    for (const result of [Result.done, Result.requeueAfter("1 minute")]) {
      effect(
        `if its controller ${habit}, with the result ${JSON.stringify(result)}`,
        withWorld((world) =>
          Effect.gen(function* () {
            world.server.put(Widget, widget("a"))
            yield* run({
              owns: [ConfigMap],
              reconcile: (owner) =>
                Owned.apply(owner, ConfigMap, { metadata: { name: "a" }, data: { size: "1" } }).pipe(
                  Effect.andThen(write(owner)),
                  Effect.as(result)
                )
            })
            yield* rounds(world, 6)
            expect(shown(world)).toEqual(usual)
            const before = statusWrites(world).length

            yield* rounds(world, 1)
            const others = usual.filter((each) => !/^(Ready|Reconciling) /.test(each))
            expect(shown(world)).toEqual([...others, "Ready False FieldFight"])
            expect(Condition.find(conditions(world), "Ready")?.message).toContain(note)
            yield* rounds(world, 40)
            // It lasts, and one write shows it.
            expect(shown(world)).toEqual([...others, "Ready False FieldFight"])
            expect(statusWrites(world)).toHaveLength(before + 1)
            const object = world.server.get(Widget, "a")
            expect(object && ObjectState.of(Widget, object)).toBe("Failed")

            yield* pass(HotLoop.recentMillis - 2000)
            expect(shown(world)).toEqual([...others, "Ready False FieldFight"])
            yield* pass("2 seconds")
            yield* settle
            expect(shown(world)).toEqual(usual)
            expect(statusWrites(world)).toHaveLength(before + 2)
            // Nothing else follows.
            yield* pass("50 minutes")
            expect(statusWrites(world)).toHaveLength(before + 2)
          })
        )
      )
    }
  }
})
