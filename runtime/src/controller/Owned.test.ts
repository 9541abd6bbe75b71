import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import type * as Cluster from "../client/Cluster.fixture.ts"
import type { Fields } from "../client/Cluster.fixture.ts"
import { ConfigMap, Deployment } from "../resource/BuiltIn.ts"
import { type Desired, keyOf } from "../resource/KubernetesObject.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { altering, closable, counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

/** A reconcile that makes one ConfigMap of the Widget's name, with this data. */
const makes = (
  data: (owner: Widget) => { readonly [key: string]: string },
  options?: Owned.Options<ConfigMap>,
  metadata: object = {}
) => ({
  owns: [ConfigMap],
  ...counted((_, owner) =>
    Effect.as(
      Owned.apply(
        owner,
        ConfigMap,
        { metadata: { name: owner.metadata.name, ...metadata }, data: data(owner) },
        options
      ),
      Result.done
    )
  )
})

const child = (server: Cluster.Cluster) => server.get(ConfigMap, "a") ?? expect.unreachable("no ConfigMap a")

const writes = (server: Cluster.Cluster) => server.writes().filter(({ path }) => !path.endsWith("/events"))

const notes = (server: Cluster.Cluster) =>
  server.events().map((object) => {
    const { note, reason, type } = object
    return `${type} ${reason}: ${note}`
  })

const touch = (server: Cluster.Cluster, label: string) => {
  server.change(Widget, "a", { metadata: { labels: { label } } })
  return settle
}

describe("A child", () => {
  effect(
    "is created by one apply of the whole intent, which fails if the object exists, and is reported",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ ...makes(() => ({ a: "1" }), {}, { labels: { app: "a" } }), fieldManager: "widget-maker" })
        const [write, ...others] = writes(server)
        expect(others).toEqual([])
        expect(write?.path).toBe("/api/v1/namespaces/default/configmaps/a")
        expect(write?.headers["content-type"]).toBe("application/apply-patch+yaml")
        expect([write?.query.get("fieldManager"), write?.query.get("force")]).toEqual(["widget-maker", null])
        expect(write?.body).toEqual({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name: "a",
            namespace: "default",
            resourceVersion: "1",
            labels: { app: "a" },
            annotations: { [Owned.intentAnnotation]: expect.stringMatching(/^[0-9a-f]{32}$/) },
            ownerReferences: [
              {
                apiVersion: "example.com/v1",
                kind: "Widget",
                name: "a",
                uid: server.get(Widget, "a")?.metadata.uid ?? "none",
                controller: true,
                blockOwnerDeletion: true
              }
            ]
          },
          data: { a: "1" }
        })
        expect(notes(server)).toEqual(["Normal ConfigMapCreated: Created ConfigMap a"])
      })
    )
  )

  effect(
    "that matches the intent causes no request, whatever other managers have added",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { runs, ...options } = makes(() => ({ a: "1" }))
        yield* run(options)
        server.change(ConfigMap, "a", { metadata: { labels: { theirs: "yes" } }, data: { theirs: "yes" } })
        yield* touch(server, "1")
        expect(runs.length).toBeGreaterThan(2)
        expect(writes(server)).toHaveLength(1)
        expect(child(server).data).toEqual({ a: "1", theirs: "yes" })
      })
    )
  )

  effect(
    "causes no request if only the order of the keys in the intent changes",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let isReversed = false
        yield* run(
          makes((): { readonly [key: string]: string } => (isReversed ? { b: "2", a: "1" } : { a: "1", b: "2" }))
        )
        isReversed = true
        yield* touch(server, "1")
        expect(writes(server)).toHaveLength(1)
      })
    )
  )

  effect(
    "that version 0.1 applied causes no request: its hash contains only the first half",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes(() => ({ a: "1" })))
        const { [Owned.intentAnnotation]: hash = "" } = child(server).metadata.annotations ?? {}
        server.change(ConfigMap, "a", { metadata: { annotations: { [Owned.intentAnnotation]: hash.slice(0, 16) } } })
        yield* touch(server, "1")
        expect(writes(server)).toHaveLength(1)
      })
    )
  )

  effect(
    "that was changed is corrected by one forced apply, and the Event contains the field without its value",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes(() => ({ password: "correct", b: "1" })))
        server.change(ConfigMap, "a", { data: { password: "hunter2" } })
        yield* settle
        expect(writes(server)).toHaveLength(2)
        expect(writes(server)[1]?.query.get("force")).toBe("true")
        expect(child(server).data).toEqual({ password: "correct", b: "1" })
        expect(notes(server)).toContain(
          "Normal ConfigMapUpdated: Updated ConfigMap a (data.password), which somebody had changed"
        )
        expect(notes(server).join()).not.toMatch(/hunter2|correct/)
      })
    )
  )

  effect(
    "that was deleted is recreated",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes(() => ({ a: "1" })))
        server.remove(ConfigMap, "a")
        yield* settle
        expect(child(server).data).toEqual({ a: "1" })
        expect(writes(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "loses the fields that a new intent no longer contains",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const data = ({ spec }: Widget): { [key: string]: string } =>
          spec.size === 1 ? { a: "1", b: "1" } : { a: "1" }
        yield* run(makes(data))
        server.change(ConfigMap, "a", { data: { theirs: "yes" } })
        yield* settle
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(child(server).data).toEqual({ a: "1", theirs: "yes" })
        expect(writes(server)).toHaveLength(2)
        expect(notes(server)).toContain("Normal ConfigMapUpdated: Updated ConfigMap a (metadata)")
      })
    )
  )

  effect(
    "loses foreign fields in an exclusive place, by one JSON patch guarded by the resourceVersion",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes(() => ({ a: "1" }), { exclusive: [["data"]] }))
        server.change(ConfigMap, "a", { metadata: { labels: { theirs: "yes" } }, data: { "x.y": "1", z: "2" } })
        const { resourceVersion } = child(server).metadata
        yield* settle
        const [, patch, ...more] = writes(server)
        expect(more).toEqual([])
        expect(patch?.headers["content-type"]).toBe("application/json-patch+json")
        expect(patch?.body).toEqual([
          { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
          { op: "remove", path: "/data/x.y" },
          { op: "remove", path: "/data/z" }
        ])
        expect(child(server).data).toEqual({ a: "1" })
        expect(child(server).metadata.labels).toEqual({ theirs: "yes" })
        expect(notes(server)).toContain(
          "Normal ConfigMapUpdated: Updated ConfigMap a (data.x.y, data.z), which somebody had changed"
        )
      })
    )
  )

  for (const [change, patch] of [
    ["changes", { metadata: { labels: { theirs: "again" } } }],
    ["loses them", { data: { z: null } }]
  ] as const) {
    effect(
      `that ${change} while foreign fields are removed is a conflict, and is retried`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ ...makes(() => ({ a: "1" }), { exclusive: [["data"]] }), retry: Schedule.spaced("1 second") })
          const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
          server.change(ConfigMap, "a", { data: { z: "2" } })
          yield* settle
          server.change(ConfigMap, "a", patch)
          held.remove()
          yield* pass("1 second")
          const failures = attempts.flatMap(({ outcome }) => (outcome._tag === "Failed" ? [outcome.error] : []))
          expect(failures).toMatchObject([{ _tag: "Conflict", code: 409 }])
          expect(child(server).data).toEqual({ a: "1" })
        })
      )
    )
  }

  effect(
    "without a name is an error of the program",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ ...makes(() => ({}), {}, { name: undefined }), retry: Schedule.recurs(0) })
        expect(logs.join("\n")).toContain("Owned.apply needs metadata.name on a ConfigMap")
      })
    )
  )
})

describe("A child that its owner cannot own", () => {
  for (const owns of [[ConfigMap], []]) {
    effect(
      `is a permanent error with advice, and no request is sent, with ${owns.length} kinds in owns`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ ...makes(() => ({}), {}, { namespace: "other" }), owns })
          expect(story(attempts)).toEqual(["Terminal"])
          const [attempt] = attempts
          expect(attempt?.outcome._tag === "Terminal" && attempt.outcome.error.message).toBe(
            "Widget default/a cannot own an object in another namespace: ConfigMap other/a (make Widget cluster-scoped, or create it with Client.apply and a label, watch that label with Trigger.on, delete it in a finalizer)"
          )
          expect(server.list(ConfigMap)).toEqual([])
          expect(writes(server).filter(({ path }) => path.includes("configmaps"))).toEqual([])
        })
      )
    )
  }
})

describe("A list in a child", () => {
  const env = (...variables: ReadonlyArray<{ readonly name: string; readonly value: string }>): Fields => ({
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "app", image: "nginx", env: variables }] }
      }
    }
  })
  const desired = (name: string): Desired<Deployment> => ({
    metadata: { name },
    ...(env({ name: "PASSWORD", value: "correct" }) as Pick<Deployment, "spec">)
  })
  const exclusive = [["spec", "template", "spec", "containers", { name: "app" }, "env"]] as const
  const reconcile = (owner: Widget) =>
    Effect.as(Owned.apply(owner, Deployment, desired(owner.metadata.name), { exclusive }), Result.done)

  effect(
    "is put into its order again, with the items of other managers",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const variables = [
          { name: "A", value: "1" },
          { name: "B", value: "$(A)" }
        ] as const
        const wanted = { metadata: { name: "a" }, ...(env(...variables) as Pick<Deployment, "spec">) }
        yield* run({
          owns: [Deployment],
          reconcile: (owner) => Effect.as(Owned.apply(owner, Deployment, wanted), Result.done)
        })
        const [first, second] = variables
        server.change(Deployment, "a", env(second, { name: "C", value: "3" }, first))
        yield* settle
        expect(server.get(Deployment, "a")).toMatchObject(env({ name: "C", value: "3" }, first, second))
        expect(notes(server).at(-1)).toContain("(spec.template.spec.containers[app].env)")
        expect(writes(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "is corrected item by item, and the Event contains the item without its value",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ owns: [Deployment], reconcile })
        const made = server.get(Deployment, "a")
        server.change(Deployment, "a", env({ name: "PASSWORD", value: "hunter2" }, { name: "THEIRS", value: "secret" }))
        yield* settle
        expect(server.get(Deployment, "a")?.spec).toEqual(made?.spec)
        const updates = notes(server).filter((note) => note.includes("DeploymentUpdated"))
        expect(updates).toHaveLength(1)
        expect(updates[0]).toContain("spec.template.spec.containers[app].env[PASSWORD].value")
        expect(updates[0]).toContain("spec.template.spec.containers[app].env[THEIRS]")
        expect(updates.join()).not.toMatch(/hunter2|secret|correct/)
      })
    )
  )
})

describe("A value that the API server stores in another form", () => {
  effect(
    "is not corrected again, unlike other drift",
    withWorld(
      ({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { runs, ...options } = makes(() => ({ cpu: "1000m", b: "1" }))
          yield* run(options)
          yield* touch(server, "1")
          yield* touch(server, "2")
          expect(runs.length).toBeGreaterThan(3)
          expect(writes(server)).toHaveLength(1)
          server.change(ConfigMap, "a", { data: { b: "2" } })
          yield* settle
          expect(writes(server)).toHaveLength(2)
          expect(child(server).data).toEqual({ cpu: "1", b: "1" })
          server.change(ConfigMap, "a", { data: { cpu: "2" } })
          yield* settle
          expect(writes(server)).toHaveLength(3)
          expect(child(server).data).toEqual({ cpu: "1", b: "1" })
        }),
      altering(({ cpu }) => (cpu === "1000m" ? { cpu: "1" } : undefined))
    )
  )

  effect(
    "or drops is reported once by name, and not sent again",
    withWorld(
      ({ logs, server }) =>
        Effect.gen(function* () {
          for (const name of ["a", "b"]) server.put(Widget, widget(name))
          yield* run(makes(({ spec }) => ({ kept: "1", pruned: `${spec.size}` })))
          yield* touch(server, "1")
          expect(writes(server)).toHaveLength(2)
          // Another value changes the intent, but the runtime does not repeat the warning.
          server.change(Widget, "a", { spec: { size: 2 } })
          yield* settle
          yield* touch(server, "2")
          expect(writes(server)).toHaveLength(3)
          expect(logs.filter((line) => line.startsWith("WARN"))).toEqual([
            "WARN The API server drops data.pruned of a ConfigMap: its schema does not know them"
          ])
        }),
      altering(({ pruned }) => (pruned === undefined ? undefined : { pruned: null }))
    )
  )
})

describe("After a restart of the program,", () => {
  const container = {
    name: "app",
    image: "nginx",
    resources: { limits: { cpu: "1000m" } }
  }
  const labels = { app: "a" }
  const reconcile = (owner: Widget, empty: object) =>
    Effect.as(
      Owned.apply(owner, Deployment, {
        metadata: { name: owner.metadata.name },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ ...container, ...empty }] } }
        }
      }),
      Result.done
    )
  /** Runs the controller as one of several processes that follow each other. */
  const process = (server: Cluster.Cluster, empty: object) =>
    Effect.gen(function* () {
      const { close, scope } = yield* closable
      yield* run({ owns: [Deployment], reconcile: (owner) => reconcile(owner, empty), concurrency: 1 }).pipe(
        Scope.provide(scope)
      )
      for (const label of ["1", "2"]) yield* touch(server, `${label}-of-${server.requests.length}`)
      yield* close
      yield* settle
    })

  effect(
    "a quantity in another form causes no request",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* process(server, {})
        expect(writes(server)).toHaveLength(1)
        yield* process(server, {})
        expect(writes(server)).toHaveLength(1)
        server.change(Deployment, "a", {
          spec: { template: { spec: { containers: [{ ...container, resources: { limits: { cpu: "2" } } }] } } }
        })
        yield* process(server, {})
        expect(writes(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "an empty value that the API server drops is sent once for all children of a kind",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const empty = { args: [], env: [{ name: "EMPTY", value: "" }] }
        yield* process(server, empty)
        expect(writes(server)).toHaveLength(3)
        yield* process(server, empty)
        expect(writes(server)).toHaveLength(4)
      })
    )
  )
})

describe("An empty value", () => {
  effect(
    "that another manager deletes is created again",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(makes(() => ({ KEY: "" }), {}, { labels: { flag: "" } }))
        server.change(ConfigMap, "a", { data: { KEY: null } })
        yield* settle
        expect(child(server).data).toEqual({ KEY: "" })
        server.change(ConfigMap, "a", { metadata: { labels: { flag: null } } })
        yield* settle
        expect(child(server).metadata.labels).toEqual({ flag: "" })
        expect(writes(server)).toHaveLength(3)
      })
    )
  )
})

describe("A field that another manager takes over", () => {
  effect(
    "is first handed over with its current value, and then removed from the intent",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const scaled = (owner: Widget, replicas: number | undefined) =>
          Owned.apply(
            owner,
            Deployment,
            {
              metadata: { name: owner.metadata.name },
              spec: {
                selector: { matchLabels: { app: "a" } },
                template: {
                  metadata: { labels: { app: "a", size: `${owner.spec.size}` } },
                  spec: { containers: [{ name: "app", image: "nginx" }] }
                },
                ...(replicas === undefined ? {} : { replicas })
              }
            },
            replicas === undefined ? { handOver: ({ spec }) => ({ spec: { replicas: spec?.replicas } }) } : {}
          )
        const reconcile = (owner: Widget) =>
          Effect.as(scaled(owner, owner.spec.size === 1 ? 3 : undefined), Result.done)
        yield* run({ owns: [Deployment], reconcile })
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(writes(server).map(({ query }) => query.get("fieldManager"))).toEqual([
          "widgets",
          "widgets-handover",
          "widgets"
        ])
        expect(writes(server)[1]?.body).toMatchObject({ metadata: { name: "a" }, spec: { replicas: 3 } })
        expect(server.get(Deployment, "a")?.spec).toMatchObject({
          replicas: 3,
          template: { metadata: { labels: { size: "2" } } }
        })
      })
    )
  )

  effect(
    "keeps its value if the child is deleted at that moment",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const reconcile = (owner: Widget) =>
          Effect.gen(function* () {
            const isNew = Option.isNone(yield* Cache.get(Deployment, keyOf(owner)))
            const labels = { app: "a", size: `${owner.spec.size}` }
            const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "nginx" }] } }
            const spec = { selector: { matchLabels: { app: "a" } }, template, ...(isNew ? { replicas: 3 } : {}) }
            const handOver = isNew ? undefined : ({ spec }: Deployment) => ({ spec: { replicas: spec?.replicas } })
            yield* Owned.apply(owner, Deployment, { metadata: { name: "a" }, spec }, { handOver })
            return Result.done
          })
        yield* run({ owns: [Deployment], reconcile })
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        server.faults.on({ verb: "patch", kind: Deployment }, Faults.delayed("1 second"), { times: 1 })
        server.change(Widget, "a", { spec: { size: 3 } })
        yield* settle
        server.remove(Deployment, "a")
        yield* pass("5 seconds")
        expect(server.get(Deployment, "a")?.spec).toMatchObject({
          replicas: 3,
          template: { metadata: { labels: { size: "3" } } }
        })
      })
    )
  )
})

describe("A reconcile whose child is rejected", () => {
  effect(
    "fails with the error of the request, and is retried",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.answer(403), { times: 1 })
        yield* run({ ...makes(() => ({ a: "1" })), retry: Schedule.spaced("1 second") })
        yield* pass("1 second")
        expect(story(attempts).slice(0, 2)).toEqual(["Failed +1000", "Done"])
        expect(notes(server)).toEqual([
          "Warning Forbidden: The API server refuses PATCH /api/v1/namespaces/default/configmaps/a: Forbidden",
          "Normal ConfigMapCreated: Created ConfigMap a"
        ])
      })
    )
  )
})

describe("A field that is handed over while foreign fields are in an exclusive place", () => {
  effect(
    "causes no failed attempt, and is handed over once",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const template = (env: ReadonlyArray<{ readonly name: string; readonly value?: string }>, image: string) => ({
          metadata: { labels: { app: "a" } },
          spec: { containers: [{ name: "app", image, env }] }
        })
        const scaled = (owner: Widget) =>
          Owned.apply(
            owner,
            Deployment,
            {
              metadata: { name: "a" },
              spec: {
                selector: { matchLabels: { app: "a" } },
                template: template([{ name: "MODE", value: "shop" }], `web:${owner.spec.size}`),
                ...(owner.spec.size === 1 ? { replicas: 3 } : {})
              }
            },
            {
              exclusive: [["spec", "template", "spec", "containers", { name: "app" }, "env"]],
              handOver: owner.spec.size === 1 ? undefined : ({ spec }) => ({ spec: { replicas: spec?.replicas } })
            }
          )
        yield* run({ owns: [Deployment], reconcile: (owner) => Effect.as(scaled(owner), Result.done) })
        const dirty = [
          { name: "MODE", value: "other" },
          { name: "DEBUG", value: "1" }
        ]
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        server.change(Deployment, "a", { spec: { template: template(dirty, "web:2") } })
        yield* settle
        yield* pass("5 seconds")
        expect(story(attempts).filter((each) => each.startsWith("Failed"))).toEqual([])
        const managers = writes(server).map(({ query }) => query.get("fieldManager"))
        expect(managers.filter((manager) => manager === "widgets-handover")).toHaveLength(1)
        expect(server.get(Deployment, "a")?.spec).toMatchObject({
          replicas: 3,
          template: template([{ name: "MODE", value: "shop" }], "web:2")
        })
      })
    )
  )
})
