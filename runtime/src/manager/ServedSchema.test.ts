import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import { capture, settle } from "../controller/World.fixture.ts"
import { ConfigMap, CustomResourceDefinition } from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Resource from "../resource/Resource.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as HealthFixture from "./Health.fixture.ts"
import * as Health from "./Health.ts"
import * as Manager from "./Manager.ts"
import * as ServedSchema from "./ServedSchema.ts"

const text = Schema.optionalKey(Schema.String)
const kind = <A, I, S, SI>(spec: Schema.Codec<A, I>, status: Schema.Codec<S, SI>) =>
  CustomResource.make({ group: "example.com", version: "v1", kind: "Gizmo", spec, status })
const Status = Schema.Struct({ phase: text })
const part = (fields: object) => Schema.Struct({ size: text, ...fields })

const Gizmo = kind(part({ budget: Schema.optionalKey(Schema.Struct({ least: text, most: text })) }), Status)

const versionsOf = (each: CustomResource.Any) => Crd.of(each).spec.versions

const published = (openAPIV3Schema: object) => ({
  components: {
    schemas: {
      "com.example.v1.Gizmo": {
        ...openAPIV3Schema,
        "x-kubernetes-group-version-kind": [{ group: "example.com", version: "v1", kind: "Gizmo" }]
      }
    }
  }
})

const schemaOf = (each: CustomResource.Any): object => each.definition.schema

describe("The fields that a served schema lacks", () => {
  const keeps = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const rows: ReadonlyArray<readonly [about: string, served: object, lost: ServedSchema.Lost]> = [
    ["are none for the same schema", schemaOf(Gizmo), { spec: [], status: [] }],
    [
      "are none for a newer one",
      schemaOf(
        kind(
          part({ budget: Schema.optionalKey(Schema.Struct({ least: text, most: text, more: text })), x: text }),
          Schema.Struct({ phase: text, x: text })
        )
      ),
      { spec: [], status: [] }
    ],
    ["can be a field", schemaOf(kind(part({}), Status)), { spec: ["spec.budget"], status: [] }],
    [
      "can be a field of a field",
      schemaOf(kind(part({ budget: Schema.optionalKey(Schema.Struct({ least: text })) }), Status)),
      { spec: ["spec.budget.most"], status: [] }
    ],
    [
      "can be in the status",
      schemaOf(
        kind(part({ budget: Schema.optionalKey(Schema.Struct({ least: text, most: text })) }), Schema.Struct({}))
      ),
      { spec: [], status: ["status.phase"] }
    ],
    ["are none if the CRD keeps unknown fields", keeps, { spec: [], status: [] }],
    [
      "are none for a spec that keeps unknown fields",
      { type: "object", properties: { spec: keeps, status: keeps } },
      { spec: [], status: [] }
    ],
    ["can be the spec", { type: "object", properties: { status: keeps } }, { spec: ["spec"], status: [] }]
  ]
  test.each(rows)("%s", (_, served, lost) => {
    expect(ServedSchema.lostIn(published(served), Gizmo)).toEqual(lost)
  })

  test.each([[undefined], [{}], [published({}).components], [[]], ["x"]])("are unknown for %p", (document) => {
    expect(ServedSchema.lostIn(document, Gizmo)).toBeUndefined()
  })
})

/** A manager with a controller of Gizmos and one of ConfigMaps. */
const start = (server: Cluster.Cluster) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const logs: Array<string> = []
    const metrics = Metrics.make()
    const { checks, health } = HealthFixture.readiness()
    const [gizmos, maps] = [{ runs: 0 }, { runs: 0 }]
    const controllers = [
      Controller.make("gizmos", {
        for: Gizmo,
        reconcile: () =>
          Effect.sync(() => {
            gizmos.runs++
            return Result.done
          })
      }),
      Controller.make("maps", {
        for: ConfigMap,
        reconcile: () =>
          Effect.sync(() => {
            maps.runs++
            return Result.done
          })
      })
    ]
    const services = yield* Layer.buildWithScope(
      Manager.layer({ instance: "one", metrics }).pipe(Layer.provide(server.transport)),
      scope
    )
    const runners = yield* Manager.start(controllers, { gracePeriod: 0, syncPeriod: 0, comparesCrds: "gizmos" }).pipe(
      Effect.provide(services),
      Effect.provideService(Health.Health, health),
      Effect.provide(capture(logs)),
      Scope.provide(scope)
    )
    yield* settle
    return {
      logs,
      gizmos,
      maps,
      runner: runners[0] ?? expect.unreachable("no runner"),
      lost: () => reading(metrics, "homeostat_crd_lost_fields"),
      check: (): unknown => {
        const found = checks.get("crd-gizmos.example.com")
        return typeof found === "function" ? found() : expect.unreachable("no check")
      },
      end: Effect.andThen(Effect.forkChild(Scope.close(scope, Exit.void)), settle)
    }
  })

const Older = kind(part({}), Schema.Struct({}))

const apply = (server: Cluster.Cluster, each: CustomResource.Any): void =>
  server.change(CustomResourceDefinition, Resource.nameOf(Gizmo), { spec: { versions: versionsOf(each) } })

const problem =
  "the CRD gizmos.example.com of the cluster lacks fields of this program: spec.budget (apply the CRD of this program: gizmos crd)"

const series = (spec: number, status: number) => ({
  'homeostat_crd_lost_fields{kind="gizmos.example.com",part="spec"}': spec,
  'homeostat_crd_lost_fields{kind="gizmos.example.com",part="status"}': status
})

describe("A manager", () => {
  effect("reconciles no object of a kind while its CRD lacks fields of the spec, and others go on", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Gizmo])
      server.put(Gizmo, { metadata: { name: "a" }, spec: { size: "1" } })
      const manager = yield* start(server)
      expect([manager.gizmos.runs, manager.check(), manager.lost()]).toEqual([1, undefined, series(0, 0)])

      apply(server, Older)
      yield* TestClock.adjust("10 minutes")
      expect(manager.check()).toBe(problem)
      expect(manager.runner.narrowed?.()).toBe(problem)
      expect(manager.lost()).toEqual(series(1, 1))
      expect(manager.logs).toContain(`ERROR No object of gizmos.example.com is reconciled: ${problem}`)
      const before = manager.gizmos.runs
      server.change(Gizmo, "a", { spec: { size: "2" } })
      server.put(ConfigMap, { metadata: { name: "x" } })
      const { runs } = manager.maps
      yield* TestClock.adjust("1 minute")
      expect([manager.gizmos.runs, manager.maps.runs > runs]).toEqual([before, true])

      apply(server, Gizmo)
      yield* TestClock.adjust("10 minutes")
      expect([manager.gizmos.runs, manager.check(), manager.lost()]).toEqual([before + 1, undefined, series(0, 0)])
      expect(manager.logs.at(-1)).toBe(
        "INFO Objects of gizmos.example.com are reconciled again: the CRD has all fields of this program"
      )
      yield* manager.end
    })
  )

  effect("that starts with an older CRD reconciles nothing before the right one is there", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Gizmo])
      server.put(Gizmo, { metadata: { name: "a" }, spec: { size: "1" } })
      apply(server, Older)
      server.faults.on({ path: "/openapi/v3/apis/example.com/v1" }, Faults.delayed("3 seconds"))
      const manager = yield* start(server)
      expect([manager.check(), manager.gizmos.runs]).toEqual([{ note: "the schema is unknown: it is not read yet" }, 0])
      yield* TestClock.adjust("3 seconds")
      expect([manager.check(), manager.gizmos.runs]).toEqual([problem, 0])
      apply(server, Gizmo)
      yield* TestClock.adjust("10 minutes")
      expect([manager.check(), manager.gizmos.runs]).toEqual([undefined, 1])
      yield* manager.end
    })
  )

  effect("goes on with a schema that it cannot read, and shows that", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Gizmo])
      server.put(Gizmo, { metadata: { name: "a" }, spec: { size: "1" } })
      server.faults.on({ path: "/openapi/v3/apis/example.com/v1" }, Faults.answer(403))
      const manager = yield* start(server)
      expect(manager.gizmos.runs).toBe(1)
      expect(manager.check()).toMatchObject({ note: expect.stringMatching(/^the schema is unknown: /) })
      expect(manager.lost()).toEqual({})
      yield* manager.end
    })
  )
})
