/** Between runs, the condition Ready follows the objects that a Backup needs. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as Virtual from "./Virtual.ts"
import type * as VirtualManager from "./VirtualManager.ts"

const nightly = { schedule: "0 1 * * *" }

const ready = Effect.map(Virtual.get("shop"), (backup) => {
  const { message, reason, status } = Virtual.condition(backup, "Ready") ?? {}
  return { status, reason, message }
})

const isReady = { status: "True", reason: "Scheduled" }

/** Creates a Backup that has run, ten minutes after the start. */
const prepare = (world: Virtual.Virtual, spec: Parameters<typeof Virtual.create>[1] = {}) =>
  Effect.gen(function* () {
    const manager = yield* world.manage()
    yield* Virtual.create("shop", { ...nightly, ...spec })
    yield* Virtual.rests("shop")
    yield* world.pass("10 minutes")
    expect(yield* ready).toMatchObject(isReady)
    return manager
  })

describe("Ready turns False within seconds", () => {
  for (const [claim, reason] of [
    ["app", "SourceNotFound"],
    ["store", "VolumeNotBound"]
  ] as const) {
    Virtual.test(`when the claim ${claim} is deleted, and True when it exists again`, (world) =>
      Effect.gen(function* () {
        yield* prepare(world)
        yield* Claims.remove(Virtual.namespace, claim)
        yield* world.pass("5 seconds")
        expect(yield* ready).toMatchObject({ status: "False", reason })
        expect(world.eventReasons("shop")).toContain(reason)
        yield* Claims.bound(Virtual.namespace, claim)
        yield* world.pass("5 seconds")
        expect(yield* ready).toMatchObject(isReady)
      })
    )
  }

  Virtual.test("when the workload is deleted, or its claim", (world) =>
    Effect.gen(function* () {
      const make = Client.create(Deployment, {
        metadata: Virtual.key("web"),
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" } },
            spec: {
              containers: [{ name: "web", image: "web:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
              volumes: [{ name: "data", persistentVolumeClaim: { claimName: "app" } }]
            }
          }
        }
      })
      yield* make
      yield* prepare(world, { source: "deployment/web" })
      yield* Claims.remove(Virtual.namespace, "app")
      yield* world.pass("5 seconds")
      expect(yield* ready).toMatchObject({
        reason: "SourceNotFound",
        message: "PersistentVolumeClaim of Deployment web not found: app (create it)"
      })
      yield* Claims.bound(Virtual.namespace, "app")
      yield* world.pass("5 seconds")
      expect(yield* ready).toMatchObject(isReady)
      yield* Client.delete(Deployment, Virtual.key("web"))
      yield* world.pass("5 seconds")
      expect(yield* ready).toMatchObject({ status: "False", reason: "SourceNotFound" })
      yield* make
      yield* world.pass("5 seconds")
      expect(yield* ready).toMatchObject(isReady)
    })
  )

  Virtual.test("when another kind gets the name of the source", (world) =>
    Effect.gen(function* () {
      yield* prepare(world)
      yield* Client.create(Deployment, {
        metadata: Virtual.key("app"),
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } }
        }
      })
      yield* world.pass("5 seconds")
      expect(yield* ready).toMatchObject({ status: "False", reason: "SourceAmbiguous" })
    })
  )
})

Virtual.test(
  "Ready turns False within an hour when a key of the Secret is removed, and True when it exists again",
  (world) =>
    Effect.gen(function* () {
      yield* prepare(world)
      const keys = (data: object) => Client.patch(Secret, Virtual.key("shop-backup-credentials"), Patch.merge({ data }))
      yield* keys({ RESTIC_PASSWORD: null })
      yield* world.pass("61 minutes")
      expect(yield* ready).toMatchObject({ status: "False", reason: "CredentialsMissing" })
      yield* keys({ RESTIC_PASSWORD: "eA==" })
      yield* world.pass("31 seconds")
      expect(yield* ready).toMatchObject(isReady)
    })
)

Virtual.test("A Backup that a manager finds at its start is checked, too", (world) =>
  Effect.gen(function* () {
    const before = yield* prepare(world)
    yield* before.stop
    yield* Claims.remove(Virtual.namespace, "app")
    yield* world.manage()
    yield* world.pass("5 seconds")
    expect(yield* ready).toMatchObject({ status: "False", reason: "SourceNotFound" })
  })
)

/** The number of requests that check prerequisites, by kind. */
const looks = ({ sent }: VirtualManager.VirtualManager, since: number) => {
  const found = { lists: 0, secrets: 0 }
  for (const { at, method, path } of sent) {
    if (method !== "GET" || at < since || path.includes("watch=")) continue
    if (/\/namespaces\/shop\/(persistentvolumeclaims|pods)/.test(path)) found.lists++
    if (path.includes("/secrets/")) found.secrets++
  }
  return found
}

Virtual.test(
  "200 idle Backups cause one request each per hour, spread over the hour, and few at the start",
  (world) =>
    Effect.gen(function* () {
      const before = yield* world.manage()
      const count = 200
      for (let index = 0; index < count; index++) {
        yield* Virtual.create(`shop-${index}`, { schedule: "0 12 * * *", startPolicy: "OnSchedule" })
      }
      yield* world.pass("5 minutes")
      yield* before.stop
      const manager = yield* world.manage()
      yield* world.pass("1 minute")
      const atStart = looks(manager, 0)
      expect(atStart.lists).toBe(0)
      expect(atStart.secrets).toBeLessThan(count / 20)
      yield* world.pass("3 hours")
      const { lists, secrets } = looks(manager, 0)
      expect(lists).toBe(0)
      expect(secrets).toBeGreaterThan(2.9 * count)
      expect(secrets).toBeLessThanOrEqual(3.1 * count)
      const { items } = yield* Client.list(Backup, { namespace: Virtual.namespace })
      expect(items.filter((backup) => Virtual.condition(backup, "Ready")?.status === "True")).toHaveLength(count)
    }),
  300_000
)
