/** The same definitions and objects, sent to a kube-apiserver and given to our modules: both say the same. */
import { describe, expect } from "bun:test"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import * as Json from "@homeostat/testkit/server/Json"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"
import { comparable, definitionsPath, each, send, verdict, withoutCompiler } from "./Both.ts"
import * as Definitions from "./Definitions.ts"
import * as Embedded from "./Embedded.ts"
import * as Gauges from "./Gauges.ts"
import * as Objects from "./Objects.ts"
import * as Ratchets from "./Ratchets.ts"

const namespaced = "/apis/crd.example.com/v1/namespaces/default"

/** Defines a kind and waits until it is served, with its schema. */
const define = (cluster: ControlPlane, crd: Json.JsonObject) =>
  cluster.install({ ...crd, metadata: Json.texts(crd.metadata) }).pipe(Effect.orDie)

/** As JSON, without what is not defined. */
const plain = (value: object): Json.JsonObject => Json.object(JSON.parse(JSON.stringify(value)))

const named = (kind: string, more: Json.JsonObject): Json.JsonObject => ({
  apiVersion: "crd.example.com/v1",
  kind,
  metadata: { name: "a" },
  ...more
})

const dry = "?dryRun=All&fieldValidation=Ignore"

describe("a CustomResourceDefinition", () => {
  const table = Object.entries(Definitions.definitions)

  Shared.real("is taken, or refused for the same fields in the same words", (cluster) =>
    Effect.gen(function* () {
      const real = yield* each(table, ([, crd]) => send(cluster, "POST", `${definitionsPath}?dryRun=All`, crd))
      expect(table.map(([about, crd]) => [about, comparable(Embedded.define(crd).body)])).toEqual(
        table.map(([about], index) => [about, comparable(real[index] ?? {})])
      )
    })
  )

  Shared.real("is refused for rules that do not compile", (cluster) =>
    Effect.gen(function* () {
      const crds = Definitions.uncompilable.map((rule) => Definitions.ruled({ rule }))
      const real = yield* each(crds, (crd) => send(cluster, "POST", `${definitionsPath}?dryRun=All`, crd))
      expect(crds.map((crd) => withoutCompiler(comparable(Embedded.define(crd).body)))).toEqual(
        real.map((body) => withoutCompiler(comparable(body)))
      )
      expect(real.map(({ code }) => code)).toEqual(crds.map(() => 422))
    })
  )

  Shared.real("gives way to another one that has its names", (cluster) =>
    Effect.gen(function* () {
      const [first, second] = [Definitions.definitions["first of two"], Definitions.definitions["second of two"]].map(
        Json.object
      )
      if (first === undefined || second === undefined) throw new Error("no such definitions")
      yield* define(cluster, first)
      yield* send(cluster, "POST", definitionsPath, second)
      const path = `${definitionsPath}/${Json.text(Json.at(second, "metadata", "name"))}`
      const real = yield* send(cluster, "GET", path).pipe(
        Effect.repeat({ until: (body) => Json.objects(Json.at(body, "status", "conditions")).length > 0 })
      )
      const taken = Embedded.establish(Embedded.define(first).body, [])
      const refused = Embedded.establish(Embedded.define(second).body, [taken])
      expect(withoutTimes(refused.status)).toEqual(withoutTimes(real.status))
    })
  )
})

const withoutTimes = (status: Json.Json | undefined): Json.Json =>
  JSON.parse(JSON.stringify(status ?? null), (name, value) => (name === "lastTransitionTime" ? undefined : value))

describe("a custom resource", () => {
  /** Creates each on both. */
  const created = (
    cluster: ControlPlane,
    crd: Json.JsonObject,
    plural: string,
    objects: ReadonlyArray<Json.JsonObject>
  ) =>
    Effect.gen(function* () {
      yield* define(cluster, crd)
      const real = yield* each(objects, (object) => send(cluster, "POST", `${namespaced}/${plural}${dry}`, object))
      const kind = Embedded.kindOf(crd)
      expect(objects.map((object) => [object, comparable(Embedded.create(kind, object).body)])).toEqual(
        objects.map((object, index) => [object, comparable(real[index] ?? {})])
      )
    })

  Shared.real("is pruned, filled in and checked by its schema", (cluster) =>
    created(cluster, Objects.everything, "widgets", [
      ...Objects.specs.map((spec) => named("Widget", { spec: { name: "abc", ...spec } })),
      ...Objects.wholes.map((whole) => named("Widget", whole))
    ])
  )

  Shared.real("has texts of the formats that its schema asks for", (cluster) =>
    created(
      cluster,
      Objects.everything,
      "widgets",
      Object.entries(Objects.texts).flatMap(([format, texts]) =>
        texts.map((text) => named("Widget", { spec: { name: "abc", [format]: text } }))
      )
    )
  )

  Shared.real("keeps rules in CEL, or breaks them, as they are told", (cluster) =>
    Effect.gen(function* () {
      const rules = [...Gauges.rules.map((rule) => ({ rule })), ...Gauges.told]
      const groups = rules.map((rule, index) => ({ rule, plural: `gauge${index}s` }))
      const crds = groups.map(({ plural, rule }) => Gauges.gauges([rule], plural))
      const defined = yield* each(crds, (crd) => send(cluster, "POST", definitionsPath, crd))
      expect(crds.map((crd) => verdict(Embedded.define(crd).body))).toEqual(defined.map(verdict))
      const objects = groups.map(({ plural }) => named(Definitions.kindOf(plural), { spec: Gauges.spec }))
      const real = yield* each(
        groups.map(({ plural }, index) => [plural, objects[index] ?? {}] as const),
        ([plural, object]) =>
          send(cluster, "POST", `${namespaced}/${plural}${dry}`, object).pipe(
            Effect.catchAllDefect(() => Effect.succeed<Json.JsonObject>({})),
            // A kind that has just been defined is not found for some time.
            Effect.repeat({ until: (body) => Json.text(body.kind) !== undefined, times: 200 })
          )
      )
      expect(
        crds.map((crd, index) => [
          rules[index],
          verdict(Embedded.create(Embedded.kindOf(crd), objects[index] ?? {}).body)
        ])
      ).toEqual(rules.map((rule, index) => [rule, verdict(real[index] ?? {})]))
    })
  )

  Shared.real("is changed as rules about changes allow", (cluster) =>
    Effect.forEach(
      Gauges.changes,
      ([rule, old, next], index) =>
        Effect.gen(function* () {
          const plural = `change${index}s`
          const crd = Gauges.gauges([rule], plural)
          const kind = Embedded.kindOf(crd)
          const name = Definitions.kindOf(plural)
          yield* define(cluster, crd)
          const stored = yield* send(cluster, "POST", `${namespaced}/${plural}`, named(name, { spec: old }))
          const object = { ...stored, spec: next }
          const real = yield* send(cluster, "PUT", `${namespaced}/${plural}/a${dry}`, object)
          expect([rule, comparable(Embedded.update(kind, kind.strategy, stored, object).body)]).toEqual([
            rule,
            comparable(real)
          ])
        }),
      { concurrency: 8, discard: true }
    )
  )

  Shared.real("may keep what was wrong when its kind became strict", (cluster) =>
    Effect.gen(function* () {
      yield* define(cluster, Ratchets.loose)
      const path = `${namespaced}/ratchets`
      yield* send(cluster, "POST", path, named("Ratchet", { spec: Ratchets.spec }))
      const before = yield* send(cluster, "GET", `${path}/a`)
      const stored = yield* send(cluster, "PUT", `${path}/a/status`, { ...before, status: { phase: "Old" } })
      yield* define(cluster, Ratchets.strict)
      const kind = Embedded.kindOf(Ratchets.strict)
      // The new schema is in use as soon as it refuses what it does not know.
      yield* send(cluster, "POST", `${path}${dry}`, named("Ratchet", { spec: { all: "long" } })).pipe(
        Effect.repeat({ until: (body) => body.code === 422 })
      )
      const changed = Ratchets.next.map((spec) => ({ ...stored, spec }))
      const real = yield* each(changed, (object) => send(cluster, "PUT", `${path}/a${dry}`, object))
      expect(
        changed.map((object) => [object.spec, comparable(Embedded.update(kind, kind.strategy, stored, object).body)])
      ).toEqual(changed.map((object, index) => [object.spec, comparable(real[index] ?? {})]))
      const statuses = Ratchets.statuses.map((status) => ({ ...stored, spec: {}, status }))
      const said = yield* each(statuses, (object) => send(cluster, "PUT", `${path}/a/status${dry}`, object))
      const strategy = kind.status ?? kind.strategy
      expect(
        statuses.map((object) => [object.status, comparable(Embedded.update(kind, strategy, stored, object).body)])
      ).toEqual(statuses.map((object, index) => [object.status, comparable(said[index] ?? {})]))
    })
  )

  Shared.real("of the kind Backup is taken or refused", (cluster) =>
    created(
      cluster,
      Backups.backups,
      "backups",
      Backups.specs.map((spec) => named("Backup", { spec }))
    )
  )

  Shared.real("of the kind WebApp is taken or refused", (cluster) =>
    Effect.gen(function* () {
      const crd = plain(Crd.of(WebApp))
      yield* define(cluster, crd)
      const version = Json.text(Json.at(Json.objects(Json.at(crd, "spec", "versions"))[0], "name")) ?? ""
      const kind = Embedded.kindOf(crd, version)
      const objects = [
        { image: "registry.test/web:1" },
        { image: "registry.test/web:1", replicas: 3, port: 80 },
        { image: "" },
        { image: "registry.test/web:1", replicas: 51 },
        { image: "registry.test/web:1", port: 0, replicas: -1 },
        { image: "registry.test/web:1", env: [{ name: "lower", value: "x" }] },
        { image: "registry.test/web:1", ingress: { enabled: true } },
        { image: "registry.test/web:1", resources: { cpuRequest: "2", cpuLimit: "1" } },
        {}
      ].map((spec) => ({ ...named("WebApp", { spec }), apiVersion: `${kind.group}/${version}` }))
      const path = `/apis/${kind.group}/${version}/namespaces/default/${kind.plural}${dry}`
      const real = yield* each(objects, (object) => send(cluster, "POST", path, object))
      expect(objects.map((object) => [object, comparable(Embedded.create(kind, object).body)])).toEqual(
        objects.map((object, index) => [object, comparable(real[index] ?? {})])
      )
    })
  )
})
