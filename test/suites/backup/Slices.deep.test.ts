/** Several managers that divide the Backups of a cluster by labels, while these Backups share a repository. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import { Namespace, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"
import type * as VirtualManager from "./VirtualManager.ts"

const other = "depot"

/** Creates a Backup of a team in the shared repository. */
const create = (team: string, namespace: string = Virtual.namespace) =>
  Client.create(Backup, {
    metadata: { namespace, name: team, labels: { team } },
    spec: {
      source: "pvc/app",
      destination: "s3://bucket",
      retentionPolicy: "30d",
      repository: { path: "shared", credentialsSecretRef: { name: "s3" } }
    }
  })

const prepare = Effect.gen(function* () {
  yield* Client.create(Namespace, { metadata: { name: other } })
  yield* Claims.bound(other, "app")
  for (const namespace of [Virtual.namespace, other]) {
    yield* Client.create(Secret, {
      metadata: { namespace, name: "s3" },
      stringData: { RESTIC_PASSWORD: "x", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" }
    })
  }
})

const managers = (world: Virtual.Virtual) =>
  Effect.all([
    world.manage({ name: "red", labelSelector: "team=red" }),
    world.manage({ name: "blue", labelSelector: "team=blue" })
  ])

describe("Two managers that find a free repository at the same time:", () => {
  for (const namespace of [Virtual.namespace, other]) {
    Virtual.test(
      `only one creates it, with Backups in ${namespace === other ? "two namespaces" : "one namespace"}`,
      (world) =>
        Effect.gen(function* () {
          yield* prepare
          const [red] = yield* managers(world)
          world.movers((mover) => PretendedMover.succeeds(mover, "2 minutes"))
          // The manager has decided, but its request for the Job arrives after the other manager's request.
          red.cut(({ method, path }) => (method === "POST" && /\/jobs\?/.test(path) ? "late" : "pass"))
          yield* create("red")
          yield* world.pass("1 second")
          yield* create("blue", namespace)
          yield* world.pass("1 minute")
          expect(world.begun().map(({ tag }) => tag)).toEqual([`${namespace}/blue`])
          expect(yield* Virtual.status("red")).toMatchObject({ phase: "Pending" })
          expect((yield* Virtual.status("red")).message).toStartWith("A run is due and waits: ")
          yield* world.pass("20 minutes")
          expect(yield* Virtual.status("red")).toMatchObject({ phase: "Completed" })
          expect((yield* Client.get(Backup, { namespace, name: "blue" })).status).toMatchObject({
            phase: "Completed",
            maintenance: { last: { reason: "Succeeded" } }
          })
          expect((yield* Virtual.status("red")).maintenance?.last?.reason).toBe("Succeeded")
        })
    )
  }
})

Virtual.test("If two managers look at the same time, the one with the older Job starts it", (world) =>
  Effect.gen(function* () {
    yield* prepare
    const both = yield* managers(world)
    world.movers((mover) => PretendedMover.succeeds(mover, "2 minutes"))
    for (const manager of both) {
      manager.cut(({ path }) => (path.includes("resourceVersionMatch=Exact") ? "late" : "pass"))
    }
    yield* create("red")
    // The watches of blue deliver the Job of red, but only after blue has decided.
    yield* create("blue", other)
    yield* world.pass("20 seconds")
    expect(world.begun()).toHaveLength(1)
    yield* world.pass("20 minutes")
    for (const [name, namespace] of [
      ["red", Virtual.namespace],
      ["blue", other]
    ] as const) {
      const { status } = yield* Client.get(Backup, { namespace, name })
      expect(status).toMatchObject({ phase: "Completed" })
    }
  })
)

const patches = (manager: VirtualManager.VirtualManager) =>
  manager.sent.filter(({ method, path }) => method === "PATCH" && path.includes("/jobs/")).length

Virtual.test("A manager that cannot look up which Job is older starts none, and retries", (world) =>
  Effect.gen(function* () {
    yield* prepare
    const [red] = yield* managers(world)
    let left = 1
    red.cut(({ path }) => (path.includes("resourceVersionMatch=Exact") && left-- > 0 ? "silent" : "pass"))
    yield* create("red")
    yield* world.pass("10 seconds")
    expect([yield* Virtual.jobs, world.begun()].map(({ length }) => length)).toEqual([1, 0])
    yield* world.pass("5 minutes")
    expect(yield* Virtual.status("red")).toMatchObject({ phase: "Completed" })
    // One patch for the first run, and one for its maintenance.
    expect(patches(red)).toBe(2)
  })
)

Virtual.test(
  "A Job that a killed manager left suspended fails its run after the start timeout, and the next one succeeds",
  (world) =>
    Effect.gen(function* () {
      yield* prepare
      const red = yield* world.manage({ labelSelector: "team=red" })
      red.cut(({ path }) => (path.includes("resourceVersionMatch=Exact") ? "silent" : "pass"))
      yield* create("red")
      yield* world.pass("1 second")
      yield* red.kill
      yield* world.manage({ labelSelector: "team=red" })
      yield* world.pass("9 minutes")
      expect(yield* Virtual.status("red")).toMatchObject({ phase: "Running" })
      yield* world.pass("10 minutes")
      expect(world.begun().length).toBeGreaterThan(0)
      expect(yield* Virtual.status("red")).toMatchObject({ phase: "Completed", lastRun: { trigger: "retry" } })
    })
)

Virtual.test("The only manager starts its Jobs at once", (world) =>
  Effect.gen(function* () {
    yield* prepare
    const manager = yield* world.manage()
    yield* create("red")
    yield* world.pass("5 minutes")
    expect(yield* Virtual.status("red")).toMatchObject({ phase: "Completed", maintenance: { failures: 0 } })
    expect(patches(manager)).toBe(0)
  })
)

Virtual.test("A manager that dies before it starts the clean-up leaves it to the next one", (world) =>
  Effect.gen(function* () {
    yield* prepare
    const red = yield* world.manage({ labelSelector: "team=red" })
    yield* create("red")
    yield* world.pass("5 minutes")
    yield* Virtual.change("red", { spec: { deletionPolicy: "Delete" } })
    red.cut(({ method, path }) => (method === "PATCH" && path.includes("/jobs/") ? "silent" : "pass"))
    yield* Client.delete(Backup, Virtual.key("red"))
    yield* world.pass("10 seconds")
    yield* red.kill
    expect((yield* Virtual.jobs).map(({ spec }) => spec?.suspend)).toEqual([true])
    yield* world.manage({ labelSelector: "team=red" })
    yield* world.pass("15 minutes")
    expect(yield* Effect.result(Virtual.get("red"))).toMatchObject({ _tag: "Failure", failure: { _tag: "NotFound" } })
    expect(world.begun().at(-1)?.operations).toEqual(["preflight", "delete"])
  })
)
