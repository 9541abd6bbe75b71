/** Another manager sets a field of a child that excludes a field of the controller: drift like any other. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Drift from "@homeostat/runtime/controller/Drift"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Lane from "@homeostat/testkit/Lane"
import * as Shared from "@homeostat/testkit/Shared"
import { Clock, Effect, Option, Result as Outcome, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Table from "./Table.ts"

/** Cluster-scoped, so that it can own children of all kinds. */
const Keeper = CustomResource.make({
  group: "suites.homeostat.dev",
  version: "v1",
  kind: "Keeper",
  scope: "Cluster",
  spec: Schema.Struct({ row: Schema.Int })
})

const adoptAnnotation = "suites.homeostat.dev/adopt"

/** The API server keeps the sibling where it means nothing. */
const accepted: ReadonlyArray<string> = [
  "DaemonSet spec.updateStrategy type → type,rollingUpdate",
  "Service spec type → type,externalName"
]

const other = { fieldManager: "other" }

const keeps = (namespace: string) =>
  Controller.make("keepers", {
    for: Keeper,
    owns: Table.kinds,
    reconcile: (keeper) => {
      const { intent, kind } = Table.rows[keeper.spec.row] ?? expect.unreachable("no such row")
      const metadata = { name: keeper.metadata.name, ...(kind.namespaced && { namespace }) }
      return Effect.as(Owned.apply(keeper, kind, { ...intent, metadata } as never, { adoptAnnotation }), Result.done)
    }
  })

/** The struct with the union in an object, and its JSON pointer. */
const structOf = (object: object, { steps }: Table.Row) => {
  let value: Drift.Json | undefined = Drift.json(object)
  let pointer = ""
  for (const step of steps) {
    if (typeof step === "string") {
      value = Drift.isRecord(value) ? value[step] : undefined
      pointer += `/${step}`
    } else {
      const items: ReadonlyArray<Drift.Json> = Array.isArray(value) ? value : []
      const at = items.findIndex((item) => Drift.isRecord(item) && item.name === step.name)
      value = items[at]
      pointer += `/${at}`
    }
  }
  return { fields: Drift.isRecord(value) ? value : {}, pointer }
}

/** The patch with which another manager replaces the fields of the controller by its own. */
const rivalry = (object: object, row: Table.Row) => {
  const { fields, pointer } = structOf(object, row)
  const removed = Object.keys(row.own).filter(
    (name) => fields[name] !== undefined && (row.rival[name] ?? null) === null
  )
  return Patch.json([
    ...removed.map((name) => ({ op: "remove" as const, path: `${pointer}/${name}` })),
    ...Object.entries(row.rival).flatMap(([name, value]) =>
      value === null ? [] : [{ op: "add" as const, path: `${pointer}/${name}`, value }]
    )
  ])
}

/** Whether an object has the fields of the controller, and none of the siblings. The API server drops `false`. */
const isRepaired = (object: KubernetesObject, row: Table.Row): boolean => {
  const { fields } = structOf(object, row)
  const siblings = Object.keys(row.rival).filter((name) => row.own[name] === undefined && row.rival[name] !== null)
  return (
    Drift.missing(row.intent as Drift.Json, Drift.json(object)).every(({ have, want }) => !have && !want) &&
    siblings.every((name) => !Drift.equal(fields[name], row.rival[name]))
  )
}

/** The answers of the API server to a manager that refuse a request. */
const refusals = (manager: Managed.Managed): ReadonlyArray<string> =>
  manager
    .attempts()
    .flatMap(({ exchanges, key }) =>
      exchanges.flatMap(({ error, status = 0 }) => (status === 400 || status === 422 ? [`${key}: ${error}`] : []))
    )

const failures = (manager: Managed.Managed): ReadonlyArray<string> =>
  manager.attempts().flatMap(({ key, outcome }) => (outcome._tag === "Done" ? [] : [`${key}: ${outcome._tag}`]))

const concurrency = 6

const timeoutMillis = 600_000

interface Place {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly manager: Managed.Managed
}

const managed = (name: string, body: (place: Place) => Effect.Effect<void, unknown, Client.Client>) =>
  Shared.cluster(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Keeper))
        const namespace = yield* cluster.namespace("unions")
        const manager = yield* Managed.start(cluster, [keeps(namespace)], { namespaces: [namespace] })
        yield* Effect.provide(body({ cluster, namespace, manager }), yield* Managed.client(cluster))
        expect(refusals(manager)).toEqual([])
        expect(failures(manager)).toEqual([])
      }),
    { timeoutMillis }
  )

/** Runs a check for each row, and returns the complaints. */
const complaints = (
  rows: ReadonlyArray<Table.Row>,
  check: (row: Table.Row, at: number) => Effect.Effect<string | undefined, unknown, Client.Client>
) =>
  Effect.map(
    Effect.forEach(
      rows,
      (row) =>
        check(row, Table.rows.indexOf(row)).pipe(
          Effect.catch((error) => Effect.succeed(error instanceof Error ? error.message : String(error))),
          Effect.map((complaint) => (complaint === undefined ? [] : [`${row.name}: ${complaint}`]))
        ),
      { concurrency }
    ),
    (found) => found.flat()
  )

describe("A field of another manager that excludes a field of the controller", () => {
  managed("is removed within 2 seconds without an error, in each union of each built-in kind", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const found = yield* complaints(Table.rows, (row, at) =>
        Effect.gen(function* () {
          const name = `${namespace}-${at}`
          const key = { name, namespace: row.kind.namespaced ? namespace : undefined }
          const read = Client.get(row.kind, key)
          yield* Client.create(Keeper, { metadata: { name }, spec: { row: at } })
          const child = yield* Managed.eventually("the child", Effect.option(read), Option.isSome)
          const rivalled = yield* Client.patch(row.kind, key, rivalry(Option.getOrThrow(child), row), other)
          const begun = yield* Clock.currentTimeMillis
          if (isRepaired(rivalled, row)) return "the API server drops the sibling"
          yield* Managed.eventually("the repair", read, (object) => isRepaired(object, row))
          const took = (yield* Clock.currentTimeMillis) - begun
          return took > 2000 ? `took ${took} ms` : undefined
        })
      )
      expect(found).toEqual([])
    })
  )

  managed("does not prevent an adoption, and is refused beside the field", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const found = yield* complaints(Table.rows, (row, at) =>
        Effect.gen(function* () {
          const name = `${namespace}-${at}`
          const key = { name, namespace: row.kind.namespaced ? namespace : undefined }
          const metadata = { ...key, annotations: { [adoptAnnotation]: "true" } }
          yield* Client.create(row.kind, { ...row.foreign, metadata } as never, other)
          const both = yield* Effect.result(
            Client.apply(row.kind, { ...row.intent, metadata: key } as never, { force: true, dryRun: true, ...other })
          )
          yield* Client.create(Keeper, { metadata: { name }, spec: { row: at } })
          yield* Managed.eventually("the adoption", Client.get(row.kind, key), (object) => isRepaired(object, row))
          // The embedded API server does not know all unions.
          const isKnown = Lane.current === "real" && Table.unions.includes(row) && !accepted.includes(row.name)
          return isKnown && Outcome.isSuccess(both) ? "the API server accepts both" : undefined
        })
      )
      expect(found).toEqual([])
    })
  )
})
