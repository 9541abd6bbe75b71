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
import * as Shared from "@homeostat/testkit/Shared"
import { Clock, Effect, Schema } from "effect"
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
  const removed = Object.keys(row.own).filter((name) => fields[name] !== undefined && (row.rival[name] ?? null) === null)
  return Patch.json([
    ...removed.map((name) => ({ op: "remove" as const, path: `${pointer}/${name}` })),
    ...Object.entries(row.rival).flatMap(([name, value]) =>
      value === null ? [] : [{ op: "add" as const, path: `${pointer}/${name}`, value }]
    )
  ])
}

/** Whether an object has the fields of the controller, and none of the siblings. */
const isRepaired = (object: KubernetesObject, row: Table.Row): boolean => {
  const { fields } = structOf(object, row)
  const siblings = Object.keys(row.rival).filter((name) => row.own[name] === undefined && row.rival[name] !== null)
  return (
    Drift.missing(row.intent as Drift.Json, Drift.json(object)).length === 0 &&
    siblings.every((name) => fields[name] === undefined || !Drift.equal(fields[name], row.rival[name]))
  )
}

describe("A field that excludes a field of the controller", () => {
  Shared.cluster(
    "is removed within 2 seconds without an error, in each union of each built-in kind",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Keeper))
        const namespace = yield* cluster.namespace("unions")
        const manager = yield* Managed.start(cluster, [keeps(namespace)], { namespaces: [namespace] })
        const found = yield* Effect.forEach(
          Table.rows,
          (row, at) =>
            Effect.gen(function* () {
              const name = `${namespace}-${at}`
              const key = { name, namespace: row.kind.namespaced ? namespace : undefined }
              const read = Client.get(row.kind, key)
              const repaired = (what: string) => Managed.eventually(what, read, (object) => isRepaired(object, row))
              yield* Client.create(Keeper, { metadata: { name }, spec: { row: at } })
              const child = yield* Managed.eventually("the child", Effect.option(read), ({ _tag }) => _tag === "Some")
              const object = child._tag === "Some" ? child.value : expect.unreachable()
              const answer = yield* Effect.result(Client.patch(row.kind, key, rivalry(object, row), other))
              if (answer._tag === "Failure") return `${row.name}: ${answer.failure.message}`
              if (isRepaired(answer.success, row)) return `${row.name}: the API server drops it`
              const begun = yield* Clock.currentTimeMillis
              yield* repaired(row.name)
              const took = (yield* Clock.currentTimeMillis) - begun
              if (took > 2000) return `${row.name}: took ${took} ms`
              return undefined
            }).pipe(
              Effect.catch((error) => Effect.succeed(`${row.name}: ${error.message ?? error._tag}`))
            ),
          { concurrency: 6 }
        ).pipe(Effect.provide(yield* Managed.client(cluster)))
        console.log(found.filter((each) => each !== undefined).join("\n"))
        console.log(manager.attempts().flatMap(({ outcome, key }) => outcome._tag === "Done" ? [] : [JSON.stringify([key, outcome])]).slice(0, 30).join("\n"))
      }),
    { timeoutMillis: 600_000 }
  )
})
