import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Cluster from "../client/Cluster.fixture.ts"
import type { Fields } from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Condition from "../resource/Condition.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Status from "./Status.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

type Desired = NonNullable<Widget["status"]>

/** A kind whose status has a map of objects. */
const Sharded = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Sharded",
  plural: "sharded",
  spec: Schema.Struct({}),
  status: Schema.Struct({
    shards: Schema.Record(Schema.String, Schema.Struct({ ready: Schema.Int }))
  })
})
type Sharded = typeof Sharded.Type

/** A reconcile that reports this status. */
const wants = (status: (run: number, widget: Widget) => Desired) =>
  counted((n, owner) => Effect.as(Status.update(owner, status(n, owner)), Result.done))

const patches = (server: Cluster.Cluster): ReadonlyArray<unknown> =>
  server.writes().flatMap(({ body, path }) => (path.endsWith("/status") ? [body] : []))

const condition = (type: string, status: "True" | "False" = "True"): Condition.Condition => ({
  type,
  status,
  reason: "Because",
  message: "so it is",
  lastTransitionTime: "2026-11-20T00:00:00Z"
})

const touch = (server: Cluster.Cluster, label: string) => {
  server.change(Widget, "a", { metadata: { labels: { label } } })
  return settle
}

describe("A status", () => {
  effect(
    "has messages of at most 32,768 characters, because the API server refuses longer ones",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const message = "x".repeat(40_000)
        const { reconcile } = wants(() => ({ conditions: [{ ...condition("Ready"), message }] }))
        yield* run({ reconcile })
        const [ready] = server.get(Widget, "a")?.status?.conditions ?? []
        expect(ready?.message).toBe(`${"x".repeat(32_767)}…`)
        yield* touch(server, "1")
        expect(patches(server)).toHaveLength(1)
      })
    )
  )

  effect(
    "has messages that a terminal can show, because they may quote the keys of a user",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const message = "spec.template.a\u001b[2J\u009b\u202e: is unknown\n\tand so on"
        const { reconcile } = wants(() => ({ conditions: [{ ...condition("Ready"), message }] }))
        yield* run({ reconcile })
        const [ready] = server.get(Widget, "a")?.status?.conditions ?? []
        expect(ready?.message).toBe("spec.template.a\\u001b[2J\\u009b\\u202e: is unknown\n\tand so on")
        yield* touch(server, "1")
        expect(patches(server)).toHaveLength(1)
      })
    )
  )

  effect(
    "is sent once, as a merge patch of the changes, and not at all without changes",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { phase: "Old", seen: 1 } })
        let desired: Desired = { seen: 2 }
        const { reconcile, runs } = wants(() => desired)
        yield* run({ reconcile })
        yield* touch(server, "1")
        expect(runs.length).toBeGreaterThan(1)
        // The API server has set observedGeneration to -1, and nothing wants that.
        expect(patches(server)).toEqual([{ status: { observedGeneration: null, phase: null, seen: 2 } }])
        const [sent] = server.writes()
        expect(sent?.path).toBe("/apis/example.com/v1/namespaces/default/widgets/a/status")
        expect(sent?.headers["content-type"]).toBe("application/merge-patch+json")
        expect(sent?.query.get("fieldManager")).toBe("widgets")
        expect(sent?.query.get("fieldValidation")).toBe("Ignore")

        desired = { seen: 2, phase: "New" }
        yield* touch(server, "2")
        expect(patches(server).slice(1)).toEqual([{ status: { phase: "New" } }])
        expect(server.get(Widget, "a")?.status).toEqual({ seen: 2, phase: "New" })
      })
    )
  )

  effect(
    "that is written twice in one reconcile is compared with the first write",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const reconcile = (owner: Widget) =>
          Effect.gen(function* () {
            yield* Status.update(owner, { phase: "Working", seen: 1 })
            yield* Status.update(owner, { phase: "Working", seen: 1 })
            yield* Status.update(owner, { phase: "Working", seen: 2 })
            return Result.requeueAfter("1 hour")
          })
        yield* run({ reconcile })
        expect(patches(server)).toEqual([
          { status: { observedGeneration: null, phase: "Working", seen: 1 } },
          { status: { seen: 2 } },
          // The event of the write wakes the object once.
          { status: { seen: 1 } },
          { status: { seen: 2 } }
        ])
      })
    )
  )

  effect(
    "keeps unknown fields of a newer version, and causes no write for them",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.loosen(Widget)
        server.put(Widget, { ...widget("a"), status: { phase: "Old", seen: 1, color: "red" } })
        let desired: Desired = { seen: 1 }
        const { reconcile } = wants(() => desired)
        yield* run({ reconcile })
        expect<unknown>(server.get(Widget, "a")?.status).toEqual({ seen: 1, color: "red" })
        server.change(Widget, "a", { status: { color: "blue" } })
        yield* settle
        desired = { seen: 2 }
        yield* touch(server, "1")
        expect(patches(server)).toEqual([{ status: { phase: null } }, { status: { seen: 2 } }])
        expect<unknown>(server.get(Widget, "a")?.status).toEqual({ seen: 2, color: "blue" })
      })
    )
  )

  effect(
    "keeps unknown fields in the entries of a map, and removes unwanted entries",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const shards = { a: { ready: 1, color: "red" }, b: { ready: 1, color: "blue" } }
        server.loosen(Sharded)
        server.put(Sharded, { metadata: { name: "a" }, spec: {}, status: { shards, free: { x: 1 } } })
        const reconcile = (owner: Sharded) =>
          Effect.as(Status.update(owner, { shards: { a: { ready: 2 }, c: { ready: 0 } } }), Result.done)
        const runner = yield* RunnerFixture.start(Controller.make("sharded", { for: Sharded, reconcile }), {
          gracePeriod: 0
        })
        yield* runner.started
        yield* settle
        expect(patches(server)).toEqual([{ status: { shards: { a: { ready: 2 }, b: null, c: { ready: 0 } } } }])
        expect<unknown>(server.get(Sharded, "a")?.status).toEqual({
          shards: { a: { ready: 2, color: "red" }, c: { ready: 0 } },
          free: { x: 1 }
        })
      })
    )
  )

  effect(
    "is corrected if another manager changes it at the same time",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { phase: "Running", seen: 1 } })
        const { reconcile } = counted((n, owner) => {
          // The cache has not received the change before the patch, which contains only `seen`.
          if (n === 1) server.change(Widget, "a", { status: { phase: "Broken" } })
          return Effect.as(Status.update(owner, { phase: "Running", seen: 2 }), Result.done)
        })
        yield* run({ reconcile })
        yield* touch(server, "1")
        expect(patches(server)).toEqual([
          { status: { observedGeneration: null, seen: 2 } },
          { status: { phase: "Running" } }
        ])
        expect(server.get(Widget, "a")?.status).toEqual({ phase: "Running", seen: 2 })
      })
    )
  )

  effect(
    "of a deleted object ends the attempt, and the next one waits for the deletion in the cache",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let round = 0
        const { reconcile, runs } = counted((_, owner) =>
          Effect.gen(function* () {
            yield* Owned.apply(owner, ConfigMap, { metadata: { name: "a" }, data: {} })
            yield* Status.update(owner, { seen: round })
            return Result.done
          })
        )
        yield* run({ reconcile, owns: [ConfigMap] })
        const before = runs.length

        server.faults.on({ verb: "watch", kind: Widget }, Faults.delayed("20 seconds"))
        server.remove(Widget, "a")
        for (round = 1; round < 6; round++) {
          // The garbage collector deletes the child.
          server.remove(ConfigMap, "a")
          yield* pass("1 second")
        }
        expect(runs.length).toBe(before + 1)
        expect(story(attempts.slice(before))).toEqual(Array(story(attempts.slice(before)).length).fill("Vanished"))
        expect(server.get(ConfigMap, "a")).toBeUndefined()

        server.put(Widget, widget("a"))
        yield* pass("1 minute")
        expect(server.get(Widget, "a")?.status).toEqual({ seen: 6 })
      })
    )
  )

  effect(
    "does not stay on a new object of the same name",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let old: string | undefined
        yield* run({
          reconcile: (one) =>
            Effect.gen(function* () {
              old ??= one.metadata.uid
              // The new object needs no status.
              if (one.metadata.uid !== old) return Result.done
              server.remove(Widget, "a")
              server.put(Widget, widget("a", 2))
              yield* Status.update(one, { seen: 99, observedGeneration: 1 })
              return Result.done
            })
        })
        yield* pass("1 second")
        expect(story(attempts)[0]).toBe("Vanished")
        expect(story(attempts)).toContain("Done")
        expect(server.get(Widget, "a")).toMatchObject({ spec: { size: 2 } })
        expect(server.get(Widget, "a")?.status).toEqual({})
      })
    )
  )

  effect(
    "is an error that names the CRD if the CRD has no status subresource",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.faults.on({ kind: Widget, subresource: "status" }, Faults.answer(404))
        yield* run({ reconcile: wants(() => ({ seen: 1 })).reconcile, retry: Schedule.spaced("1 second") })
        expect(story(attempts)).toEqual(["Failed +1000"])
        expect(logs.find((line) => line.startsWith("WARN"))).toContain(
          "/widgets/a/status: the Widget exists, but version v1 of its CRD has no status subresource"
        )
      })
    )
  )
})

describe("Conditions", () => {
  const conditionsOf = (server: Cluster.Cluster) => {
    const status = server.get(Widget, "a")?.status
    return status?.conditions?.map(({ status, type }) => `${type} ${status}`)
  }

  effect(
    "of other managers are kept, guarded by the resourceVersion",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { conditions: [condition("theirs/One")] } })
        const seen = server.get(Widget, "a")?.metadata.resourceVersion
        const { reconcile } = counted((n, owner) => {
          // Another client adds a condition that the cache has not received when the controller makes the status.
          const conditions = ["theirs/One", "theirs/Two"].map((type) => ({ ...condition(type) }))
          if (n === 1) server.change(Widget, "a", { status: { conditions } })
          return Effect.as(Status.update(owner, { conditions: [condition("Ready")] }), Result.done)
        })
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        const [first] = patches(server) as ReadonlyArray<Fields>
        expect(first?.metadata).toEqual({ resourceVersion: seen })
        expect(story(attempts)[0]).toBe("Failed +1000")
        yield* pass("1 second")
        expect(conditionsOf(server)).toEqual(["Ready True", "theirs/One True", "theirs/Two True"])
      })
    )
  )

  effect(
    "that another manager adds at the same time are kept, including its first one",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { conditions: [condition("Ready", "False")] } })
        const { reconcile } = counted((n, owner) => {
          const conditions = [condition("Ready", "False"), condition("theirs/One")].map((one) => ({ ...one }))
          if (n === 1) server.change(Widget, "a", { status: { conditions } })
          return Effect.as(Status.update(owner, { conditions: [condition("Ready")] }), Result.done)
        })
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        expect(story(attempts)[0]).toBe("Failed +1000")
        yield* pass("1 second")
        expect(conditionsOf(server)).toEqual(["Ready True", "theirs/One True"])
      })
    )
  )

  effect(
    "of other managers are kept if the controller has no own conditions",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { conditions: [condition("theirs/One")] } })
        yield* run({ reconcile: wants(() => ({ seen: 1 })).reconcile })
        expect(server.get(Widget, "a")?.status).toEqual({ conditions: [condition("theirs/One")], seen: 1 })
      })
    )
  )

  effect(
    "of the controller's own types go when the desired status lacks them",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const conditions = [condition("Ready"), condition("Config"), condition("theirs/One")].map((one) => ({ ...one }))
        server.put(Widget, { ...widget("a"), status: { conditions } })
        const { reconcile } = counted((_, owner) =>
          Effect.as(
            Status.update(owner, { conditions: [condition("Ready")] }, { conditionTypes: ["Config"] }),
            Result.done
          )
        )
        yield* run({ reconcile })
        expect(conditionsOf(server)).toEqual(["Ready True", "theirs/One True"])
      })
    )
  )

  effect(
    "of the controller's own types go with the progress of an object that lacks them",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const conditions = [condition("Config"), condition("theirs/One")].map((one) => ({ ...one }))
        server.put(Widget, { ...widget("a"), status: { conditions } })
        const facts = { reason: "Available", message: "it answers" }
        const { reconcile } = counted((_, owner) =>
          Effect.as(Status.ready(owner, facts, { seen: 1 }, { conditionTypes: ["Config"] }), Result.done)
        )
        yield* run({ reconcile })
        expect(conditionsOf(server)).toEqual(["Ready True", "theirs/One True"])
      })
    )
  )

  effect(
    "of kstatus are removed when they are no longer true, whatever other conditions exist",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { conditions: [condition("theirs/One")] } })
        const { reconcile } = wants((_, { spec }) => ({
          conditions: spec.size === 1 ? [condition("Ready", "False"), condition("Reconciling")] : [condition("Ready")]
        }))
        yield* run({ reconcile })
        expect(conditionsOf(server)).toEqual(["Ready False", "Reconciling True", "theirs/One True"])
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(conditionsOf(server)).toEqual(["Ready True", "theirs/One True"])
      })
    )
  )
})

describe("Conditions without a time", () => {
  const facts = { reason: "Because", message: "so it is" }

  effect(
    "get the last transition time and the generation",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let desired: Status.Desired<Desired> = { conditions: [Condition.false("Ready", facts)] }
        const { reconcile } = counted((_, owner) => Effect.as(Status.update(owner, desired), Result.done))
        yield* run({ reconcile })
        const times = () => server.get(Widget, "a")?.status?.conditions?.map((each) => each.lastTransitionTime)
        const [first] = times() ?? []
        expect(server.get(Widget, "a")?.status?.conditions).toEqual([
          {
            type: "Ready",
            status: "False",
            ...facts,
            observedGeneration: 1,
            lastTransitionTime: "1970-01-01T00:00:00Z"
          }
        ])
        yield* pass("1 minute")
        yield* touch(server, "1")
        expect(patches(server)).toHaveLength(1)
        desired = { conditions: [Condition.false("Ready", { ...facts, message: "still" })] }
        yield* touch(server, "2")
        expect(times()).toEqual([first ?? "none"])
        desired = { conditions: [Condition.true("Ready", facts)] }
        yield* touch(server, "3")
        expect(times()).toEqual(["1970-01-01T00:01:00Z"])
        expect(patches(server)).toHaveLength(3)
      })
    )
  )

  effect(
    "of kstatus are set by one call, together with other fields and conditions",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((_, owner) =>
          Effect.gen(function* () {
            const conditions = [Condition.true("Bound", facts)]
            if (owner.spec.size === 1) yield* Status.reconciling(owner, facts, { seen: 1, conditions })
            if (owner.spec.size === 2) yield* Status.stalled(owner, facts, { conditions })
            if (owner.spec.size === 3) yield* Status.ready(owner, facts)
            return Result.done
          })
        )
        yield* run({ reconcile })
        const states: Array<unknown> = []
        for (const size of [1, 2, 3]) {
          server.change(Widget, "a", { spec: { size } })
          yield* settle
          const { conditions, ...rest } = server.get(Widget, "a")?.status ?? {}
          states.push([conditions?.map(({ status, type }) => `${type} ${status}`).join(), rest])
        }
        expect(states).toEqual([
          ["Ready False,Reconciling True,Bound True", { observedGeneration: 1, seen: 1 }],
          ["Ready False,Stalled True,Bound True", { observedGeneration: 2 }],
          ["Ready True,Bound True", { observedGeneration: 3 }]
        ])
      })
    )
  )
})

describe("A status field that the server prunes", () => {
  /** The kind with an older CRD, whose status lacks `seen`. */
  const Older = CustomResource.make({
    group: Widget.group,
    version: Widget.version,
    kind: Widget.kind,
    spec: Schema.Struct({ size: Schema.Int }),
    status: Schema.Struct({
      phase: Schema.optionalKey(Schema.String),
      conditions: Schema.optionalKey(Condition.list)
    })
  })

  effect(
    "is reported once by name, and is not written again on its own",
    withWorld(
      ({ logs, server }) =>
        Effect.gen(function* () {
          for (const name of ["a", "b"]) server.put(Widget, widget(name))
          yield* run({ reconcile: wants(() => ({ phase: "Ready", seen: 4 })).reconcile })
          yield* touch(server, "1")
          yield* touch(server, "2")
          expect(patches(server)).toHaveLength(2)
          expect(logs.filter((line) => line.startsWith("WARN"))).toEqual([
            "WARN The API server drops status.seen of a Widget: its CRD is older than this program, apply the newer one"
          ])
        }),
      { kinds: [Older] }
    )
  )

  effect(
    "does not prevent other status writes, and is not reported again with them",
    withWorld(
      ({ logs, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const steps: ReadonlyArray<Desired> = [
            { phase: "One", seen: 4, conditions: [condition("Ready", "False"), condition("Reconciling")] },
            { phase: "Two", seen: 5, conditions: [condition("Ready"), condition("Reconciling")] },
            { phase: "Two", seen: 5, conditions: [condition("Ready")] },
            { seen: 5, conditions: [condition("Ready")] }
          ]
          let step = 0
          yield* run({ reconcile: wants(() => steps[step] ?? {}).reconcile })
          for (const [index, { seen, ...known }] of steps.entries()) {
            step = index
            yield* touch(server, `${index}`)
            expect(server.get(Widget, "a")?.status).toEqual({ ...known })
          }
          yield* touch(server, "last")
          expect(patches(server)).toHaveLength(4)
          expect(logs.filter((line) => line.startsWith("WARN"))).toHaveLength(1)
        }),
      { kinds: [Older] }
    )
  )
})

describe("An invalid object", () => {
  effect(
    "has conditions with the invalid field, and is not retried until it changes",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const reconciling = { ...condition("Reconciling") }
        const status = { phase: "Old", conditions: [{ ...condition("theirs/One") }, reconciling] }
        server.loosen(Widget)
        server.put(Widget, { metadata: { name: "a" }, spec: { size: "big" }, status })
        const { reconcile, times } = counted((_, owner) =>
          Effect.as(Status.update(owner, { phase: "Fine", conditions: [condition("Ready")] }), Result.done)
        )
        yield* run({ reconcile })
        yield* pass("1 minute")
        expect(times()).toEqual([])
        expect(story(attempts)).toEqual(["Terminal"])
        expect(patches(server)).toHaveLength(1)
        const message = 'Widget default/a does not match its schema: spec.size: Expected number, actual "big"'
        const facts = {
          reason: "InvalidSpec",
          message,
          observedGeneration: 1,
          lastTransitionTime: "1970-01-01T00:00:00Z"
        }
        expect(server.get(Widget, "a")?.status).toEqual({
          phase: "Old",
          observedGeneration: 1,
          conditions: [
            { type: "Ready", status: "False", ...facts },
            { type: "Stalled", status: "True", ...facts },
            condition("theirs/One")
          ]
        })

        server.change(Widget, "a", { spec: { size: 3 } })
        yield* settle
        expect(times()[0]).toBe(60_000)
        expect(server.get(Widget, "a")?.status).toEqual({
          phase: "Fine",
          conditions: [condition("Ready"), condition("theirs/One")]
        })
      })
    )
  )
})
