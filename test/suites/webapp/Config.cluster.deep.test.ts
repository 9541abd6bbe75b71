/** Tests of a WebApp's configuration: the rollout after a change, and a reference that is missing. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { hashAnnotation } from "@homeostat/webapp/Config"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"
const base64 = (text: string) => Buffer.from(text).toString("base64")

const files = { configMap: "files", mountPath: "/etc/app" }
const keys = { secret: "keys", env: {}, keys: ["token"] }

const createFiles = ({ namespace }: Scene.Scene, data: { readonly [key: string]: string } = { theme: "dark" }) =>
  Client.create(ConfigMap, { metadata: { namespace, name: "files" }, data })

const createKeys = ({ namespace }: Scene.Scene) =>
  Client.create(Secret, {
    metadata: { namespace, name: "keys" },
    data: { token: base64("one"), other: base64("a") }
  })

const change = ({ key }: Scene.Scene, patch: object) => Client.patch(ConfigMap, key("files"), Patch.merge(patch))

const changeKeys = ({ key }: Scene.Scene, data: object) => Client.patch(Secret, key("keys"), Patch.merge({ data }))

const changeApp = ({ key }: Scene.Scene, spec: object) => Client.patch(WebApp, key("shop"), Patch.merge({ spec }))

const hash = (scene: Scene.Scene) =>
  Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => spec?.template.metadata?.annotations?.[hashAnnotation])

/** The number of the rollout, which the Deployment controller counts. */
const revision = (scene: Scene.Scene) =>
  Effect.map(Scene.deployment(scene, "shop"), ({ metadata }) =>
    Number(metadata.annotations?.["deployment.kubernetes.io/revision"])
  )

/** Waits for the rollout that follows, and returns the hash. */
const rolled = (scene: Scene.Scene, from: string | undefined) =>
  Effect.gen(function* () {
    yield* Managed.eventually("the pod template has another hash", hash(scene), (now) => now !== from)
    yield* Scene.settled(scene, "shop")
    return yield* hash(scene)
  })

/** A change that the manager reports after all others: it has seen those before, and waited for their rollout. */
const seenAll = (scene: Scene.Scene, data: object = { last: "change" }) =>
  Effect.gen(function* () {
    const before = yield* hash(scene)
    yield* change(scene, { data })
    yield* rolled(scene, before)
  })

const missing = (scene: Scene.Scene, phase: string) =>
  Managed.eventually(
    `the reference is reported, with phase ${phase}`,
    Scene.app(scene, "shop"),
    (app) => Scene.isAt(phase)(app) && Scene.condition(app, "ConfigReady")?.status === "False"
  )

const notFound = {
  status: "False",
  reason: "ConfigNotFound",
  message: "ConfigMap files not found (create it, or set optional: true)"
}

describe.concurrent("The configuration of a WebApp", () => {
  Scene.managed("reaches the pods as files and variables, and leaves them when it leaves the spec", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* createKeys(scene)
      const all = { configMap: "files", env: { prefix: "F_" } }
      yield* Scene.launch(scene, "shop", { image, config: [files, keys, all] })
      const [pod] = yield* Scene.pods(scene, "shop")
      const container = pod?.spec?.containers[0]
      expect(pod?.spec?.volumes).toContainEqual(
        expect.objectContaining({ configMap: expect.objectContaining({ name: "files" }) })
      )
      expect(container?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: "/etc/app", readOnly: true }))
      expect(container?.env).toEqual([{ name: "token", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } }])
      expect(container?.envFrom).toEqual([{ prefix: "F_", configMapRef: { name: "files" } }])
      const app = yield* Scene.app(scene, "shop")
      expect(Scene.condition(app, "ConfigReady")).toMatchObject({
        status: "True",
        message: "found ConfigMap files, Secret keys"
      })

      yield* changeApp(scene, { config: null })
      yield* Scene.settled(scene, "shop")
      const { spec } = yield* Scene.deployment(scene, "shop")
      const left = spec?.template.spec?.containers[0]
      expect([spec?.template.spec?.volumes, left?.volumeMounts, left?.env, left?.envFrom]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined
      ])
      expect(yield* hash(scene)).toBeUndefined()
      yield* Managed.eventually(
        "the condition is gone",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "ConfigReady") === undefined
      )
    })
  )

  Scene.managed("rolls out once when values of two objects change together", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* createKeys(scene)
      yield* Scene.launch(scene, "shop", { image, config: [files, keys] })
      yield* Scene.settled(scene, "shop")
      const [first, before] = [yield* hash(scene), yield* revision(scene)]
      yield* change(scene, { data: { theme: "light" } })
      yield* changeKeys(scene, { token: base64("two") })
      yield* rolled(scene, first)
      expect(yield* revision(scene)).toBe(before + 1)
      const pods = yield* Scene.pods(scene, "shop")
      const now = yield* hash(scene)
      expect(pods.map(({ metadata }) => metadata.annotations?.[hashAnnotation])).toEqual(pods.map(() => now))
    })
  )

  Scene.managed("rolls out for a key of spec.env", (scene) =>
    Effect.gen(function* () {
      yield* createKeys(scene)
      const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } }]
      yield* Scene.launch(scene, "shop", { image, env })
      const first = yield* hash(scene)
      yield* changeKeys(scene, { token: base64("two") })
      expect(yield* rolled(scene, first)).not.toBe(first)
    })
  )

  Scene.managed("does not roll out for other keys, metadata, or the same data in a new ConfigMap", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* createKeys(scene)
      yield* Scene.launch(scene, "shop", { image, config: [files, keys] })
      yield* Scene.settled(scene, "shop")
      const before = yield* revision(scene)
      yield* changeKeys(scene, { other: base64("b") })
      yield* change(scene, { metadata: { labels: { note: "a" }, annotations: { note: "b" } } })
      yield* Client.delete(ConfigMap, scene.key("files"))
      yield* missing(scene, "Degraded")
      yield* createFiles(scene)
      yield* Scene.settled(scene, "shop")
      expect(yield* revision(scene)).toBe(before)
      yield* seenAll(scene)
      expect(yield* revision(scene)).toBe(before + 1)
    })
  )

  Scene.managed("does not roll out after a restart of the manager", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* createKeys(scene)
      yield* Scene.launch(scene, "shop", { image, config: [files, keys] })
      const before = yield* Scene.settled(scene, "shop")
      yield* Scene.during(scene.manage(), Scene.settled(scene, "shop"))
      expect(yield* Scene.settled(scene, "shop")).toEqual(before)
    })
  )

  Scene.empty("rolls out once for a change while no manager ran", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* Scene.during(
        scene.manage(),
        Effect.andThen(Scene.launch(scene, "shop", { image, config: [files] }), Scene.settled(scene, "shop"))
      )
      const [first, before] = [yield* hash(scene), yield* revision(scene)]
      yield* change(scene, { data: { theme: "light" } })
      yield* scene.manage()
      yield* rolled(scene, first)
      expect(yield* revision(scene)).toBe(before + 1)
    })
  )
})

describe.concurrent("A WebApp with a missing reference", () => {
  Scene.managed("reports it, and starts its pods when the ConfigMap appears", (scene) =>
    Effect.gen(function* () {
      yield* Scene.create(scene, "shop", { image, config: [files] })
      const app = yield* missing(scene, "Pending")
      expect(Scene.condition(app, "ConfigReady")).toMatchObject(notFound)
      expect(Scene.condition(app, "Ready")).toMatchObject(notFound)
      expect(Scene.condition(app, "DeploymentReady")).toMatchObject({ status: "False", reason: "Waiting" })
      expect(Scene.condition(app, "Reconciling")?.status).toBe("True")
      expect(Scene.condition(app, "Stalled")).toBeUndefined()
      expect((yield* Scene.service(scene, "shop")).metadata.name).toBe("shop")
      expect(yield* Scene.pods(scene, "shop")).toEqual([])
      yield* createFiles(scene)
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("reports a ConfigMap with too many keys, and starts its pods when it has fewer", (scene) =>
    Effect.gen(function* () {
      const keys = Array.from({ length: 3000 }, (_, at) => `key-${at}`)
      yield* createFiles(scene, Object.fromEntries(keys.map((key) => [key, ""])))
      yield* Scene.create(scene, "shop", { image, config: [files] })
      const app = yield* missing(scene, "Pending")
      const length = keys.reduce((sum, key) => sum + key.length + 22, 0)
      expect(Scene.condition(app, "ConfigReady")).toMatchObject({
        status: "False",
        reason: "ConfigTooLarge",
        message: `ConfigMap files has too many keys: ${length} characters, with a hash for each (at most 65536; split it)`
      })
      yield* Client.delete(ConfigMap, scene.key("files"))
      yield* createFiles(scene)
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("starts its pods when the key appears", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* Scene.create(scene, "shop", { image, config: [{ ...files, keys: ["level"] }] })
      const app = yield* missing(scene, "Pending")
      expect(Scene.condition(app, "ConfigReady")?.message).toBe(
        "key level not found in ConfigMap files (add it, or set optional: true)"
      )
      yield* change(scene, { data: { level: "9" } })
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("starts its pods without an optional ConfigMap, and rolls them out when it appears", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, config: [{ ...files, optional: true }] })
      const first = yield* hash(scene)
      yield* createFiles(scene)
      expect(yield* rolled(scene, first)).not.toBe(first)
    })
  )

  for (const strategy of ["RollingUpdate", "Recreate"] as const) {
    Scene.managed(`keeps and scales its old pods with ${strategy}, and rolls out when the ConfigMap appears`, (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", { image, strategy })
        yield* Scene.settled(scene, "shop")
        const { uid } = (yield* Scene.pods(scene, "shop"))[0]?.metadata ?? expect.unreachable("no pod")
        yield* changeApp(scene, { image: "registry.test/web:2", config: [files] })
        const app = yield* missing(scene, "Deploying")
        expect(Scene.condition(app, "Ready")).toMatchObject(notFound)
        expect(app.status).toMatchObject({ readyReplicas: 2 })

        yield* ByHand.scale(scene, WebApp, 3)
        yield* Managed.eventually("three pods are ready", Scene.app(scene, "shop"), ({ status }) => {
          return status?.readyReplicas === 3
        })
        const pods = yield* Scene.pods(scene, "shop")
        expect(pods.map(({ spec }) => spec?.containers[0]?.image)).toEqual([image, image, image])
        expect(pods.map(({ metadata }) => metadata.uid)).toContain(uid)

        yield* createFiles(scene)
        yield* Scene.settled(scene, "shop")
        const { spec } = yield* Scene.deployment(scene, "shop")
        expect(spec?.template.spec?.containers[0]?.image).toBe("registry.test/web:2")
      })
    )
  }

  Scene.managed("reports its jobs, which wait for the ConfigMap", (scene) =>
    Effect.gen(function* () {
      yield* Scene.create(scene, "shop", { image, config: [files], jobs: [{ name: "migrate", command: ["migrate"] }] })
      const app = yield* missing(scene, "Pending")
      expect(Scene.condition(app, "JobsComplete")).toMatchObject({ status: "False", reason: "Waiting" })
      expect(Scene.condition(app, "Ready")).toMatchObject({ reason: "ConfigNotFound" })
      yield* createFiles(scene)
      yield* Scene.running(scene, "shop")
    })
  )

  Scene.managed("keeps its old pods also if their template is too large for its record", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      const env = [{ name: "LARGE", value: "a".repeat(300_000) }]
      const podTemplate = { spec: { containers: [{ name: "app", env }] } }
      yield* Scene.launch(scene, "shop", { image, config: [files], podTemplate })
      const reported = yield* Managed.eventually("the Event", Scene.events(scene, "shop"), (events) =>
        events.some(({ reason }) => reason === "TemplateNotRecorded")
      )
      expect(reported.find(({ reason }) => reason === "TemplateNotRecorded")).toMatchObject({
        type: "Warning",
        count: 1
      })
      yield* Client.delete(ConfigMap, scene.key("files"))
      yield* missing(scene, "Degraded")
      yield* Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { image: "registry.test/web:2" } }))
      yield* missing(scene, "Deploying")
      const deployment = yield* Scene.deployment(scene, "shop")
      expect(Scene.containerOf(deployment)).toMatchObject({ image, env: expect.arrayContaining(env) })
      yield* createFiles(scene)
      yield* Scene.settled(scene, "shop")
      expect(Scene.containerOf(yield* Scene.deployment(scene, "shop"))?.image).toBe("registry.test/web:2")
    })
  )

  Scene.managed("runs on when its ConfigMap is deleted by accident", (scene) =>
    Effect.gen(function* () {
      yield* createFiles(scene)
      yield* Scene.launch(scene, "shop", { image, config: [files] })
      yield* Scene.settled(scene, "shop")
      const before = yield* revision(scene)
      yield* Client.delete(ConfigMap, scene.key("files"))
      const app = yield* missing(scene, "Degraded")
      expect(Scene.condition(app, "DeploymentReady")?.status).toBe("True")
      expect(app.status).toMatchObject({ readyReplicas: 2, availableReplicas: 2 })
      yield* Scene.during(scene.manage(), Scene.rest(scene))
      expect(yield* revision(scene)).toBe(before)
      expect(Scene.condition(yield* Scene.app(scene, "shop"), "ConfigReady")).toMatchObject(notFound)
    })
  )
})
