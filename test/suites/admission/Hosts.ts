/** A kind in two versions that a webhook converts: `spec.host` and `spec.port` of v1 equal `spec.address` of v2. */
import * as Json from "@homeostat/apiserver/model/Json"
import * as Schema from "../comparison/Schema.ts"
import * as Definitions from "../conformance/Definitions.ts"
import type { Scene } from "../conformance/Scene.ts"
import type * as Webhook from "./Webhook.ts"

const version = (name: string, storage: boolean, properties: Json.JsonObject): Json.JsonObject => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: Schema.object({
      spec: Schema.object({ ...properties, replicas: Schema.integer }),
      status: Schema.object({ ready: Schema.integer })
    })
  },
  subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.ready" } }
})

/** The versions of the CRD, with v1 or v2 as the stored version. */
export const versions = (stored: "v1" | "v2"): ReadonlyArray<Json.JsonObject> => [
  version("v1", stored === "v1", { host: Schema.text, port: Schema.integer }),
  version("v2", stored === "v2", { address: Schema.text })
]

/** The spec of the CRD. */
export const spec = (clientConfig: Json.JsonObject, stored: "v1" | "v2" = "v1"): Json.JsonObject => ({
  versions: versions(stored),
  conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig } }
})

/** Converts an object to another version. Keeps labels and annotations, and adds both versions to the annotation `converted`. */
export const converted = (object: Json.JsonObject, apiVersion: string): Json.JsonObject => {
  const { address, host, port, ...others } = Json.object(object.spec)
  const metadata = Json.object(object.metadata)
  const [name = "", number = "0"] = (Json.text(address) ?? "").split(":")
  const made = apiVersion.endsWith("/v2")
    ? { ...others, address: `${Json.text(host) ?? ""}:${Json.number(port) ?? 0}` }
    : { ...others, host: name, port: Number(number) }
  return { ...object, apiVersion, metadata, spec: made }
}

/** Answers a ConversionReview. `change` makes the response invalid. */
export const answer =
  (change: (response: Json.JsonObject) => Json.JsonObject = (response) => response): Webhook.Answer =>
  (review) => {
    const { desiredAPIVersion, objects, uid } = Json.object(review.request)
    const convertedObjects = Json.objects(objects).map((object) =>
      converted(object, Json.text(desiredAPIVersion) ?? "")
    )
    const response = change({ uid, result: { status: "Success" }, convertedObjects })
    return { apiVersion: review.apiVersion, kind: review.kind, response }
  }

/** The requested conversions of a review: `v1 to v2`, for each object. */
export const asked = ({ request }: Json.JsonObject): ReadonlyArray<string> => {
  const short = (apiVersion: Json.Json | undefined) => String(apiVersion).replace(/^.*\//, "")
  const desired = short(Json.at(request, "desiredAPIVersion"))
  return Json.objects(Json.at(request, "objects")).map(({ apiVersion }) => `${short(apiVersion)} to ${desired}`)
}

/** The paths of both versions in a group. */
export const of = (scene: Scene, group: string) => ({
  v1: Definitions.of(scene, group, "v1"),
  v2: Definitions.of(scene, group, "v2")
})
