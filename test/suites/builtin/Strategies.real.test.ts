/**
 * What the built-in kinds' strategies make of objects, right and wrong, is what a kube-apiserver makes of them.
 */
import { expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { catalogue } from "./Catalogue.ts"
import type { Entry } from "./catalogue/Entry.ts"
import * as Normal from "./Normal.ts"
import * as Ours from "./Ours.ts"

const parse = (body: string): Json.JsonObject => JSON.parse(body) as Json.JsonObject

/** Creates the object of an entry, changes it, takes it away; all answers of both, side by side. */
const compare = (cluster: ControlPlane, { name, object, steps = [] }: Entry, namespace: string) =>
  Effect.gen(function* () {
    const kind = Ours.kindOf(object)
    const collection = `/${kind.group === "" ? "api" : `apis/${kind.group}`}/${kind.version}${
      kind.namespaced ? `/namespaces/${namespace}` : ""
    }/${kind.plural}`
    const created = yield* cluster.request("POST", collection, { body: object })
    const real = parse(created.body)
    const uid = Json.text(Json.at(real, "metadata", "uid")) ?? "00000000-0000-4000-8000-000000000000"
    const then = Date.parse(Json.text(Json.at(real, "metadata", "creationTimestamp")) ?? "2026-11-20T10:00:00Z")
    const ours = Ours.create(object, namespace, uid, then)
    const answers = [{ step: name, real: Normal.of(real), ours: Normal.of(ours.body) }]
    if (created.status !== 201 || !kind.verbs.includes("get")) return answers
    const path = `${collection}/${Json.text(Json.at(object, "metadata", "name"))}`
    let live = real
    for (const [index, { change, to }] of steps.entries()) {
      const answer = yield* cluster.request("PATCH", to === undefined ? path : `${path}/${to}`, {
        body: change,
        contentType: "application/merge-patch+json"
      })
      const next = parse(answer.body)
      const changed = Ours.patch(live, change, to ?? "", then)
      answers.push({ step: `${name}, change ${index + 1}`, real: Normal.of(next), ours: Normal.of(changed.body) })
      if (answer.status === 200) live = next
    }
    yield* cluster.request("DELETE", path, { body: { gracePeriodSeconds: 0, propagationPolicy: "Background" } })
    yield* cluster.request("PATCH", path, {
      body: { metadata: { finalizers: null } },
      contentType: "application/merge-patch+json"
    })
    return answers
  })

Shared.real("what our strategies make of objects is what a kube-apiserver makes of them", (cluster) =>
  Effect.gen(function* () {
    const namespace = yield* cluster.namespace()
    const placed = JSON.parse(JSON.stringify(catalogue).replaceAll("NAMESPACE", namespace)) as ReadonlyArray<Entry>
    const answers = yield* Effect.forEach(placed, (entry) => compare(cluster, entry, namespace))
    const both = answers.flat()
    expect(Object.fromEntries(both.map(({ ours, step }) => [step, ours]))).toEqual(
      Object.fromEntries(both.map(({ real, step }) => [step, real]))
    )
  })
)
