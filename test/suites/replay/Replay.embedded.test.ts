/** Tests of replays of a manager's recordings, with the same reconciler and with a fixed one. */
import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Outside from "@homeostat/runtime/controller/Outside"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as Manager from "@homeostat/runtime/manager/Manager"
import type { Document } from "@homeostat/runtime/manager/recordings/Document"
import * as Text from "@homeostat/runtime/replay/Text"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { live } from "@homeostat/testkit/Test"
import { Clock, Duration, Effect, Option, Random } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { Chore } from "../runtime/Chore.ts"
import * as Recordings from "./Recordings.ts"

type Reconcile = Parameters<
  typeof Controller.make<Chore, unknown, Controller.Services | Controller.Provided>
>[1]["reconcile"]

const key = { namespace: "default", name: "shop" }

const secretValue = "correct horse battery"

const controllerOf = (reconcile: Reconcile) =>
  Controller.make("chores", {
    for: Chore,
    owns: [BuiltIn.ConfigMap],
    watches: [Trigger.on(BuiltIn.Secret, { map: () => [] }), Trigger.onMetadata(BuiltIn.Secret, { map: () => [] })],
    access: [Access.get(BuiltIn.Pod), Access.get(BuiltIn.Secret)],
    reconcile
  })

/** Returns the recordings of the attempts for one Chore, during which `body` runs. */
const recordings = (
  reconcile: Reconcile,
  body: Effect.Effect<unknown, unknown, Client.Client> = Effect.void,
  begin: (faults: Faults.Faults) => void = () => {}
) =>
  Effect.gen(function* () {
    const all: Array<Document> = []
    const manager = Recordings.observed(all)(Manager.launch([controllerOf(reconcile)]))
    yield* Harness.run({ crds: [Crd.of(Chore)], manager, atRest: false }, ({ faults }) =>
      Effect.gen(function* () {
        begin(faults)
        yield* Client.create(BuiltIn.Secret, { metadata: key, stringData: { password: secretValue } })
        yield* Client.create(Chore, { metadata: key, spec: { what: "sweep" } })
        yield* TestClock.adjust("2 seconds")
        yield* body
        yield* TestClock.adjust("2 seconds")
      })
    )
    return all
  })

const replay = (document: Document, reconcile: Reconcile) => Recordings.replayed([controllerOf(reconcile)], document)

type Act = (chore: Chore) => Effect.Effect<unknown, unknown, Effect.Services<ReturnType<Reconcile>>>

const sequence =
  (...acts: ReadonlyArray<Act>): Reconcile =>
  (chore) =>
    Effect.as(
      Effect.forEach(acts, (act) => act(chore)),
      Result.done
    )

const concurrent =
  (...acts: ReadonlyArray<Act>): Reconcile =>
  (chore) =>
    Effect.as(
      Effect.forEach(acts, (act) => act(chore), { concurrency: "unbounded" }),
      Result.done
    )

/** Runs an act in a fiber of its own. */
const timed =
  (act: Act): Act =>
  (chore) =>
    Effect.timeout(act(chore), "1 minute")

const page = (text: string) => ({ metadata: { name: "page" }, data: { text } })

/** Returns the first recording. Throws an Error if there is none. */
const first = (documents: ReadonlyArray<Document>): Document => {
  const [document] = documents
  if (document === undefined) throw new Error("no recording")
  return document
}

describe("An attempt that failed", () => {
  const failing: Reconcile = (chore) =>
    Effect.gen(function* () {
      yield* Owned.apply(chore, BuiltIn.ConfigMap, page(chore.spec.what))
      const pod = yield* Client.get(BuiltIn.Pod, { namespace: "default", name: "broom" })
      return pod.metadata.name === "" ? Result.requeue : Result.done
    })

  live("fails in its replay with the same error, after the same reads and writes", () =>
    Effect.gen(function* () {
      const [document, second] = yield* recordings(failing)
      if (document === undefined || second === undefined) return yield* Effect.die(new Error("no retry was recorded"))
      for (const each of [document, second]) {
        expect(each.ending).toMatchObject({ outcome: "Failed", error: "NotFound" })
        const report = yield* replay(each, failing)
        expect(report).toMatchObject({ same: true, ending: each.ending, differences: [], missingReads: [] })
      }
      expect((yield* replay(document, failing)).writes).toBe(1)
      expect((yield* replay(second, failing)).writes).toBe(0)
    })
  )

  live("replays a whole object of a kind with metadata in the cache, which only the first attempt requested", () =>
    Effect.gen(function* () {
      const reading: Reconcile = (chore) =>
        Effect.flatMap(Cache.getWhole(BuiltIn.Secret, key), (secret) =>
          failing({ ...chore, spec: { what: Object.keys(Option.getOrThrow(secret).data ?? {}).join() } })
        )
      const [one, two] = yield* recordings(reading)
      for (const document of [one ?? expect.unreachable(), two ?? expect.unreachable()]) {
        expect(yield* replay(document, reading)).toMatchObject({ same: true, differences: [], missingReads: [] })
        expect(JSON.stringify(document)).not.toContain(Buffer.from(secretValue).toString("base64"))
      }
    })
  )

  live("shows the other writes and the other outcome of a corrected reconciler", () =>
    Effect.gen(function* () {
      const document = first(yield* recordings(failing))
      const corrected: Reconcile = (chore) =>
        Effect.gen(function* () {
          yield* Owned.apply(chore, BuiltIn.ConfigMap, page(`${chore.spec.what} twice`))
          yield* Owned.apply(chore, BuiltIn.ConfigMap, page(`${chore.spec.what} twice`))
          yield* Status.update(chore, { result: "yes" })
          return Result.done
        })
      const report = yield* replay(document, corrected)
      expect(report).toMatchObject({ same: false, ending: { outcome: "Done" }, missingReads: [] })
      expect(report.differences).toEqual([
        {
          difference: "changed",
          method: "PATCH",
          path: "/api/v1/namespaces/default/configmaps/page?fieldManager=chores&fieldValidation=Strict",
          fields: [{ path: "data.text", from: "sweep", to: "sweep twice" }]
        },
        {
          difference: "added",
          method: "PATCH",
          path: expect.stringMatching(/\/chores\/shop\/status\?/),
          fields: [{ path: "status.result", to: "yes" }]
        }
      ])
      const text = Text.render(report)
      expect(text).toContain("      data.text: sweep -> sweep twice\n")
      expect(text).toContain("Recorded outcome: Failed: GET /api/v1/namespaces/default/pods/broom: ")
      expect(text).toEndWith("Differs from the recording: 3 reads, 2 writes.")
    })
  )

  live("has its own object without a read of the cache", () =>
    Effect.gen(function* () {
      const applied: Act = (chore) => Owned.apply(chore, BuiltIn.ConfigMap, page("a"))
      const annotated: Act = () => Client.patch(Chore, key, Patch.merge({ metadata: { annotations: { a: "b" } } }))
      const document = first(yield* recordings(sequence(applied)))
      const report = yield* replay(
        document,
        sequence(() => Client.get(Chore, key), annotated, applied)
      )
      expect(report).toMatchObject({ ending: { outcome: "Done" }, missingReads: [] })
      const fields = [{ path: "metadata.annotations.a", to: "b" }]
      expect(report.differences).toMatchObject([{ difference: "added", method: "PATCH", fields }])
    })
  )

  live("reports another order of writes, unless the writes are concurrent", () =>
    Effect.gen(function* () {
      const one: Act = (chore) => Owned.apply(chore, BuiltIn.ConfigMap, { metadata: { name: "one" } })
      const two: Act = (chore) => Owned.apply(chore, BuiltIn.ConfigMap, { metadata: { name: "two" } })
      const late: Act = (chore) => Effect.andThen(Effect.sleep("1 second"), two(chore))
      const path = (name: string) => expect.stringContaining(`/configmaps/${name}?`)
      const moved = { difference: "moved", path: path("one"), after: path("two") }
      const cases: ReadonlyArray<readonly [recorded: Reconcile, now: Reconcile, differences: ReadonlyArray<object>]> = [
        [sequence(one, two), sequence(one, two), []],
        [sequence(one, two), sequence(two, one), [moved]],
        // Each in a fiber of its own, one after the other.
        [sequence(one, two), sequence(timed(two), timed(one)), [moved]],
        [concurrent(one, two), concurrent(two, one), []],
        [sequence(one, two), concurrent(two, one), []],
        [concurrent(one, late), sequence(two, one), [moved]]
      ]
      for (const [recorded, now, differences] of cases) {
        const document = first(yield* recordings(recorded, TestClock.adjust("5 seconds")))
        const report = yield* replay(document, now)
        const text = Text.render(report)
        const shown = /\n {2}> PATCH .*\/one\?.*\n {6}after PATCH .*\/two\?/
        if (differences.length > 0) expect(text).toMatch(shown)
        expect(report.differences).toMatchObject(differences)
        expect(report.differences).toHaveLength(differences.length)
        expect(report.same).toBe(differences.length === 0)
      }
    })
  )

  live("reports another delay", () =>
    Effect.gen(function* () {
      const after =
        (delay: Duration.Input): Reconcile =>
        () =>
          Effect.andThen(Effect.sleep("40 seconds"), Effect.succeed(Result.requeueAfter(delay)))
      const document = first(yield* recordings(after("1 minute"), TestClock.adjust("50 seconds")))
      expect(yield* replay(document, after("1 minute"))).toMatchObject({ same: true })
      for (const delay of ["58 seconds", "62 seconds", "2 minutes"] as const) {
        const report = yield* replay(document, after(delay))
        expect(report).toMatchObject({ same: false, differences: [], ending: { outcome: "RequeueAfter" } })
        expect(Text.render(report)).toContain("Recorded outcome: RequeueAfter 60s\n")
      }
    })
  )

  live("reports a write that only the recording has", () =>
    Effect.gen(function* () {
      const document = first(yield* recordings(failing))
      const report = yield* replay(document, () => Effect.succeed(Result.done))
      expect(report.differences).toMatchObject([{ difference: "missing", method: "PATCH" }])
      expect(report.same).toBe(false)
    })
  )

  live("reports a read that the recording does not have, and stops there", () =>
    Effect.gen(function* () {
      const document = first(yield* recordings(failing))
      const reads: ReadonlyArray<readonly [Reconcile, string]> = [
        [() => Effect.as(Cache.get(BuiltIn.Secret, key), Result.done), "Secret default/shop"],
        [
          () => Effect.as(Cache.list(BuiltIn.Secret, { namespace: "default" }), Result.done),
          "list of secrets (namespace default)"
        ],
        [() => Effect.as(Client.get(BuiltIn.Pod, key), Result.done), "GET /api/v1/namespaces/default/pods/shop"],
        [
          () => Effect.as(Client.patch(BuiltIn.Pod, key, Patch.merge({})), Result.done),
          "PATCH /api/v1/namespaces/default/pods/shop?fieldManager=chores&fieldValidation=Strict"
        ]
      ]
      for (const [reconcile, missing] of reads) {
        let reached = false
        const report = yield* replay(document, (chore) =>
          Effect.tap(reconcile(chore), () =>
            Effect.sync(() => {
              reached = true
            })
          )
        )
        expect(report).toMatchObject({ same: false, ending: { outcome: "Stopped" }, missingReads: [missing] })
        expect(reached).toBe(false)
      }
      // The recording contains the Chore from the start of the attempt.
      const known = yield* replay(document, (chore) =>
        Effect.as(Client.get(Chore, chore.metadata as typeof key), Result.done)
      )
      expect(known.missingReads).toEqual([])
    })
  )

  live("has the defect of an undeclared kind again, and does not run an effect outside of the cluster", () =>
    Effect.gen(function* () {
      const undeclared: Reconcile = () => Effect.as(Cache.list(BuiltIn.Service), Result.done)
      const document = first(yield* recordings(undeclared))
      expect(document.ending).toMatchObject({ outcome: "Terminal" })
      expect(yield* replay(document, undeclared)).toMatchObject({ same: true })
      let ran = false
      const outside: Reconcile = () =>
        Effect.as(
          Outside.effect(
            "the bucket",
            Effect.sync(() => {
              ran = true
            })
          ),
          Result.done
        )
      const report = yield* replay(document, outside)
      expect(report.ending).toEqual({
        outcome: "Stopped",
        message: "a replay has no effect outside of the cluster: the bucket"
      })
      expect(ran).toBe(false)
    })
  )
})

describe("A request that an API server rejected, or did not answer", () => {
  const writing: Reconcile = (chore) =>
    Effect.gen(function* () {
      yield* Owned.apply(chore, BuiltIn.ConfigMap, page(chore.spec.what))
      const { status } = yield* Client.raw({ method: "GET", path: "/version", retry: true })
      return status === 200 ? Result.done : Result.requeue
    })
  const maps = { verb: "patch", kind: BuiltIn.ConfigMap } as const
  const faults: ReadonlyArray<readonly [what: string, begin: (faults: Faults.Faults) => void, ending: object]> = [
    // After a conflict, an apply reads the child.
    ["409", (all) => all.on(maps, Faults.conflict, { times: 1 }), { outcome: "Failed", error: "NotFound" }],
    [
      "429 until the retries end",
      (all) => all.on(maps, Faults.tooManyRequests("1 second")),
      { error: "TooManyRequests" }
    ],
    ["503 until the retries end", (all) => all.on(maps, Faults.answer(503)), { error: "ServerError" }],
    ["503 once", (all) => all.on(maps, Faults.answer(503), { times: 1 }), { outcome: "Done" }],
    ["403", (all) => all.on(maps, Faults.answer(403)), { error: "Forbidden" }],
    ["a lost connection", (all) => all.on(maps, Faults.lost), { outcome: "Unreachable", error: "Transport" }]
  ]
  for (const [what, begin, ending] of faults) {
    live(`has the same result in a replay: ${what}`, () =>
      Effect.gen(function* () {
        const document = first(yield* recordings(writing, TestClock.adjust("30 seconds"), (all) => void begin(all)))
        expect(document.ending).toMatchObject(ending)
        const report = yield* replay(document, writing)
        expect(report).toMatchObject({ same: true, ending: document.ending, differences: [], missingReads: [] })
      })
    )
  }
})

describe("A request without a recorded response", () => {
  live("stops a replay if the response was too large to keep", () =>
    Effect.gen(function* () {
      const large = { metadata: { namespace: "default", name: "large" }, data: { text: "x".repeat(600_000) } }
      const reading: Reconcile = (chore) =>
        Effect.gen(function* () {
          yield* Client.apply(BuiltIn.ConfigMap, large)
          yield* Client.get(BuiltIn.ConfigMap, large.metadata)
          yield* Status.update(chore, { result: "yes" })
          return Result.done
        })
      const document = first(yield* recordings(reading))
      expect(document.requests).toMatchObject([{ response: { status: 201 } }, { cut: true }, { cut: true }])
      const report = yield* Effect.timeout(replay(document, reading), "5 seconds")
      expect(report).toMatchObject({ same: false, ending: { outcome: "Stopped" } })
      expect(report.ending.message).toBe(
        "the recording does not have the response, which was too large, of: GET /api/v1/namespaces/default/configmaps/large"
      )
    })
  )

  live("ends a replay as the end of the manager ended the attempt", () =>
    Effect.gen(function* () {
      const writing: Reconcile = (chore) =>
        Effect.as(Owned.apply(chore, BuiltIn.ConfigMap, page(chore.spec.what)), Result.done)
      const whole = first(yield* recordings(writing))
      const requests = whole.requests.map(({ response: _, ...request }) => request)
      const document = { ...whole, ending: { outcome: "Interrupted" as const }, requests }
      const report = yield* Effect.timeout(replay(document, writing), "5 seconds")
      expect(report).toMatchObject({ same: true, ending: { outcome: "Interrupted" }, differences: [] })
    })
  )
})

describe("The time of a replay", () => {
  live("starts at the recorded time, and sleeps end at once", () =>
    Effect.gen(function* () {
      const timed: Reconcile = (chore) =>
        Effect.gen(function* () {
          const before = yield* Clock.currentTimeMillis
          yield* Effect.sleep("30 seconds")
          const late = yield* Effect.timeoutOption(Effect.never, "1 minute")
          const after = yield* Clock.currentTimeMillis
          yield* Status.update(chore, { result: `${before} ${after} ${Option.isNone(late)}` })
          return Result.requeueAfter("1 hour")
        })
      const document = first(yield* recordings(timed, TestClock.adjust("2 minutes")))
      const [seconds, report] = yield* Effect.timed(replay(document, timed))
      expect(report).toMatchObject({
        same: true,
        writes: 1,
        ending: { outcome: "RequeueAfter", afterMillis: 3_600_000 }
      })
      expect(JSON.stringify(document.requests)).toContain("true")
      expect(Duration.toSeconds(seconds)).toBeLessThan(5)
    })
  )

  live("reaches the time limit of a reconcile that did", () =>
    Effect.gen(function* () {
      const endless: Reconcile = () => Effect.never
      const document = first(yield* recordings(endless, TestClock.adjust("3 minutes")))
      expect(document.ending.error).toBe("ReconcileTimeout")
      expect(yield* replay(document, endless)).toMatchObject({ same: true })
    })
  )

  live("has the same random numbers in each replay", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const random: Reconcile = () =>
        Effect.as(
          Effect.map(Random.next, (each) => seen.push(each)),
          Result.done
        )
      const document = first(yield* recordings(random))
      seen.length = 0
      yield* replay(document, random)
      yield* replay(document, random)
      expect(seen[0]).toBe(seen[1] ?? Number.NaN)
    })
  )
})

describe("The values of a Secret", () => {
  live("are not in a recording, in any of its encodings, and a replay finds values of the same length", () =>
    Effect.gen(function* () {
      const lengths: Array<number> = []
      const copying: Reconcile = (chore) =>
        Effect.gen(function* () {
          const cached = yield* Cache.get(BuiltIn.Secret, key)
          const secret = yield* Client.get(BuiltIn.Secret, key)
          const password = Buffer.from(secret.data?.password ?? "", "base64").toString()
          lengths.push(password.length, Option.getOrThrow(cached).data?.password?.length ?? 0)
          yield* Owned.apply(chore, BuiltIn.ConfigMap, page(`the password is ${password}`))
          yield* Client.patch(BuiltIn.Secret, key, Patch.merge({ stringData: { again: password } }))
          return yield* new TerminalError({ message: `bad password: ${password}` })
        })
      const documents = yield* recordings(copying)
      expect(documents.length).toBeGreaterThan(0)
      for (const document of documents) {
        const text = JSON.stringify(document)
        for (const encoding of ["utf8", "base64", "hex"] as const) {
          expect(text).not.toContain(Buffer.from(secretValue).toString(encoding))
        }
        expect(document.redacted).toBeGreaterThan(3)
      }
      const [password, data] = lengths
      lengths.length = 0
      const report = yield* replay(first(documents), copying)
      expect(lengths).toEqual([password ?? 0, data ?? 0])
      expect(JSON.stringify(report)).not.toContain(secretValue)
      expect(report.ending).toEqual({ ...report.recordedEnding, outcome: "Terminal" })
      expect([report.same, report.differences]).toEqual([true, []])
    })
  )
})
