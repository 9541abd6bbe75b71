/** One request to a real server and to our modules, and the answers in a form in which they can be compared. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"

/** Where definitions are. */
export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** Sends JSON, and reads the answer. */
export const send = (cluster: ControlPlane, method: string, path: string, body?: Json.JsonObject) =>
  cluster.request(method, path, { body }).pipe(
    Effect.map((answer) => Json.object(JSON.parse(answer.body))),
    Effect.orDie
  )

/** Sends each of a table, a few at a time. */
export const each = <A, B>(
  table: ReadonlyArray<A>,
  ask: (one: A) => Effect.Effect<B>
): Effect.Effect<ReadonlyArray<B>> => Effect.forEach(table, ask, { concurrency: 8 })

/**
 * What is compared of an answer: of a Status the code and the causes, whose order a real server throws dice for, and the
 * message where there is one cause at most; of an object what the client and the schema have made of it.
 */
export const comparable = (body: Json.JsonObject): Json.Json => {
  if (body.kind !== "Status") return sorted({ ...body, metadata: metadata(Json.object(body.metadata)) })
  const causes = Json.objects(Json.at(body, "details", "causes")).map(
    ({ field, message, reason }) => `${reason} ${field}: ${message}`
  )
  return {
    code: body.code ?? null,
    causes: causes.sort(),
    message: causes.length > 1 ? "" : (body.message ?? null)
  }
}

/** Whether it was taken, and of a refusal what is compared. */
export const verdict = (body: Json.JsonObject): Json.Json => (body.kind === "Status" ? comparable(body) : "taken")

/** Up to where the compilers of expressions choose their own words. */
export const withoutCompiler = (value: Json.Json): Json.Json =>
  JSON.parse(JSON.stringify(value).replace(/(compilation failed: ERROR: <input>:).*?"/g, '$1"'))

const metadata = (read: Json.JsonObject): Json.JsonObject => {
  const { creationTimestamp: _1, managedFields: _2, namespace: _3, resourceVersion: _4, uid: _5, ...rest } = read
  return rest
}

const sorted = (value: Json.Json): Json.Json => {
  if (Json.isList(value)) return value.map(sorted)
  if (!Json.isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] ?? null)])
  )
}
