/** J. Custom resource definitions. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import * as Converter from "./Converter.ts"
import * as Definitions from "./Definitions.ts"
import { refused } from "./Refusal.ts"

const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }

const versions = (second: Json.JsonObject = {}): ReadonlyArray<Json.JsonObject> => [
  { name: "v1", served: true, storage: true, schema },
  { name: "v2", served: true, storage: false, schema, ...second }
]

/** The conditions of a CRD, one line each. */
const conditions = (definition: Json.Json | undefined): ReadonlyArray<string> =>
  Json.objects(Json.at(definition, "status", "conditions")).map(
    ({ message, reason, status, type }) => `${type} ${status} ${reason}: ${message}`
  )

describe.concurrent("J. Definitions", () => {
  conformance(116, "a conversion webhook converts objects that a client reads, and its failure is 500", {}, (scene) =>
    Effect.gen(function* () {
      const converter = yield* Converter.start
      const { clientConfig } = converter
      const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig } }
      const things = yield* Definitions.install(scene, { versions: versions(), conversion })
      const v2 = Definitions.of(scene, things.group, "v2")
      yield* Definitions.served(scene, v2.path())
      const asked = () => converter.reviews.length
      yield* things.create("a", { spec: { a: 1 } })
      yield* things.create("b", { spec: { a: 2 } })
      const before = asked()
      const read = yield* scene.done("GET", v2.path("a"))
      expect(asked()).toBeGreaterThan(before)
      const to = `to ${things.group}/v2`
      expect(read).toMatchObject({ apiVersion: `${things.group}/v2`, spec: { a: 1, converted: to } })
      const reviews = converter.reviews.map(({ apiVersion, kind, request }) => ({
        apiVersion,
        kind,
        desired: Json.at(request, "desiredAPIVersion"),
        sent: Json.objects(Json.at(request, "objects")).map((object) => object.apiVersion)
      }))
      expect(reviews).toContainEqual({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "ConversionReview",
        desired: `${things.group}/v2`,
        sent: [`${things.group}/v1`]
      })
      const listed = yield* scene.done("GET", v2.path())
      expect(Json.objects(listed.items).map(({ spec }) => spec)).toEqual([
        { a: 1, converted: to },
        { a: 2, converted: to }
      ])
      converter.fail("not today")
      const failed = yield* scene.request("GET", v2.path("a"))
      expect(failed.status).toBe(500)
      expect(failed.body).toMatchObject({
        reason: "InternalError",
        message: expect.stringContaining(`conversion webhook for ${things.group}/v1, Kind=Thing failed: not today`)
      })
    })
  )

  conformance(117, "a definition whose names another one has is not established", {}, (scene) =>
    Effect.gen(function* () {
      const things = yield* Definitions.install(scene)
      const conflict = (names: Json.JsonObject, expected: string) =>
        Effect.gen(function* () {
          const name = `${names.plural}.${things.group}`
          yield* Effect.addFinalizer(() => Effect.ignore(scene.request("DELETE", `${Definitions.path}/${name}`)))
          const definition = Definitions.definition(things.group, { names })
          yield* scene.done("POST", Definitions.path, { json: { ...definition, metadata: { name } } })
          yield* eventually(
            Effect.map(scene.done("GET", `${Definitions.path}/${name}`), (made) =>
              expect(conditions(made)).toEqual([
                `NamesAccepted False ${expected} is already in use`,
                "Established False NotAccepted: not all names are accepted"
              ])
            )
          )
        })
      yield* conflict({ plural: "others", kind: "Thing", listKind: "OtherList" }, 'KindConflict: "Thing"')
      yield* conflict({ plural: "thing", kind: "Third" }, 'PluralConflict: "thing"')
    })
  )

  conformance(118, "the deletion of a definition deletes its objects, and the server refuses new ones", {}, (scene) =>
    Effect.gen(function* () {
      const things = yield* Definitions.install(scene)
      const own = `${Definitions.path}/things.${things.group}`
      yield* things.create("free")
      yield* things.create("kept", { metadata: { finalizers: ["example.com/f"] } })
      const answer = yield* scene.request("DELETE", own)
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({
        kind: "CustomResourceDefinition",
        metadata: { finalizers: ["customresourcecleanup.apiextensions.k8s.io"], deletionTimestamp: expect.any(String) }
      })
      yield* eventually(
        Effect.map(scene.done("GET", own), (made) =>
          expect(conditions(made)).toContain(
            "Terminating True InstanceDeletionInProgress: CustomResource deletion is in progress"
          )
        )
      )
      yield* eventually(
        Effect.gen(function* () {
          const post = yield* scene.request("POST", `${things.path()}?dryRun=All`, { json: things.thing("new") })
          refused(
            post,
            403,
            "Forbidden",
            `things.${things.group} "new" is forbidden: create not allowed while custom resource definition is terminating`,
            { name: "new", group: things.group, kind: "things" }
          )
        })
      )
      yield* eventually(Effect.map(scene.request("GET", things.path("free")), ({ status }) => expect(status).toBe(404)))
      yield* scene.done("PATCH", things.path("kept"), {
        json: { metadata: { finalizers: null } },
        contentType: "application/merge-patch+json"
      })
      yield* eventually(
        Effect.map(scene.request("GET", things.path()), ({ text }) => expect(text).toBe("404 page not found\n"))
      )
      expect((yield* scene.request("GET", own)).status).toBe(404)
    })
  )
})
