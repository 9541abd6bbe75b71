/** Plans of small controllers on an embedded cluster, in virtual time. */
import { describe, expect } from "bun:test"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Simulation from "@homeostat/testkit/Simulation"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import type { Request } from "../client/Request.ts"
import { Transport } from "../client/Transport.ts"
import * as Access from "../controller/Access.ts"
import * as Controller from "../controller/Controller.ts"
import * as Outside from "../controller/Outside.ts"
import * as Owned from "../controller/Owned.ts"
import * as Result from "../controller/Result.ts"
import * as Status from "../controller/Status.ts"
import { TerminalError } from "../controller/TerminalError.ts"
import * as Trigger from "../controller/Trigger.ts"
import type * as Manager from "../manager/Manager.ts"
import { ConfigMap, Deployment, Job, Namespace, Secret, ServiceAccount } from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type { Desired, KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Definitions from "./Definitions.ts"
import * as Plan from "./Plan.ts"
import * as Replica from "./Replica.ts"

const Site = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({ size: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(1))) }),
  status: Schema.Struct({ size: Schema.optionalKey(Schema.Int) })
})

class Quoting extends Data.TaggedError("Quoting")<{ readonly message: string }> {}

class NoLuck extends Data.TaggedError("NoLuck") {
  override get message(): string {
    return "no luck"
  }
}

/** The status in an older definition. */
const unsized = { type: "object", properties: { old: { type: "string" } } }

/** A definition with an older version and a conversion webhook that does not respond. */
const converted = (() => {
  const crd = JSON.parse(JSON.stringify(Crd.of(Site)))
  const [version] = crd.spec.versions
  const webhook = { conversionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/convert" } }
  const versions = [version, { ...version, name: "v1alpha1", storage: false }]
  return { ...crd, spec: { ...crd.spec, versions, conversion: { strategy: "Webhook", webhook } } }
})()

const key = { namespace: "default", name: "a" }
/** Nothing but the test writes there. */
const quiet: EmbeddedCluster.Options = { crds: [Crd.of(Site)], seed: 1, controllers: [], kubelet: false }

interface Scene {
  readonly cluster: EmbeddedCluster.EmbeddedCluster
  /** Plans, and checks that the cluster gets no write. */
  readonly plan: (
    controllers: ReadonlyArray<Controller.Controller<Manager.Runtime>>,
    options?: Partial<Plan.Settings>,
    transport?: Layer.Layer<Transport>
  ) => Effect.Effect<Plan.Plan, unknown>
}

const scene = (
  name: string,
  body: (scene: Scene) => Effect.Effect<unknown, unknown, Client.Client | Scope.Scope>,
  options: EmbeddedCluster.Options = quiet
): void =>
  live(name, () =>
    Effect.suspend(() => {
      const time = VirtualTime.make(Date.parse("2026-11-20T08:00:00Z"))
      return Effect.gen(function* () {
        const cluster = yield* EmbeddedCluster.make(options)
        const plan: Scene["plan"] = (controllers, options, transport = cluster.transport) =>
          Effect.gen(function* () {
            const { revision } = cluster.server.store
            const simulation = yield* Simulation.make
            const settings = { simulation, kinds: [Site], ...options }
            const plan = yield* time.during(Effect.provide(Plan.make(controllers, Layer.empty, settings), transport))
            expect(cluster.server.store.revision).toBe(revision)
            return plan
          }).pipe(Effect.scoped)
        yield* Effect.provide(body({ cluster, plan }), cluster.client)
      }).pipe(Effect.scoped, time.within)
    })
  )

const create = Client.create(Site, { metadata: key, spec: {} })

/** The writes in short: the controller, the effect, the object, and the paths of its fields. */
const short = ({ writes }: Plan.Plan) =>
  writes.map(({ action, fields, subresource = "", target }) =>
    [action, target.kind, target.name, subresource, ...(action === "change" ? fields.map(({ path }) => path) : [])]
      .filter((text) => text !== "")
      .join(" ")
  )

type Reconcile<E> = (
  site: typeof Site.Type
) => Effect.Effect<Result.Result, E, Controller.Services | Controller.Provided>

const controller = <E>(
  reconcile: Reconcile<E>,
  options: Partial<
    Controller.Options<
      typeof Site.Type,
      E,
      Controller.Services | Controller.Provided,
      never,
      Controller.Services,
      never,
      never
    >
  > = {}
): Controller.Controller<Manager.Runtime> =>
  Controller.make("site", { for: Site, owns: [ConfigMap], ...options, reconcile })

/** A kind of another program. */
const Gadget = Resource.make<
  KubernetesObject & { readonly spec?: object },
  Desired<KubernetesObject> & { readonly spec?: object }
>({
  group: "other.example.com",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets"
})

const permissive = Definitions.permissive(Gadget, "Gadget", true)

/** The first controller writes a ConfigMap, whose trigger lets the second one write a Secret. */
const following = (
  options: Trigger.Options<KubernetesObject, Controller.Services>
): ReadonlyArray<Controller.Controller<Manager.Runtime>> => [
  Controller.make("first", {
    for: Site,
    owns: [ConfigMap],
    reconcile: (site) => Effect.as(Owned.apply(site, ConfigMap, { metadata: { name: "one" } }), Result.done)
  }),
  Controller.make("second", {
    for: Site,
    owns: [Secret],
    watches: [Trigger.on(ConfigMap, options)],
    access: [Access.list(ServiceAccount)],
    reconcile: (site) =>
      Effect.gen(function* () {
        const found = yield* Cache.get(ConfigMap, { ...key, name: "one" })
        if (found._tag === "Some") yield* Owned.apply(site, Secret, { metadata: { name: "two" } })
        return Result.done
      })
  })
]

/** A transport with other answers. */
const changed = (
  transport: Layer.Layer<Transport>,
  change: (send: ReturnType<Transport["Service"]["send"]>) => ReturnType<Transport["Service"]["send"]>
): Layer.Layer<Transport> =>
  Layer.provide(
    Layer.effect(
      Transport,
      Effect.map(Transport, (next) => ({ ...next, send: (request: Request) => change(next.send(request)) }))
    ),
    transport
  )

const forbidden = {
  status: 403,
  body: JSON.stringify({ kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message: "forbidden" })
}

/** A role and its binding to a user of the same name. */
const roleOf = (name: string, rules: ReadonlyArray<object>): ReadonlyArray<object> => {
  const apiGroup = "rbac.authorization.k8s.io"
  return [
    { apiVersion: `${apiGroup}/v1`, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects: [{ apiGroup, kind: "User", name }]
    }
  ]
}

describe("A plan", () => {
  scene("continues for several reconciles, each of which sees the writes of the earlier ones", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const steps = controller(
        (site) =>
          Effect.gen(function* () {
            for (const step of [1, 2, 3]) {
              const found = yield* Cache.get(ConfigMap, { ...key, name: `step-${step}` })
              if (found._tag === "Some") continue
              yield* Owned.apply(site, ConfigMap, { metadata: { name: `step-${step}` }, data: { step: `${step}` } })
              return Result.done
            }
            yield* Status.update(site, { size: 3 })
            return Result.done
          }),
        { finalizer: { name: "example.com/site", cleanup: () => Effect.void } }
      )
      const planned = yield* plan([steps])
      expect(short(planned)).toEqual([
        "change Site a metadata.finalizers",
        "create ConfigMap step-1",
        "create ConfigMap step-2",
        "create ConfigMap step-3",
        "change Site a status status.size"
      ])
      expect(planned).toMatchObject({
        unknown: [],
        problems: [],
        controllers: [{ name: "site", kind: "Site", objects: 1 }]
      })
      expect(planned.at).toBe("2026-11-20T08:00:00Z")
    })
  )

  scene("contains deletions, of single objects and collections, and the clean-up of a deleted object", ({ plan }) =>
    Effect.gen(function* () {
      yield* Client.create(Site, { metadata: { ...key, finalizers: ["example.com/site"] }, spec: {} })
      yield* Client.delete(Site, key)
      for (const name of ["one", "two", "other"]) {
        const labels = name === "other" ? {} : { site: "a" }
        yield* Client.create(ConfigMap, { metadata: { namespace: "default", name, labels } })
      }
      const cleaning = controller(() => Effect.succeed(Result.done), {
        finalizer: {
          name: "example.com/site",
          cleanup: () => Effect.orDie(Client.deleteAll(ConfigMap, { namespace: "default", labelSelector: "site=a" }))
        }
      })
      expect(short(yield* plan([cleaning]))).toEqual(["delete ConfigMap one", "delete ConfigMap two", "delete Site a"])
    })
  )

  scene("contains generated names, and objects in a namespace that it creates", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const making = controller(
        () =>
          Effect.gen(function* () {
            yield* Client.create(Namespace, { metadata: { name: "new" } }).pipe(
              Effect.catchTag("AlreadyExists", () => Effect.void)
            )
            const { items } = yield* Client.list(Job, { namespace: "new" })
            if (items.length > 0) return Result.done
            yield* Client.create(Job, {
              metadata: { namespace: "new", generateName: "job-" },
              spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } } }
            })
            return Result.requeue
          }),
        { access: [Access.create(Namespace), Access.create(Job), Access.list(Job)] }
      )
      const { unknown, writes } = yield* plan([making])
      expect(unknown).toEqual([])
      expect(writes.map(({ target }) => [target.kind, target.name])).toEqual([
        ["Namespace", "new"],
        ["Job", expect.stringMatching(/^job-[a-z0-9]{5}$/)]
      ])
    })
  )

  scene("repeats a requeue until its delay is long, and reports an unfinished requeue", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      let attempts = 0
      const late = controller((site) =>
        Effect.gen(function* () {
          if (++attempts < 8) return Result.requeue
          yield* Owned.apply(site, ConfigMap, { metadata: { name: "a" } })
          return Result.done
        })
      )
      expect(short(yield* plan([late]))).toEqual(["create ConfigMap a"])
      const endless = controller(() => Effect.succeed(Result.requeue))
      expect((yield* plan([endless])).unknown).toEqual([])
      const { unknown } = yield* plan([endless], { timeout: "300 millis" })
      expect(unknown).toEqual([
        { controller: "site", object: { kind: "Site", ...key }, reason: "it is not at rest after 300ms" }
      ])
      const steady = controller(() => Effect.succeed(Result.requeue), { retry: Schedule.spaced("10 millis") })
      expect((yield* plan([steady])).unknown).toMatchObject([
        { reason: "it still asks for a requeue after 21 attempts" }
      ])
    })
  )

  scene("hides texts that look like secrets in errors", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const message = "no login: password=hunter2hunter2"
      const [failing, final] = [new Error(message), new TerminalError({ message })].map((error) =>
        controller<Error>(() => Effect.fail(error))
      )
      if (failing === undefined || final === undefined) return yield* Effect.die(new Error("no controllers"))
      expect((yield* plan([failing])).unknown).toMatchObject([
        { reason: "the reconcile fails: no login: password=<redacted>" }
      ])
      expect((yield* plan([final])).problems).toMatchObject([{ message: "no login: password=<redacted>" }])
    })
  )

  scene("hides values of Secrets that another reconcile has read in errors and reasons", ({ plan }) =>
    Effect.gen(function* () {
      const value = "correct horse battery"
      yield* create
      yield* Client.create(Site, { metadata: { ...key, name: "b" }, spec: {} })
      yield* Client.create(Secret, { metadata: { ...key, name: "s" }, stringData: { word: value } })
      const word = yield* Deferred.make<string>()
      const copying = (act: (text: string) => Effect.Effect<unknown, Error>) =>
        controller<unknown>(
          ({ metadata }) =>
            Effect.gen(function* () {
              if (metadata.name === "b") return yield* Effect.as(Effect.flatMap(Deferred.await(word), act), Result.done)
              const { data } = yield* Client.get(Secret, { ...key, name: "s" })
              yield* Deferred.succeed(word, `password=${atob(data?.word ?? "")}`)
              return Result.done
            }),
          { access: [Access.get(Secret)] }
        )
      const final = yield* plan([copying((message) => new TerminalError({ message }))])
      expect(final.problems).toMatchObject([{ message: "password=<redacted>" }])
      const failing = yield* plan([copying((message) => new Quoting({ message }))])
      expect(failing.unknown).toMatchObject([{ reason: "the reconcile fails: password=<redacted>" }])
      const ended = yield* plan([copying((message) => Outside.effect(message, Effect.void))])
      expect(ended.unknown).toMatchObject([{ reason: expect.stringMatching(/: password=<redacted>$/) }])
    })
  )

  scene("contains the rejections of the API server: a missing or terminating namespace, an invalid child", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      yield* Client.create(Namespace, { metadata: { name: "terminating" } })
      yield* Client.delete(Namespace, { name: "terminating" })
      for (const [namespace, reason] of [
        ["missing", 'namespaces "missing" not found'],
        ["terminating", "because it is being terminated"]
      ] as const) {
        const lost = controller(
          () => Effect.as(Client.create(ConfigMap, { metadata: { namespace, name: "x" } }), Result.done),
          { access: [Access.create(ConfigMap)] }
        )
        const { unknown, writes } = yield* plan([lost])
        expect(writes).toEqual([])
        expect(unknown).toMatchObject([{ controller: "site", object: key, reason: expect.stringContaining(reason) }])
      }
      const invalid = controller((site) =>
        Effect.as(Owned.apply(site, ConfigMap, { metadata: { name: "Not_A_Name" } }), Result.done)
      )
      const stopped = yield* plan([invalid])
      expect(stopped.unknown).toEqual([])
      expect(stopped.problems).toMatchObject([{ object: key, message: expect.stringContaining("Not_A_Name") }])
    })
  )

  scene(
    "ends at an effect outside of the cluster, which is not executed, and reports the rest as unknown",
    ({ plan }) =>
      Effect.gen(function* () {
        yield* create
        yield* Client.create(Site, { metadata: { ...key, name: "b" }, spec: { size: 2 } })
        let happened = 0
        const cloud = controller((site) =>
          Effect.gen(function* () {
            yield* Owned.apply(site, ConfigMap, { metadata: { name: site.metadata.name } })
            if (site.spec.size === 2) return Result.done
            yield* Outside.effect(
              "the bucket",
              Effect.try(() => happened++)
            ).pipe(Effect.catch(() => Effect.void))
            yield* Status.update(site, { size: 1 })
            return Result.done
          })
        )
        const planned = yield* plan([cloud])
        expect(short(planned)).toEqual(["create ConfigMap a", "create ConfigMap b"])
        expect(planned.unknown).toEqual([
          {
            controller: "site",
            object: { kind: "Site", ...key },
            reason: "a plan has no effect outside of the cluster: the bucket"
          }
        ])
        expect(happened).toBe(0)
      })
  )

  scene("ends after many writes of one object, and reports an object whose reconcile fails", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const restless = controller((site) =>
        Effect.gen(function* () {
          const found = yield* Client.get(Site, key)
          yield* Status.update(site, { size: (found.status?.size ?? 0) + 1 })
          return Result.done
        })
      )
      const { unknown, writes } = yield* plan([restless])
      expect(writes.length).toBe(Replica.mostWrites)
      expect(unknown).toMatchObject([{ reason: "its reconciles do not come to rest after 200 writes" }])
      const failing = controller(() => Effect.fail(new NoLuck()))
      expect((yield* plan([failing])).unknown).toMatchObject([{ object: key, reason: "the reconcile fails: no luck" }])
      const stopped = controller(() => Effect.fail(new TerminalError({ message: "size too small" })))
      const { problems, unknown: none } = yield* plan([stopped])
      expect([problems, none]).toMatchObject([[{ object: key, message: "size too small" }], []])
    })
  )

  scene("names paused objects, for which it has no writes", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      yield* Client.patch(Site, key, Patch.merge({ metadata: { annotations: { "homeostat.dev/paused": "a fair" } } }))
      const making = controller((site) => Effect.as(Status.update(site, { size: 7 }), Result.done))
      const { problems, unknown, writes } = yield* plan([making])
      expect([writes, unknown]).toEqual([[], []])
      expect(problems).toMatchObject([
        { controller: "site", object: key, message: "The annotation homeostat.dev/paused pauses this object: a fair" }
      ])
    })
  )

  scene("has a time limit", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const slow = controller(() => Effect.as(Effect.sleep("1 hour"), Result.done), { timeout: "2 hours" })
      const { unknown } = yield* plan([slow], { timeout: Duration.seconds(30) })
      expect(unknown).toEqual([{ controller: "site", reason: "1 object is not at rest after 30s" }])
    })
  )

  scene("does not wait for later runs", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const polling = controller((site) =>
        Effect.as(Owned.apply(site, ConfigMap, { metadata: { name: "a" } }), Result.requeueAfter("5 seconds"))
      )
      const planned = yield* plan([polling])
      expect([short(planned), planned.unknown]).toEqual([["create ConfigMap a"], []])
    })
  )

  scene("waits for maps and for delays of triggers, even long ones", ({ cluster, plan }) =>
    Effect.gen(function* () {
      yield* create
      const map = () => [key]
      for (const options of [
        { map, delay: "500 millis" },
        { map, delay: "1 hour" },
        { map: () => Effect.as(Effect.sleep("200 millis"), [key]) },
        { map: () => Effect.as(Effect.orDie(Client.list(ServiceAccount, { namespace: "default" })), [key]) }
      ] as const) {
        const planned = yield* plan(following(options), {}, changed(cluster.transport, Effect.delay("30 millis")))
        expect([short(planned), planned.unknown]).toEqual([["create ConfigMap one", "create Secret two"], []])
      }
      const map40 = () => Effect.as(Effect.sleep("40 seconds"), [key])
      const endless = yield* plan(following({ map: map40 }), { timeout: "30 seconds" })
      expect(endless.unknown).toEqual([
        { controller: "second", reason: "a map of its triggers is not at rest after 30s" }
      ])
    })
  )

  scene("reports a controller whose map fails, lacks a permission, or has an effect outside", ({ cluster, plan }) =>
    Effect.gen(function* () {
      yield* create
      const refused = changed(cluster.transport, (send) =>
        Effect.map(send, (response) => ({
          ...response,
          ...(response.body.includes("ServiceAccountList") && forbidden)
        }))
      )
      const list = Client.list(ServiceAccount, { namespace: "default" })
      for (const [map, reason] of [
        [() => Effect.die(new Error("no luck")), "a map of its triggers fails: no luck"],
        [
          () => Effect.orElseSucceed(Effect.as(list, [key]), () => []),
          expect.stringMatching(/^GET .*\/serviceaccounts.* forbidden/)
        ],
        [
          () => Outside.effect("the cloud", Effect.succeed([key])),
          "a plan has no effect outside of the cluster: the cloud"
        ]
      ] as const) {
        const planned = yield* plan(following({ map }), {}, refused)
        expect(short(planned)).toEqual(["create ConfigMap one"])
        expect(planned.unknown).toEqual([{ controller: "second", reason }])
        expect(planned.controllers.map(({ complete }) => complete)).toEqual([true, false])
      }
    })
  )

  scene("has the resourceVersions of the cluster, also in objects that it reads during the plan", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const config = { ...key, name: "config" }
      const created = yield* Client.create(ConfigMap, { metadata: config, data: { a: "1" } })
      const noting = controller(
        (site) =>
          Effect.gen(function* () {
            const { metadata } = yield* Client.get(ConfigMap, config)
            const annotations = { version: metadata.resourceVersion }
            yield* Owned.apply(site, ConfigMap, { metadata: { name: "child", annotations } })
            return Result.done
          }),
        { access: [Access.get(ConfigMap)] }
      )
      for (const dryRuns of [false, true]) {
        const { writes } = yield* plan([noting], { dryRuns })
        const version = created.metadata.resourceVersion
        expect(writes.map(({ fields }) => fields)).toEqual([
          expect.arrayContaining([{ path: "metadata.annotations.version", to: version }])
        ])
      }
    })
  )

  scene("ignores fields of a later version of Kubernetes", ({ cluster, plan }) =>
    Effect.gen(function* () {
      yield* create
      const labels = { app: "a" }
      yield* Client.create(Deployment, {
        metadata: key,
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "nginx" }] } }
        }
      })
      const newer = changed(cluster.transport, (send) =>
        Effect.map(send, (response) => {
          const body = JSON.parse(response.body)
          if (body.kind !== "Deployment") return response
          const fieldsV1 = { "f:spec": { "f:later": {} }, "f:status": { "f:later": {} } }
          body.metadata.managedFields.push({ ...body.metadata.managedFields[0], manager: "later", fieldsV1 })
          body.spec.later = { a: 1 }
          body.status = { ...body.status, later: [1] }
          return { ...response, body: JSON.stringify(body) }
        })
      )
      const apply = { fieldManager: "site", force: true }
      for (const write of [
        Client.patch(Deployment, key, Patch.merge({ metadata: { labels } })),
        Client.apply(Deployment, { metadata: { ...key, labels } }, apply),
        Effect.flatMap(Client.get(Deployment, key), ({ metadata, ...rest }) =>
          Client.replace(Deployment, { ...rest, metadata: { ...metadata, labels } })
        )
      ]) {
        const writing = controller(() => Effect.as(write, Result.done), {
          access: [Access.get(Deployment), Access.patch(Deployment), Access.update(Deployment)]
        })
        for (const dryRuns of [false, true]) {
          const planned = yield* plan([writing], { dryRuns }, newer)
          expect(planned).toMatchObject({ unknown: [], problems: [] })
          expect(short(planned)).toEqual(["change Deployment a metadata.labels.app"])
        }
      }
    })
  )

  scene("applies manifests first, and does not contain them", ({ plan }) =>
    Effect.gen(function* () {
      const copying = controller((site) =>
        Effect.as(
          Owned.apply(site, ConfigMap, { metadata: { name: "a" }, data: { size: `${site.spec.size}` } }),
          Result.done
        )
      )
      const manifest = { apiVersion: "example.com/v1", kind: "Site", metadata: key, spec: { size: 5 } }
      const { writes } = yield* plan([copying], { manifests: [manifest] })
      expect(writes).toMatchObject([{ target: { kind: "ConfigMap" } }])
      expect(writes[0]?.fields).toContainEqual({ path: "data.size", to: "5" })
      const { namespace: _, ...unplaced } = key
      const elsewhere = { ...manifest, metadata: unplaced }
      yield* Client.create(Namespace, { metadata: { name: "shop" } })
      const placed = yield* plan([copying], { manifests: [elsewhere], namespace: "shop", namespaces: ["shop"] })
      expect(placed.writes).toMatchObject([{ target: { kind: "ConfigMap", namespace: "shop" } }])
      expect(String(yield* Effect.flip(plan([copying], { manifests: [manifest], namespaces: ["shop"] })))).toContain(
        'Site default/a: the plan does not follow the namespace "default" (add --namespace=default)'
      )
      const wrong = { ...manifest, spec: { size: "five" } }
      expect(String(yield* Effect.flip(plan([copying], { manifests: [wrong] })))).toContain("Site default/a: PATCH ")
      yield* create
      const stale = { ...manifest, metadata: { ...manifest.metadata, resourceVersion: "1" } }
      expect(String(yield* Effect.flip(plan([copying], { manifests: [stale] })))).toContain(
        "(remove metadata.resourceVersion from the file)"
      )
      const unserved = { ...manifest, apiVersion: "none.example.com/v1" }
      expect(String(yield* Effect.flip(plan([copying], { manifests: [unserved] })))).toContain(
        "the API server does not serve none.example.com/v1 Site"
      )
    })
  )

  scene("is deterministic, also with new objects and in another order of the answers", ({ plan }) =>
    Effect.gen(function* () {
      const copying = controller((site) =>
        Effect.gen(function* () {
          const millis = yield* Random.nextIntBetween(0, 100, { halfOpen: true })
          yield* Effect.sleep(millis)
          yield* Owned.apply(site, ConfigMap, { metadata: { name: site.metadata.name } })
          return yield* Effect.fail(new NoLuck())
        })
      )
      const manifests = ["a", "b", "c", "d", "e", "f"].map((name) => ({
        apiVersion: "example.com/v1",
        kind: "Site",
        metadata: { ...key, name },
        spec: { size: 5 }
      }))
      const { at: _, ...first } = yield* plan([copying], { manifests })
      expect([first.writes.length, first.unknown.length]).toEqual([6, 6])
      for (let again = 0; again < 3; again++) expect(yield* plan([copying], { manifests })).toMatchObject(first)
    })
  )

  scene("fails for a namespace that does not exist, instead of an empty plan", ({ cluster, plan }) =>
    Effect.gen(function* () {
      const done = controller(() => Effect.succeed(Result.done))
      const asked = plan([done], { namespaces: ["default", "shpo"] })
      expect(String(yield* Effect.flip(asked))).toContain('namespaces "shpo" not found (check --namespace)')
      const manifests = [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "shpo" } }]
      expect((yield* plan([done], { namespaces: ["shpo"], manifests })).unknown).toEqual([])
      // The plan may not read the namespace, so the namespace may exist.
      const rules = ["sites", "configmaps"].map((resource) => ({
        apiGroups: ["", "example.com"],
        resources: [resource],
        verbs: ["list"]
      }))
      const reader = yield* cluster.bind(roleOf("reader", rules))
      expect((yield* plan([done], { namespaces: ["shpo"] }, reader.transport)).unknown).toEqual([])
    })
  )

  scene(
    "uses the definition of the cluster, or with installCrds that of the program",
    ({ plan }) =>
      Effect.gen(function* () {
        yield* create
        const sizing = controller((site) => Effect.as(Status.update(site, { size: 4 }), Result.done))
        // The older definition drops the field, and the empty status stays.
        expect(short(yield* plan([sizing]))).toEqual(["change Site a status status"])
        expect(short(yield* plan([sizing], { installCrds: true }))).toEqual(["change Site a status status.size"])
      }),
    {
      ...quiet,
      crds: [
        JSON.parse(
          JSON.stringify(Crd.of(Site), (key, value) => (key === "status" && value.type === "object" ? unsized : value))
        )
      ]
    }
  )

  scene(
    "starts with the CRDs of the program on a cluster without them",
    ({ plan }) =>
      Effect.gen(function* () {
        const sizing = controller((site) => Effect.as(Status.update(site, { size: 4 }), Result.done))
        const manifests = [{ apiVersion: "example.com/v1", kind: "Site", metadata: key, spec: { size: 2 } }]
        expect(short(yield* plan([sizing], { installCrds: true, manifests }))).toEqual([
          "change Site a status status.size"
        ])
        // A file may have the CRD too.
        const withCrd = [{ ...Crd.of(Site), metadata: { name: "sites.example.com" } }, ...manifests]
        expect(short(yield* plan([sizing], { manifests: withCrd }))).toEqual(["change Site a status status.size"])
        expect(String(yield* Effect.flip(plan([sizing], { manifests })))).toContain(
          "Site default/a: the API server does not serve example.com/v1 Site (add --install-crds)"
        )
      }),
    { ...quiet, crds: [] }
  )

  scene(
    "calls no conversion webhook: it rejects a file in another version, and reports a controller of another version",
    ({ plan }) =>
      Effect.gen(function* () {
        yield* create
        const sizing = controller((site) => Effect.as(Status.update(site, { size: 4 }), Result.done))
        expect(short(yield* plan([sizing]))).toEqual(["change Site a status status.size"])
        const manifests = [
          { apiVersion: "example.com/v1alpha1", kind: "Site", metadata: { ...key, name: "b" }, spec: {} }
        ]
        const why = "a plan calls no conversion webhook, so it has one version of sites.example.com, and not v1alpha1"
        expect(String(yield* Effect.flip(plan([sizing], { manifests })))).toContain(why)
        const Old = Resource.make({ group: "example.com", version: "v1alpha1", kind: "Site", plural: "sites" })
        const old = Controller.make("old", {
          for: ConfigMap,
          watches: [Trigger.on(Old, { map: () => [] })],
          reconcile: () => Effect.succeed(Result.done)
        })
        const both = yield* plan([sizing, old])
        expect([both.controllers.map(({ complete }) => complete), both.unknown]).toEqual([
          [true, false],
          [{ controller: "old", reason: expect.stringContaining(why) }]
        ])
      }),
    { ...quiet, crds: [converted] }
  )

  scene(
    "supports kinds of other programs, even without permission to read their definitions",
    ({ cluster, plan }) =>
      Effect.gen(function* () {
        yield* create
        yield* Client.create(Gadget, { metadata: key, spec: { a: 1 } })
        const rules = [
          {
            apiGroups: ["example.com", "other.example.com"],
            resources: ["sites", "gadgets"],
            verbs: ["get", "list", "watch"]
          },
          { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }
        ]
        const reader = yield* cluster.bind(roleOf("reader", rules))
        const changing = controller(
          () =>
            Effect.as(
              Client.patch(Gadget, key, Patch.merge({ spec: { a: 2 }, status: { ignored: true } })),
              Result.done
            ),
          { watches: [Trigger.on(Gadget, { map: () => [key] })], access: [Access.patch(Gadget)] }
        )
        for (const transport of [cluster.transport, reader.transport]) {
          const planned = yield* plan([changing], {}, transport)
          expect([short(planned), planned.unknown]).toEqual([["change Gadget a spec.a"], []])
        }
        const Missing = Resource.make({ group: "none.example.com", version: "v1", kind: "None", plural: "nones" })
        const waiting = controller(() => Effect.succeed(Result.done), {
          watches: [Trigger.on(Missing, { map: () => [] })]
        })
        expect((yield* plan([waiting])).unknown).toEqual([
          {
            controller: "site",
            reason: expect.stringContaining("the API server does not serve none.example.com/v1 None")
          }
        ])
        const without = controller(
          (site) => Effect.as(Owned.apply(site, Missing, { metadata: { name: "a" } }), Result.done),
          {
            owns: [Owned.kind(Missing, { optional: true })]
          }
        )
        const planned = yield* plan([without])
        expect([planned.unknown, planned.problems.map(({ message }) => message)]).toEqual([
          [],
          [expect.stringContaining("the API server does not serve none.example.com/v1 None: install its")]
        ])
      }),
    { ...quiet, crds: [Crd.of(Site), permissive] }
  )

  scene("reports a controller whose kinds cannot be read, and plans the others", ({ cluster, plan }) =>
    Effect.gen(function* () {
      yield* create
      yield* Client.create(Secret, { metadata: { ...key, name: "s" }, stringData: { a: "b" } })
      const reading = (name: string, kind: typeof ConfigMap | typeof Secret) =>
        Controller.make(name, {
          for: Site,
          owns: [ConfigMap],
          access: [Access.get(kind)],
          reconcile: (site) =>
            Effect.gen(function* () {
              yield* Client.get(kind, { ...key, name: "s" }).pipe(Effect.catchTag("NotFound", () => Effect.void))
              yield* Owned.apply(site, ConfigMap, { metadata: { name } })
              return Result.done
            })
        })
      const watching = Controller.make("watching", {
        for: Site,
        owns: [Secret],
        reconcile: () => Effect.succeed(Result.done)
      })
      const rules = [
        { apiGroups: ["example.com"], resources: ["sites"], verbs: ["get", "list", "watch"] },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }
      ]
      const reader = yield* cluster.bind(roleOf("reader", rules))
      const blind = Controller.make("blind", {
        for: Job,
        owns: [Secret],
        reconcile: () => Effect.succeed(Result.done)
      })
      const planned = yield* plan(
        [reading("allowed", ConfigMap), reading("refused", Secret), watching, blind],
        {},
        reader.transport
      )
      expect(planned.controllers).toEqual([
        { name: "allowed", kind: "Site", objects: 1, complete: true },
        { name: "refused", kind: "Site", objects: 1, complete: true },
        { name: "watching", kind: "Site", objects: 1, complete: false },
        { name: "blind", kind: "Job", complete: false }
      ])
      expect(short(planned)).toEqual(["create ConfigMap allowed"])
      expect(planned.unknown).toEqual([
        {
          controller: "refused",
          object: { kind: "Site", ...key },
          reason: expect.stringMatching(/secrets "s" is forbidden/)
        },
        {
          controller: "watching",
          reason: expect.stringMatching(/^cannot list secrets in all namespaces: requires permission /)
        },
        // Each missing permission, not only the first.
        { controller: "blind", reason: expect.stringMatching(/^cannot list jobs.batch in all namespaces: /) },
        { controller: "blind", reason: expect.stringMatching(/^cannot list secrets in all namespaces: /) }
      ])
    })
  )

  scene("never contains a value of a Secret, even if the API server rejects the Secret", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const value = "hunter2"
      const encoded = Buffer.from(value).toString("base64")
      yield* Client.create(Secret, { metadata: { ...key, name: "old" }, data: { was: encoded } })
      const hiding = controller(
        (site) =>
          Effect.gen(function* () {
            yield* Client.patch(Secret, { ...key, name: "old" }, Patch.merge({ data: null, stringData: { is: value } }))
            yield* Owned.apply(site, Secret, { metadata: { name: "new" }, stringData: { password: value } })
            yield* Owned.apply(site, Secret, { metadata: { name: "wrong" }, data: { "not a key": encoded } })
            return Result.done
          }),
        { owns: [Secret], access: [Access.patch(Secret)] }
      )
      const manifests = [{ apiVersion: "v1", kind: "Secret", metadata: { ...key, name: "file" }, data: { a: encoded } }]
      for (const dryRuns of [false, true]) {
        const planned = yield* plan([hiding], { dryRuns, manifests })
        expect(short(planned)).toEqual(["change Secret old data.is data.was", "create Secret new"])
        expect(planned.problems).toMatchObject([{ message: expect.stringContaining("not a key") }])
        expect(JSON.stringify(planned)).not.toMatch(new RegExp(`${value}|${encoded.slice(0, -2)}`))
      }
      const broken = [{ apiVersion: "v1", kind: "Secret", metadata: { ...key, name: "x" }, data: { a: `${value}!` } }]
      expect(String(yield* Effect.flip(plan([hiding], { manifests: broken })))).not.toContain(value)
    })
  )

  scene("fails if the API server stops answering", ({ cluster, plan }) =>
    Effect.gen(function* () {
      yield* create
      const broken = Layer.effect(
        Transport,
        Effect.map(Transport, (next) => ({
          ...next,
          send: (request: Request) =>
            request.path.includes("/configmaps")
              ? Effect.succeed({ status: 500, headers: { get: () => null }, body: "etcd is gone" })
              : next.send(request)
        }))
      ).pipe(Layer.provide(cluster.transport))
      const exit = yield* Effect.exit(plan([controller(() => Effect.succeed(Result.done))], {}, broken))
      expect(Exit.isFailure(exit) && String(exit.cause)).toContain("etcd is gone")
      const manifests = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { ...key, name: "x" } }]
      expect(String(yield* Effect.flip(plan([], { manifests }, broken)))).toContain("etcd is gone")
    })
  )
})

describe("A plan with dry runs", () => {
  scene(
    "contains the answers of the cluster: its admission, and a rejection",
    ({ plan }) =>
      Effect.gen(function* () {
        yield* create
        const applying = controller((site) =>
          Effect.gen(function* () {
            for (const name of ["allowed", "denied"]) {
              yield* Owned.apply(site, ConfigMap, { metadata: { name } }).pipe(
                Effect.catchTag("Invalid", () => Status.update(site, { size: 9 }))
              )
            }
            return Result.done
          })
        )
        expect(short(yield* plan([applying]))).toEqual(["create ConfigMap allowed", "create ConfigMap denied"])
        expect(short(yield* plan([applying], { dryRuns: true }))).toEqual([
          "create ConfigMap allowed",
          "change Site a status status.size"
        ])
      }),
    {
      ...quiet,
      crds: [
        Crd.of(Site),
        {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicy",
          metadata: { name: "names" },
          spec: {
            matchConstraints: {
              resourceRules: [
                { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }
              ]
            },
            validations: [{ expression: "object.metadata.name != 'denied'", reason: "Invalid" }]
          }
        },
        {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicyBinding",
          metadata: { name: "names" },
          spec: { policyName: "names", validationActions: ["Deny"] }
        }
      ]
    }
  )

  scene("contains the deletion of an object that loses its last finalizer", ({ plan }) =>
    Effect.gen(function* () {
      yield* Client.create(Site, { metadata: { ...key, finalizers: ["example.com/site"] }, spec: {} })
      yield* Client.delete(Site, key)
      let cleanups = 0
      const cleaning = controller(() => Effect.succeed(Result.done), {
        finalizer: { name: "example.com/site", cleanup: () => Effect.sync(() => void cleanups++) }
      })
      for (const dryRuns of [false, true]) {
        const planned = yield* plan([cleaning], { dryRuns })
        expect([short(planned), planned.controllers]).toMatchObject([["delete Site a"], [{ objects: 0 }]])
      }
      expect(cleanups).toBe(2)
    })
  )

  scene("writes in memory into a namespace of the plan", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      const place = { namespace: "new", name: "c" }
      const making = controller(
        () =>
          Effect.gen(function* () {
            const absent = yield* Effect.isFailure(Client.get(Namespace, { name: "new" }))
            if (absent) yield* Client.create(Namespace, { metadata: { name: "new" } })
            if (yield* Effect.isSuccess(Client.get(ConfigMap, place))) return Result.done
            yield* Client.create(ConfigMap, { metadata: place })
            return Result.done
          }),
        { access: [Access.create(Namespace), Access.get(Namespace), Access.create(ConfigMap), Access.get(ConfigMap)] }
      )
      const copying = controller((site) =>
        Effect.as(Owned.apply(site, ConfigMap, { metadata: { name: "c" } }), Result.done)
      )
      const manifests = [
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } },
        { apiVersion: "example.com/v1", kind: "Site", metadata: { ...key, namespace: "new" }, spec: {} }
      ]
      for (const dryRuns of [false, true]) {
        const planned = yield* plan([making], { dryRuns })
        expect([short(planned), planned.unknown]).toEqual([["create Namespace new", "create ConfigMap c"], []])
        const applied = yield* plan([copying], { dryRuns, manifests, namespaces: ["new"] })
        expect([short(applied), applied.unknown]).toEqual([["create ConfigMap c"], []])
      }
    })
  )

  scene(
    "writes objects of a kind in memory that only the plan serves",
    ({ plan }) =>
      Effect.gen(function* () {
        const sizing = controller((site) => Effect.as(Status.update(site, { size: 4 }), Result.done))
        const manifests = [{ apiVersion: "example.com/v1", kind: "Site", metadata: key, spec: { size: 2 } }]
        const withCrd = [{ ...Crd.of(Site), metadata: { name: "sites.example.com" } }, ...manifests]
        for (const options of [{ installCrds: true, manifests }, { manifests: withCrd }]) {
          const planned = yield* plan([sizing], { ...options, dryRuns: true })
          expect([short(planned), planned.unknown]).toEqual([["change Site a status status.size"], []])
        }
      }),
    { ...quiet, crds: [] }
  )

  scene("continues in memory after the first write of an object", ({ plan }) =>
    Effect.gen(function* () {
      yield* create
      yield* Client.create(ConfigMap, { metadata: { ...key, name: "old" }, data: { a: "1", b: "2" } })
      const changing = controller(
        () =>
          Effect.gen(function* () {
            const place = { ...key, name: "old" }
            const first = yield* Client.patch(ConfigMap, place, Patch.merge({ data: { a: "3" } }))
            const { resourceVersion } = first.metadata
            const second = Patch.merge({ metadata: { resourceVersion }, data: { b: `${first.data?.a}4` } })
            yield* Client.patch(ConfigMap, place, second)
            yield* Client.delete(ConfigMap, place)
            return Result.requeueAfter("1 hour")
          }).pipe(Effect.catchTag("NotFound", () => Effect.succeed(Result.done))),
        { access: [Access.patch(ConfigMap), Access.delete(ConfigMap)] }
      )
      const planned = yield* plan([changing], { dryRuns: true })
      expect(planned.writes.map(({ action, fields }) => [action, ...fields])).toEqual([
        ["change", { path: "data.a", from: "1", to: "3" }],
        ["change", { path: "data.b", from: "2", to: "34" }],
        ["delete"]
      ])
    })
  )
})
