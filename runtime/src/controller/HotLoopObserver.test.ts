import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Patch from "../client/Patch.ts"
import { ConfigMap, Deployment } from "../resource/BuiltIn.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as Tracing from "../telemetry/Tracing.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import {
  altering,
  counted,
  type Options,
  pass,
  run,
  type Services,
  settle,
  Widget,
  type World,
  widget,
  withWorld
} from "./World.fixture.ts"

type Body = Parameters<typeof withWorld>[0]

/** A test with its own metrics. */
const it = (name: string, body: Body, options?: Options) =>
  effect(name, () =>
    Effect.suspend(withWorld(body, options)).pipe(Effect.provideService(Metrics.Metrics, Metrics.make()))
  )

/** A reconcile that makes one ConfigMap of the Widget's name, with its size and this data. */
const makes = (data: { readonly [key: string]: string } = {}, options?: Owned.Options<ConfigMap>) => ({
  owns: [ConfigMap],
  fieldManager: "widget-maker",
  ...counted((_, owner) =>
    Effect.as(
      Owned.apply(
        owner,
        ConfigMap,
        { metadata: { name: owner.metadata.name }, data: { size: String(owner.spec.size), ...data } },
        options
      ),
      Result.done
    )
  )
})

/** The number of repairs until a report: the second one makes the object suspicious, and five more are counted. */
const reported = 7

/** Another client changes the child this many times, and the controller changes it back. */
const fight = (
  { server }: World,
  rounds: number,
  every: Parameters<typeof pass>[0],
  change: Cluster.Fields = { data: { size: "7" } },
  manager = "rival"
) =>
  Effect.repeat(
    Effect.suspend(() => {
      server.change(ConfigMap, "a", change, manager)
      return pass(every)
    }),
    { times: rounds - 1 }
  )

/** The writes of one resource. */
const writesOf = (server: Cluster.Cluster, resource: string) =>
  server.writes().filter(({ path }) => path.includes(resource))

/** The warning Events of the Widget with their counts, after the recorder has written them. */
const warnings = (server: Cluster.Cluster) =>
  Effect.map(settle, () =>
    server
      .events()
      .filter(({ type, regarding }) => type === "Warning" && regarding?.name === "a")
      .map(({ note, reason }) => `${reason}: ${note}`)
  )

const lines = ({ logs }: World) => logs.filter((line) => line.startsWith("WARN"))

const looks = ({ server }: World) =>
  server.requests.filter(({ path, verb }) => verb === "get" && path.endsWith("/a")).length

const hotLoops = Effect.map(Metrics.Metrics, (registry) => reading(registry, "homeostat_hot_loops_total"))

const expectedNote =
  "data.size of ConfigMap default/a was put back 5 times within 30 s: rival keeps changing it. " +
  "Give the field to one of the two: either rival stops setting it, or Widget default/a stops asking for it."

const fighting = (body: (world: World) => Effect.Effect<void, unknown, Services>) =>
  ((world) =>
    Effect.gen(function* () {
      world.server.put(Widget, widget("a"))
      yield* run(makes())
      yield* body(world)
    })) satisfies Body

describe("A child that another manager keeps deleting", () => {
  it(
    "is reported, and the object is read before each creation",
    fighting((world) =>
      Effect.gen(function* () {
        for (let round = 1; round <= reported; round++) {
          expect(yield* warnings(world.server)).toEqual([])
          world.server.remove(ConfigMap, "a")
          yield* pass("1 second")
        }
        const note =
          "ConfigMap default/a was deleted and created again 5 times within 30 s: another manager keeps deleting it; the API server's audit log says which. " +
          "Either that manager stops deleting it, or Widget default/a stops asking for it."
        expect(yield* warnings(world.server)).toEqual([`FieldFight: ${note}`])
        expect(lines(world)).toEqual([`WARN ${note}`])
        expect(looks(world)).toBe(reported)
        expect(world.server.get(ConfigMap, "a")).toBeDefined()
      })
    )
  )

  it(
    "is not recreated for an object whose deletion is not yet in the cache",
    fighting((world) =>
      Effect.gen(function* () {
        world.server.faults.on({ verb: "watch", kind: Widget }, Faults.delayed("20 seconds"))
        world.server.remove(Widget, "a")
        const before = world.server.writes().length
        for (let round = 0; round < 5; round++) {
          world.server.remove(ConfigMap, "a")
          yield* pass("1 second")
        }
        // The first creation, which happened before the deletion.
        expect(writesOf(world.server, "configmaps")).toHaveLength(1)
        expect(world.server.writes()).toHaveLength(before)
        expect(world.server.get(ConfigMap, "a")).toBeUndefined()
      })
    )
  )

  it(
    "is recreated without a report if the deletions are rare",
    fighting((world) =>
      Effect.gen(function* () {
        for (let round = 0; round < 10; round++) {
          world.server.remove(ConfigMap, "a")
          yield* pass("40 seconds")
        }
        expect(yield* warnings(world.server)).toEqual([])
        expect(looks(world)).toBe(10)
      })
    )
  )
})

describe("Two managers that fight over a field", () => {
  it(
    "are reported with an Event, a log line and a count, with the field and the manager, without values",
    fighting((world) =>
      Effect.gen(function* () {
        yield* fight(world, reported - 1, "1 second")
        expect(yield* warnings(world.server)).toEqual([])
        expect(looks(world)).toBe(0)
        yield* fight(world, 1, "1 second")
        expect(yield* warnings(world.server)).toEqual([`FieldFight: ${expectedNote}`])
        expect(lines(world)).toEqual([`WARN ${expectedNote}`])
        expect(Cluster.lines(world.server.requests).filter((line) => /^get .*\/a$/.test(line))).toEqual([
          "get /api/v1/namespaces/default/configmaps/a"
        ])
        expect(yield* hotLoops).toEqual({
          'homeostat_hot_loops_total{controller="widgets",reason="fight"}': 1,
          'homeostat_hot_loops_total{controller="widgets",reason="altered"}': 0,
          'homeostat_hot_loops_total{controller="widgets",reason="rewrite"}': 0
        })
      })
    )
  )

  it(
    "are looked up and reported once in ten minutes",
    fighting((world) =>
      Effect.gen(function* () {
        // The report is due after 35 seconds.
        yield* fight(world, 122, "5 seconds")
        expect(yield* warnings(world.server)).toHaveLength(1)
        expect(looks(world)).toBe(1)
        yield* fight(world, 10, "5 seconds")
        expect(yield* warnings(world.server)).toHaveLength(2)
        expect(lines(world)).toHaveLength(2)
      })
    )
  )

  it(
    "are not reported if the corrections are rare",
    fighting((world) =>
      Effect.gen(function* () {
        yield* fight(world, 30, "8 seconds")
        expect(yield* warnings(world.server)).toEqual([])
      })
    )
  )

  it("over several fields are reported by manager", ({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      yield* run(makes({ b: "1", c: "1" }))
      for (let round = 0; round < reported; round++) {
        server.change(ConfigMap, "a", { data: { size: "7", b: "7" } }, "rival")
        server.change(ConfigMap, "a", { data: { c: "7" } }, "other")
        yield* pass("1 second")
      }
      const notes = yield* warnings(server)
      expect(notes).toHaveLength(2)
      expect(notes.join("\n")).toContain("data.size, data.b of ConfigMap default/a were put back 5 times")
      expect(notes.join("\n")).toContain("rival keeps changing them. Give each field to one of the two")
      expect(notes.join("\n")).toContain("data.c of ConfigMap default/a was put back 5 times within 30 s: other keeps")
    }))

  it("over an added entry in an exclusive place are reported", (world) =>
    Effect.gen(function* () {
      world.server.put(Widget, widget("a"))
      yield* run(makes({}, { exclusive: [["data"]] }))
      yield* fight(world, reported, "1 second", { data: { theirs: "7" } })
      expect((yield* warnings(world.server)).join()).toContain(
        "data.theirs of ConfigMap default/a was put back 5 times within 30 s: rival keeps changing it"
      )
    }))

  it("over a name of 253 characters are reported with a truncated name", (world) =>
    Effect.gen(function* () {
      const { server } = world
      const name = `${"a.".repeat(126)}a`
      server.put(Widget, widget("a"))
      yield* run(makes({}, { exclusive: [["data"]] }))
      yield* fight(world, reported, "1 second", { data: { [name]: "x" } })
      const short = `data.${name.slice(0, 251)}… of ConfigMap default/a was put back 5 times within 30 s: rival keeps`
      expect(yield* warnings(server)).toEqual([expect.stringContaining(`FieldFight: ${short}`)])
      expect(lines(world)).toEqual([expect.stringContaining(`WARN ${short}`)])
      const notes = server.events().map((object) => object.note ?? "")
      expect(Math.max(...[...lines(world), ...notes].map(({ length }) => length))).toBeLessThan(600)
    }))

  const unowned: ReadonlyArray<readonly [string, Cluster.Fields, string, string]> = [
    [
      "with the same field manager are reported as such",
      { data: { size: "7" } },
      "widget-maker",
      "another program that writes as widget-maker keeps changing it. Check whether this program runs twice"
    ],
    [
      "of which one removes the field are reported with the probable last writer",
      { data: { size: null, late: "yes" } },
      "late",
      "another manager keeps changing it, probably late, which wrote last"
    ],
    [
      "of which one is not in managedFields are reported without a name",
      { data: { size: "7" }, metadata: { managedFields: [{}] } },
      "rival",
      "the API server's audit log names it"
    ]
  ]
  for (const [name, change, manager, expected] of unowned) {
    it(
      `${name}`,
      fighting((world) =>
        Effect.gen(function* () {
          world.server.change(ConfigMap, "a", { data: { early: "yes" } }, "early")
          yield* pass("1 second")
          yield* fight(world, reported, "1 second", change, manager)
          expect((yield* warnings(world.server)).join()).toContain(expected)
        })
      )
    )
  }

  it(
    "are reported even if the other manager cannot be looked up, and the field is corrected",
    fighting((world) =>
      Effect.gen(function* () {
        world.server.faults.on({ verb: ["get", "list"], kind: ConfigMap }, Faults.answer(403))
        yield* fight(world, reported, "1 second")
        const [note, ...others] = yield* warnings(world.server)
        expect(others).toEqual([])
        expect(note).toContain(
          "another manager keeps changing it. That manager could not be looked up (Forbidden); the API server's audit log"
        )
        expect(note).not.toContain("owns a field")
        expect(world.server.get(ConfigMap, "a")?.data?.size).toBe("1")
      })
    )
  )

  it(
    "are reported even if the other manager removes the intent annotation",
    fighting((world) =>
      Effect.gen(function* () {
        const metadata = { annotations: { [Owned.intentAnnotation]: "other" } }
        yield* fight(world, reported, "1 second", { data: { size: "7" }, metadata })
        expect((yield* warnings(world.server)).join()).toContain(expectedNote)
      })
    )
  )

  it("over a status are reported", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run({
        ...counted((_, owner) => Effect.as(Status.update(owner, { phase: "Running", seen: 1 }), Result.done)),
        fieldManager: "widget-maker"
      })
      for (let round = 0; round < reported; round++) {
        expect(yield* warnings(server)).toEqual([])
        server.change(Widget, "a", { status: { phase: "Failed" } }, "rival")
        yield* pass("1 second")
      }
      yield* warnings(server)
      server.change(Widget, "a", { status: { phase: "Failed" } }, "rival")
      yield* pass("1 second")
      const [note, ...others] = yield* warnings(server)
      expect(others).toEqual([])
      expect(note).toContain(
        "status.phase of Widget default/a was put back 5 times within 30 s: rival keeps changing it"
      )
      expect(note).not.toContain("seen")
    }))

  it("over a list of conditions are reported, even if the condition of the other manager changes each time", (world) =>
    Effect.gen(function* () {
      const { server } = world
      const condition = (type: string, reason: string) => ({
        type,
        status: "True" as const,
        reason,
        message: "",
        lastTransitionTime: Time.seconds(0),
        observedGeneration: 1
      })
      server.put(Widget, widget("a"))
      const status = { conditions: [condition("Ready", "Always")] }
      yield* run(counted((_, owner) => Effect.as(Status.update(owner, status), Result.done)))
      for (let round = 0; round < reported; round++) {
        expect(yield* warnings(server)).toEqual([])
        server.change(Widget, "a", { status: { conditions: [condition("Theirs", `R${round}`)] } })
        yield* pass("1 second")
      }
      expect((yield* warnings(server)).join()).toContain(
        "status.conditions[Ready] of Widget default/a was put back 5 times within 30 s"
      )
    }))
})

describe("Nothing is reported for", () => {
  it(
    "ten changes of the spec in ten seconds",
    fighting((world) =>
      Effect.gen(function* () {
        for (let size = 2; size < 12; size++) {
          world.server.change(Widget, "a", { spec: { size } })
          yield* pass("1 second")
        }
        // A spec that alternates is also the intent of a user.
        for (let round = 0; round < 20; round++) {
          world.server.change(Widget, "a", { spec: { size: round % 2 } })
          yield* pass("1 second")
        }
        expect(writesOf(world.server, "configmaps").length).toBeGreaterThan(30)
        expect(yield* warnings(world.server)).toEqual([])
      })
    )
  )

  it(
    "another manager that changes other fields, such as an autoscaler",
    fighting((world) =>
      Effect.gen(function* () {
        for (let replicas = 0; replicas < 30; replicas++) {
          world.server.change(ConfigMap, "a", { data: { replicas: String(replicas) } })
          yield* pass("1 second")
        }
        expect(yield* warnings(world.server)).toEqual([])
      })
    )
  )

  it(
    "five fields with one correction each, next to a field that the server stores in another form",
    (world) =>
      Effect.gen(function* () {
        const { server } = world
        server.put(Widget, widget("a"))
        yield* run(makes({ cpu: "1000m", b: "1", c: "1", d: "1", e: "1", f: "1" }))
        for (const field of ["b", "c", "d", "e", "f", "size"]) {
          server.change(ConfigMap, "a", { data: { [field]: "7" } })
          yield* pass("1 second")
        }
        expect(writesOf(server, "configmaps")).toHaveLength(7)
        expect(yield* warnings(server)).toEqual([])
      }),
    altering(({ cpu }) => (cpu === "1000m" ? { cpu: "1" } : undefined))
  )

  it("a status that follows a rollout or the spec", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      const { runs: _, ...child } = makes()
      yield* run({
        ...child,
        ...counted((_, owner) =>
          Effect.gen(function* () {
            yield* child.reconcile(owner)
            const data = server.get(ConfigMap, "a")?.data
            yield* Status.update(owner, {
              seen: Number(data?.ready ?? 0),
              observedGeneration: owner.metadata.generation ?? 0
            })
            return Result.done
          })
        )
      })
      for (let ready = 1; ready <= 40; ready++) {
        server.change(ConfigMap, "a", { data: { ready: String(ready) } })
        yield* pass("200 millis")
      }
      for (let size = 2; size <= 40; size++) {
        server.change(Widget, "a", { spec: { size } })
        yield* pass("200 millis")
      }
      expect(writesOf(server, "status").length).toBeGreaterThan(70)
      expect(yield* warnings(server)).toEqual([])
    }))

  it("conditions that follow the work while another manager writes the status, too", (world) =>
    Effect.gen(function* () {
      const { server } = world
      const condition = (type: string, reason: string) => ({
        type,
        status: "True" as const,
        reason,
        message: "",
        lastTransitionTime: Time.seconds(0),
        observedGeneration: 1
      })
      server.put(Widget, widget("a"))
      const { runs: _, ...child } = makes()
      yield* run({
        ...child,
        ...counted((_, owner) =>
          Effect.gen(function* () {
            yield* child.reconcile(owner)
            const data = server.get(ConfigMap, "a")?.data
            const phase = Number(data?.phase ?? 0) % 3
            const working = phase === 0 ? [] : [condition("Reconciling", phase === 2 ? "Second" : "First")]
            yield* Status.update(owner, { seen: 1, conditions: [condition("Ready", "Always"), ...working] })
            return Result.done
          })
        )
      })
      for (let phase = 1; phase <= 60; phase++) {
        // A condition of another controller, which does not count, although it is in the same status.
        const theirs = condition("Theirs", `R${phase}`)
        const status = server.get(Widget, "a")?.status
        const others = (status?.conditions ?? []).filter(({ type }) => type !== "Theirs")
        server.change(Widget, "a", { status: { conditions: [...others, theirs] } })
        server.change(ConfigMap, "a", { data: { phase: String(phase) } })
        yield* pass("500 millis")
      }
      expect(writesOf(server, "status").length).toBeGreaterThan(50)
      expect(yield* warnings(server)).toEqual([])
    }))

  it("a list without keys that alternates with its cause", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      const { runs: _, ...child } = makes()
      yield* run({
        ...child,
        ...counted((_, owner) =>
          Effect.gen(function* () {
            yield* child.reconcile(owner)
            const data = server.get(ConfigMap, "a")?.data
            const first = Number(data?.phase ?? 0) % 2 === 0 ? [] : [{ size: 2 }]
            // A kind whose status has more fields than that of a Widget.
            const listed: KubernetesObject = owner
            yield* Status.update(listed, { items: [...first, { size: 1 }] })
            return Result.done
          })
        )
      })
      for (let phase = 1; phase <= 30; phase++) {
        server.change(ConfigMap, "a", { data: { phase: String(phase) } })
        yield* pass("500 millis")
      }
      expect(writesOf(server, "status").length).toBeGreaterThan(25)
      expect(yield* warnings(server)).toEqual([])
    }))

  it("a failing reconcile that counts its attempts, because it backs off", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run(counted((seen, owner) => Effect.andThen(Status.update(owner, { seen }), Effect.fail("not yet"))))
      for (let second = 0; second < 60; second++) yield* pass("1 second")
      expect(writesOf(server, "status").length).toBeGreaterThan(10)
      expect(yield* warnings(server)).toEqual(["ReconcileFailed: The reconcile fails: not yet"])
    }))

  it("a status that is polled every five seconds", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run(counted((seen, owner) => Effect.as(Status.update(owner, { seen }), Result.requeueAfter("5 seconds"))))
      for (let second = 0; second < 120; second++) yield* pass("1 second")
      expect(writesOf(server, "status").length).toBeGreaterThan(20)
      expect(yield* warnings(server)).toEqual([])
    }))

  it("progress that is written each second", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run(counted((seen, owner) => Effect.as(Status.update(owner, { seen }), Result.requeueAfter("1 second"))))
      for (let second = 0; second < 60; second++) yield* pass("1 second")
      expect(writesOf(server, "status").length).toBeGreaterThan(50)
      expect(yield* warnings(server)).toEqual([])
    }))

  it("repeated writes without a change", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run(
        counted((_, owner) =>
          Effect.as(
            Client.status.patch(Widget, owner.metadata, Patch.merge({ status: { seen: 1 } })),
            Result.requeueAfter("1 second")
          )
        )
      )
      for (let second = 0; second < 30; second++) yield* pass("1 second")
      expect(writesOf(server, "status").length).toBeGreaterThan(20)
      expect(yield* warnings(server)).toEqual([])
    }))
})

describe("A reconcile that only its own writes trigger", () => {
  const loops: ReadonlyArray<readonly [string, string, () => Effect.Effect<unknown, never, Services | Scope.Scope>]> = [
    [
      "by a status with a time is reported with the field",
      "status.seen of Widget default/a was written 10 times",
      () =>
        run(
          counted((seen, owner) =>
            Effect.as(
              Effect.andThen(Effect.sleep("300 millis"), Status.update(owner, { phase: "x", seen })),
              Result.done
            )
          )
        )
    ],
    [
      "by a condition with a time is reported with the condition",
      "status.conditions[Ready].lastTransitionTime of Widget default/a was written 10 times",
      () =>
        run(
          counted((seen, owner) =>
            Effect.as(
              Effect.andThen(
                Effect.sleep("300 millis"),
                Status.update(owner, {
                  conditions: [
                    {
                      type: "Ready",
                      status: "True",
                      reason: "Because",
                      message: "",
                      lastTransitionTime: Time.seconds(seen * 1000),
                      observedGeneration: 1
                    }
                  ]
                })
              ),
              Result.done
            )
          )
        )
    ],
    [
      "by a child with an alternating intent is reported",
      "data.seen of ConfigMap default/a was written 10 times",
      () =>
        run({
          owns: [ConfigMap],
          ...counted((seen, owner) =>
            Effect.as(
              Effect.andThen(
                Effect.sleep("300 millis"),
                Owned.apply(owner, ConfigMap, { metadata: { name: "a" }, data: { seen: String(seen) } })
              ),
              Result.done
            )
          )
        })
    ],
    [
      "by its own patches is reported",
      "metadata.annotations.seen of Widget default/a was written 10 times",
      () =>
        run(
          counted((seen, owner) =>
            Effect.as(
              Effect.andThen(
                Effect.sleep("300 millis"),
                Client.patch(Widget, owner.metadata, Patch.merge({ metadata: { annotations: { seen: String(seen) } } }))
              ),
              Result.done
            )
          )
        )
    ],
    [
      "by a requeue within less than a second is reported",
      "status.seen of Widget default/a was written 10 times",
      () => run(counted((seen, owner) => Effect.as(Status.update(owner, { seen }), Result.requeueAfter("999 millis"))))
    ]
  ]
  for (const [name, note, start] of loops) {
    it(name, (world) =>
      Effect.gen(function* () {
        const { server } = world
        server.put(Widget, widget("a"))
        yield* start()
        for (let step = 0; step < 90; step++) yield* pass("300 millis")
        const notes = yield* warnings(server)
        expect(notes.map((text) => text.slice(0, text.indexOf(" within")))).toEqual([`WriteLoop: ${note}`])
        expect(lines(world)).toEqual([`WARN ${notes[0]?.replace("WriteLoop: ", "")}`])
        expect(notes[0]).toContain("though nothing woke controller widgets but itself")
      })
    )
  }

  it("is reported even with more writes than a run has triggers", (world) =>
    Effect.gen(function* () {
      const { attempts, server } = world
      const names = Array.from({ length: 12 }, (_, index) => `a${index}`)
      server.put(Widget, widget("a"))
      yield* run({
        owns: [ConfigMap],
        ...counted((seen, owner) =>
          Effect.sleep("300 millis").pipe(
            Effect.andThen(
              Effect.forEach(names, (name) =>
                Owned.apply(owner, ConfigMap, { metadata: { name }, data: { seen: String(seen) } })
              )
            ),
            Effect.as(Result.done)
          )
        )
      })
      for (let step = 0; step < 20; step++) yield* pass("300 millis")
      expect(attempts.at(-1)).toMatchObject({ dropped: 2, droppedNews: 0 })
      const notes = yield* warnings(server)
      expect(notes.map((text) => text.slice(0, text.indexOf(" within"))).sort()).toEqual(
        names.map((name) => `WriteLoop: data.seen of ConfigMap default/${name} was written 10 times`).sort()
      )
    }))
})

describe("A stored value that differs from the sent one", () => {
  it(
    "is reported once with the field, and is not corrected",
    (world) =>
      Effect.gen(function* () {
        const { server } = world
        server.put(Widget, widget("a"))
        yield* run(makes({ b: "1" }))
        yield* fight(world, 3, "10 seconds", { data: { size: "7" } })
        const note =
          "The API server stores another value than the controller sent: data.b of ConfigMap default/a (changed by a mutating webhook, probably). The controller accepts the stored value. Exempt the object from the change, or write the stored value."
        expect(yield* warnings(server)).toEqual([`FieldAltered: ${note}`])
        expect(lines(world)).toEqual([`WARN ${note}`])
        expect(yield* hotLoops).toMatchObject({ 'homeostat_hot_loops_total{controller="widgets",reason="altered"}': 1 })
      }),
    altering(() => ({ b: "webhook" }))
  )

  it("is not reported for a null, which the API server replaces by a default", (world) =>
    Effect.gen(function* () {
      const { server } = world
      server.put(Widget, widget("a"))
      yield* run({
        owns: [Deployment],
        ...counted((_, owner) => {
          const labels = { app: "a" }
          const containers = [{ name: "a", image: "a", resources: null }]
          const template = { metadata: { labels }, spec: { containers, securityContext: null } }
          const desired = { metadata: { name: "a" }, spec: { selector: { matchLabels: labels }, template } }
          return Effect.as(Owned.apply(owner, Deployment, desired as never), Result.done)
        })
      })
      expect(server.get(Deployment, "a")?.spec?.template.spec?.securityContext).toEqual({})
      expect(yield* warnings(server)).toEqual([])
    }))

  let isAltering = false
  it(
    "is not attributed to the own field managers",
    ({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes({ b: "1" }))
        server.apply(ConfigMap, { metadata: { name: "a" }, data: { b: "1" } }, "widget-maker-handover")
        isAltering = true
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        const [note] = yield* warnings(server)
        expect(note).toContain("data.b of ConfigMap default/a (changed by a mutating webhook, probably)")
      }),
    altering(() => (isAltering ? { b: "webhook" } : undefined))
  )

  it(
    "is reported on each object, and once in the log",
    (world) =>
      Effect.gen(function* () {
        const { server } = world
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        yield* run(makes({ b: "1" }))
        expect(server.events().filter((event) => event.reason === "FieldAltered")).toHaveLength(3)
        expect(lines(world)).toHaveLength(1)
      }),
    altering(() => ({ b: "webhook" }))
  )

  it(
    "is not reported if it is another form of the same value",
    (world) =>
      Effect.gen(function* () {
        const { server } = world
        server.put(Widget, widget("a"))
        yield* run(makes({ cpu: "1000m", timeout: "90s" }))
        yield* fight(world, 3, "10 seconds", { data: { size: "7" } })
        expect(yield* warnings(server)).toEqual([])
        expect(lines(world)).toEqual([])
      }),
    altering(() => ({ cpu: "1", timeout: "1m30s" }))
  )

  it(
    "is reported once for all objects if the schema drops the field",
    (world) =>
      Effect.gen(function* () {
        const { server } = world
        server.put(Widget, widget("a"))
        yield* run(makes({ pruned: "1" }))
        server.put(Widget, widget("b"))
        yield* pass("1 second")
        const note = "The API server drops data.pruned of a ConfigMap: its schema does not know them"
        expect(yield* warnings(server)).toEqual([`FieldDropped: ${note}`])
        expect(lines(world)).toEqual([`WARN ${note}`])
        expect(server.events().filter((event) => event.reason === "FieldDropped")).toHaveLength(1)
      }),
    altering(() => ({ pruned: null }))
  )
})

describe("The trace", () => {
  const traced = (body: Body) =>
    ((world) =>
      Effect.provideService(body(world), Tracing.Tracing, {
        propagation: "off",
        annotation: Tracing.annotation
      })) satisfies Body

  const suspicions = ({ attempts }: World): ReadonlyArray<object> =>
    attempts.flatMap(({ root }) =>
      (root?.recording.spans ?? []).flatMap((span) =>
        span.events
          .filter(({ name }) => name === SpanName.hotLoop)
          .map(({ attributes }) => ({ span: span.name, ...attributes }))
      )
    )

  it(
    "of the correction that reports a fight has the report at its root",
    traced(
      fighting((world) =>
        Effect.gen(function* () {
          yield* fight(world, 8, "1 second")
          expect(suspicions(world)).toEqual([
            {
              span: "reconcile widgets",
              [Attribute.hotLoopReason]: "fight",
              [Attribute.hotLoopObject]: "ConfigMap default/a",
              [Attribute.hotLoopFields]: ["data.size"],
              [Attribute.hotLoopManager]: "rival"
            }
          ])
        })
      )
    )
  )

  it(
    "of the run that reports a loop has the report at its root",
    traced((world) =>
      Effect.gen(function* () {
        world.server.put(Widget, widget("a"))
        yield* run(
          counted((seen, owner) => Effect.as(Status.update(owner, { seen }), Result.requeueAfter("500 millis")))
        )
        for (let step = 0; step < 15; step++) yield* pass("500 millis")
        expect(suspicions(world)).toEqual([
          {
            span: "reconcile widgets",
            [Attribute.hotLoopReason]: "rewrite",
            [Attribute.hotLoopObject]: "Widget default/a",
            [Attribute.hotLoopFields]: ["status.seen"]
          }
        ])
        yield* warnings(world.server)
        const event = world.server.events().find(({ reason }) => reason === "WriteLoop")
        const reporting = world.attempts.find(({ root }) => root?.events.some(({ name }) => name === SpanName.hotLoop))
        expect(event?.metadata.annotations?.[Tracing.annotation]).toContain(`-${reporting?.root?.traceId}-`)
      })
    )
  )
})

it("A recreated object starts with new counts", (world) =>
  Effect.gen(function* () {
    const { server } = world
    server.put(Widget, widget("a"))
    yield* run(makes())
    yield* fight(world, reported - 1, "1 second")
    server.remove(ConfigMap, "a")
    server.remove(Widget, "a")
    yield* settle
    server.put(Widget, widget("a"))
    yield* settle
    yield* fight(world, reported - 1, "1 second")
    expect(yield* warnings(server)).toEqual([])
    yield* fight(world, 1, "1 second")
    expect(yield* warnings(server)).toHaveLength(1)
  }))
