/** Versions and errors of AdmissionReviews. Every API server handles them in the same way. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Scene from "../conformance/Scene.ts"
import * as Hooks from "./Hooks.ts"
import recorded from "./reviews.json"
import * as Webhook from "./Webhook.ts"

const kinds = { mutating: "MutatingWebhookConfiguration", validating: "ValidatingWebhookConfiguration" } as const
const uid = /"[0-9a-f]{8}-[0-9a-f-]{27}"/g

describe.concurrent("AdmissionReviews", () => {
  for (const version of ["v1", "v1beta1"] as const) {
    Shared.cluster(`the answers to a review of ${version}`, (cluster) =>
      Effect.gen(function* () {
        const scene = yield* Scene.make(cluster)
        const webhook = yield* Webhook.start(Hooks.answering((review) => Hooks.allowed(review)))
        const maps = scene.path("configmaps")
        for (const kind of ["mutating", "validating"] as const) {
          const selector = { matchLabels: { kind } }
          yield* Hooks.install(scene, webhook, kinds[kind], [
            Hooks.hook(kind, webhook.at(`/${kind}`), [Hooks.rule("configmaps", "CREATE")], {
              objectSelector: selector,
              sideEffects: kind === "mutating" ? "None" : "NoneOnDryRun",
              admissionReviewVersions: ["v9", version, version === "v1" ? "v1beta1" : "v1"]
            })
          ])
        }
        const patch = Buffer.from(JSON.stringify([{ op: "add", path: "/data", value: { a: "b" } }])).toString("base64")
        const outcomes: Array<string> = []
        for (const [name, answer] of Object.entries(answers(patch))) {
          for (const kind of ["mutating", "validating"]) {
            webhook.answer(Hooks.answering(answer))
            const { body, status } = yield* scene.request("POST", `${maps}?dryRun=All`, {
              json: Hooks.configMap("m", { metadata: { labels: { kind } } })
            })
            const message = status === 201 ? JSON.stringify(Json.at(body, "data")) : Json.at(body, "message")
            const short = String(message)
              .replaceAll(uid, "UID")
              .replaceAll(".example.com", "")
              .replace("Internal error occurred: failed calling webhook ", "")
            outcomes.push(`${kind} ${name}: ${status} ${short}`)
          }
        }
        // The file holds the outcomes of a kube-apiserver.
        expect(outcomes.toSorted()).toEqual(recorded[version].toSorted())
        for (const { apiVersion, kind, request } of webhook.reviews) {
          expect([apiVersion, kind, Json.at(request, "dryRun")]).toEqual([
            `admission.k8s.io/${version}`,
            "AdmissionReview",
            true
          ])
        }
      })
    )
  }
})

const raw =
  (text: string, type = "application/json") =>
  () =>
    new Response(text, { headers: { "content-type": type } })

const answers = (patch: string): { readonly [name: string]: Webhook.Answer } => ({
  allowed: (review) => Hooks.allowed(review),
  patch: (review) => Hooks.allowed(review, { patch, patchType: "JSONPatch" }),
  "patch without type": (review) => Hooks.allowed(review, { patch }),
  "type without patch": (review) => Hooks.allowed(review, { patchType: "JSONPatch" }),
  "empty type": (review) => Hooks.allowed(review, { patch, patchType: "" }),
  "other type": (review) => Hooks.allowed(review, { patch, patchType: "Other" }),
  "other uid": (review) => Hooks.allowed(review, { uid: "other" }),
  v1: (review) => ({ ...Hooks.allowed(review), apiVersion: "admission.k8s.io/v1" }),
  v1beta1: (review) => ({ ...Hooks.allowed(review), apiVersion: "admission.k8s.io/v1beta1" }),
  v2: (review) => ({ ...Hooks.allowed(review), apiVersion: "admission.k8s.io/v2" }),
  "other group": (review) => ({ ...Hooks.allowed(review), apiVersion: "v1", kind: "Pod" }),
  "no version": (review) => ({ kind: "AdmissionReview", response: Hooks.allowed(review).response }),
  "no kind": (review) => ({ apiVersion: review.apiVersion ?? "", response: Hooks.allowed(review).response }),
  neither: (review) => ({ response: Hooks.allowed(review).response }),
  "no response": ({ apiVersion, kind }) => ({ apiVersion: apiVersion ?? "", kind: kind ?? "" }),
  "response null": ({ apiVersion, kind }) => ({ apiVersion: apiVersion ?? "", kind: kind ?? "", response: null }),
  "response text": ({ apiVersion, kind }) => ({ apiVersion: apiVersion ?? "", kind: kind ?? "", response: "yes" }),
  "allowed text": (review) => Hooks.allowed(review, { allowed: "true" }),
  "allowed absent": ({ apiVersion, kind, request }) => ({
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    response: { uid: Json.at(request, "uid") ?? "" }
  }),
  "warnings text": (review) => Hooks.allowed(review, { warnings: "a" }),
  "warnings numbers": (review) => Hooks.allowed(review, { warnings: [1] }),
  "patch no base64": (review) => Hooks.allowed(review, { patch: "?", patchType: "JSONPatch" }),
  "patch no json": (review) => Hooks.allowed(review, { patch: "YQ==", patchType: "JSONPatch" }),
  "patch object": (review) => Hooks.allowed(review, { patch: "e30=", patchType: "JSONPatch" }),
  "patch empty": (review) => Hooks.allowed(review, { patch: "W10=", patchType: "JSONPatch" }),
  "status text": (review) => Hooks.allowed(review, { allowed: false, status: "no" }),
  "status code text": (review) => Hooks.allowed(review, { allowed: false, status: { code: "no" } }),
  "status success": (review) =>
    Hooks.allowed(review, { allowed: false, status: { code: 200, status: "Success", message: "m" } }),
  "annotations numbers": (review) => Hooks.allowed(review, { auditAnnotations: { a: 1 } }),
  "unknown field": (review) => Hooks.allowed(review, { unknown: 1 }),
  empty: raw(""),
  null: raw("null"),
  list: raw("[]"),
  string: raw('"a"'),
  "no json": raw("nope"),
  "half json": raw('{"apiVersion":'),
  html: raw("<html></html>", "text/html"),
  "200 status": raw('{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","code":500}'),
  "400": () => new Response("bad", { status: 400 }),
  "401": () => new Response("bad", { status: 401 }),
  "403": () => new Response("bad", { status: 403 }),
  "404": () => new Response("bad", { status: 404 }),
  "409": () => new Response("bad", { status: 409 }),
  "413": () => new Response("bad", { status: 413 }),
  "415": () => new Response("bad", { status: 415 }),
  "422": () => new Response("bad", { status: 422 }),
  "429": () => new Response("bad", { status: 429 }),
  "500": () => new Response("bad", { status: 500 }),
  "502": () => new Response("bad", { status: 502 }),
  "504": () => new Response("bad", { status: 504 }),
  "status 500": () =>
    Response.json(
      { kind: "Status", apiVersion: "v1", status: "Failure", message: "from the status", code: 500 },
      { status: 500 }
    )
})
