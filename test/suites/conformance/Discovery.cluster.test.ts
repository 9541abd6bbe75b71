/** A. What is served, in which shapes, and what is said about it. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import { refused } from "./Refusal.ts"
import { revision, type Scene, webapp } from "./Scene.ts"

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** The member of a list that is called so. */
const named = (list: Json.Json | undefined, name: string, member = "name"): Json.JsonObject =>
  Json.objects(list).find((item) => item[member] === name) ?? {}

const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

describe.concurrent("A. Discovery and negotiation", () => {
  conformance(1, "GET /apis as aggregated discovery tells of kinds and subresources", { starred: true }, (scene) =>
    eventually(
      Effect.gen(function* () {
        const answer = yield* scene.request("GET", "/apis", { accept: aggregated })
        expect(answer.status).toBe(200)
        expect(answer.headers.get("content-type")).toBe(aggregated)
        expect(answer.headers.get("etag")).toMatch(/^"[0-9A-F]+"$/)
        expect(answer.body).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" })
        const group = Json.objects(Json.at(answer.body, "items")).find(
          (item) => Json.at(item, "metadata", "name") === "example.com"
        )
        const version = named(group?.versions, "v1", "version")
        expect(version.freshness).toBe("Current")
        expect(named(version.resources, "webapps", "resource")).toEqual({
          resource: "webapps",
          responseKind: { group: "example.com", version: "v1", kind: "WebApp" },
          scope: "Namespaced",
          singularResource: "webapp",
          verbs,
          shortNames: ["wa"],
          categories: ["all"],
          subresources: [
            {
              subresource: "status",
              responseKind: { group: "example.com", version: "v1", kind: "WebApp" },
              verbs: ["get", "patch", "update"]
            },
            {
              subresource: "scale",
              responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
              verbs: ["get", "patch", "update"]
            }
          ]
        })
        const again = yield* scene.request("GET", "/apis", {
          accept: aggregated,
          headers: { "if-none-match": answer.headers.get("etag") ?? "" }
        })
        expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: "" })
      })
    )
  )

  conformance(2, "GET /apis as plain JSON, or as the v2beta1 that is gone, is the list of groups", {}, (scene) =>
    eventually(
      Effect.gen(function* () {
        for (const accept of ["application/json", aggregated.replace("v=v2", "v=v2beta1")]) {
          const answer = yield* scene.request("GET", "/apis", { accept: `${accept},application/json` })
          expect(answer.headers.get("content-type")).toBe("application/json")
          expect(answer.body).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" })
          const version = { groupVersion: "example.com/v1", version: "v1" }
          expect(named(Json.at(answer.body, "groups"), "example.com")).toEqual({
            name: "example.com",
            versions: [version],
            preferredVersion: version
          })
        }
      })
    )
  )

  conformance(3, "GET of a group version is the list of its resources and subresources", {}, (scene) =>
    eventually(
      Effect.gen(function* () {
        const { body } = yield* scene.request("GET", "/apis/example.com/v1")
        expect(body).toMatchObject({ kind: "APIResourceList", apiVersion: "v1", groupVersion: "example.com/v1" })
        const resources = Json.at(body, "resources")
        expect(named(resources, "webapps")).toEqual({
          name: "webapps",
          singularName: "webapp",
          namespaced: true,
          kind: "WebApp",
          verbs,
          shortNames: ["wa"],
          categories: ["all"],
          storageVersionHash: expect.stringMatching(/^[A-Za-z0-9+/]{11}=$/)
        })
        const subresource = { singularName: "", namespaced: true, verbs: ["get", "patch", "update"] }
        expect(named(resources, "webapps/status")).toEqual({ ...subresource, name: "webapps/status", kind: "WebApp" })
        expect(named(resources, "webapps/scale")).toEqual({
          ...subresource,
          name: "webapps/scale",
          group: "autoscaling",
          version: "v1",
          kind: "Scale"
        })
      })
    )
  )

  conformance(4, "a version that is not served and a path that is nothing are a 404 in plain text", {}, (scene) =>
    Effect.gen(function* () {
      for (const path of ["/apis/example.com/v9/webapps", "/nope", "/apis/example.com/v1/nothings"]) {
        const answer = yield* scene.request("GET", path)
        expect({ path, status: answer.status, text: answer.text }).toEqual({
          path,
          status: 404,
          text: "404 page not found\n"
        })
        expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8")
      }
    })
  )

  conformance(5, "the index of OpenAPI v3 names documents by their hash, which may be cached for ever", {}, (scene) =>
    eventually(
      Effect.gen(function* () {
        const path = yield* openApiPath(scene)
        expect(path).toMatch(/^\/openapi\/v3\/apis\/example.com\/v1\?hash=[0-9A-F]{128}$/)
        const right = yield* scene.request("GET", path)
        expect(right.status).toBe(200)
        expect(right.headers.get("cache-control")).toBe("public, immutable")
        expect(right.headers.get("etag")).toBe(`"${path.split("=")[1]}"`)
        const wrong = yield* scene.request("GET", "/openapi/v3/apis/example.com/v1?hash=ABC")
        expect(wrong.status).toBe(301)
        expect(wrong.headers.get("location")).toBe(path)
      })
    )
  )

  conformance(6, "the OpenAPI document of a custom kind has what kubectl asks it for", {}, (scene) =>
    eventually(
      Effect.gen(function* () {
        const { body } = yield* scene.request("GET", yield* openApiPath(scene))
        const patch = Json.at(body, "paths", "/apis/example.com/v1/namespaces/{namespace}/webapps/{name}", "patch")
        const kind = { group: "example.com", version: "v1", kind: "WebApp" }
        expect(patch).toMatchObject({ "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind })
        expect(named(Json.at(patch, "parameters"), "fieldValidation")).toMatchObject({ in: "query" })
        const schema = Json.at(body, "components", "schemas", "com.example.v1.WebApp")
        expect(schema).toMatchObject({ "x-kubernetes-group-version-kind": [kind] })
        expect(Json.at(schema, "properties", "spec", "properties", "tags")).toMatchObject({
          type: "array",
          "x-kubernetes-list-type": "set"
        })
      })
    )
  )

  conformance(7, "a body of an unknown media type is refused, naming those that are accepted", {}, (scene) =>
    Effect.gen(function* () {
      const answer = yield* scene.request("POST", scene.webapps(), { json: webapp("w"), contentType: "text/plain" })
      refused(
        answer,
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
      )
    })
  )

  conformance(8, "an answer in an unknown media type can't be had", {}, (scene) =>
    Effect.gen(function* () {
      const answer = yield* scene.request("GET", scene.webapps(), { accept: "application/foo" })
      refused(
        answer,
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
      )
    })
  )

  conformance(9, "objects go in and out as YAML", {}, (scene) =>
    Effect.gen(function* () {
      const sent = "apiVersion: example.com/v1\nkind: WebApp\nmetadata: {name: w}\nspec:\n  image: a\n"
      const made = yield* scene.request("POST", scene.webapps(), { body: sent, contentType: "application/yaml" })
      expect(made.status).toBe(201)
      expect(made.body).toMatchObject({ kind: "WebApp", spec: { image: "a", replicas: 1 } })
      const read = yield* scene.request("GET", scene.webapps("w"), { accept: "application/yaml" })
      expect(read.headers.get("content-type")).toBe("application/yaml")
      expect(Bun.YAML.parse(read.text)).toEqual(made.body)
    })
  )
})

const table = (more = "") => `application/json;as=Table;v=v1;g=meta.k8s.io${more}`

describe.concurrent("A. Tables and metadata", () => {
  conformance(10, "LIST as a Table has the kind's columns and a row for each object", { starred: true }, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: { replicas: 2, image: "a" } })
      const { body } = yield* scene.request("GET", scene.webapps(), { accept: table() })
      expect(body).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" })
      revision(body)
      expect(Json.at(body, "columnDefinitions")).toEqual([
        {
          name: "Name",
          type: "string",
          format: "name",
          description: expect.stringMatching(/^Name must be unique within a namespace\. /),
          priority: 0
        },
        { name: "Replicas", type: "integer", format: "", description: "How many there shall be", priority: 0 },
        { name: "Image", type: "string", format: "", description: columnOf(".spec.image"), priority: 1 },
        { name: "Started", type: "date", format: "", description: columnOf(".spec.startedAt"), priority: 0 },
        { name: "Number", type: "integer", format: "", description: columnOf(".spec.color"), priority: 0 }
      ])
      const rows = Json.objects(Json.at(body, "rows"))
      expect(rows.map(({ cells }) => cells)).toEqual([["w", 2, "a", null, null]])
      expect(rows[0]?.object).toMatchObject({
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { name: "w", namespace: scene.namespace }
      })
      expect(Json.at(rows[0]?.object, "spec")).toBeUndefined()
    })
  )

  conformance(11, "a cell is null where there is no value or one of another type, and an age for a date", {}, (scene) =>
    Effect.gen(function* () {
      const startedAt = new Date(Date.now() - 300_500).toISOString()
      yield* scene.create("a", { spec: { startedAt, color: "red" } })
      yield* scene.create("b", { spec: { color: "7" } })
      const { body } = yield* scene.request("GET", scene.webapps(), { accept: table() })
      const cells = Json.objects(Json.at(body, "rows")).map(({ cells }) => Json.list(cells))
      expect(cells[0]).toEqual(["a", 1, null, expect.stringMatching(/^5m\d*s?$/), null])
      expect(cells[1]).toEqual(["b", 1, null, null, null])
    })
  )

  conformance(12, "includeObject says how much of the object comes with its row", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: {} })
      const object = (include: string) =>
        Effect.map(scene.request("GET", `${scene.webapps()}?includeObject=${include}`, { accept: table() }), (answer) =>
          Json.at(Json.objects(Json.at(answer.body, "rows"))[0], "object")
        )
      expect(yield* object("None")).toBeNull()
      expect(yield* object("Object")).toMatchObject({ kind: "WebApp", spec: { replicas: 1 } })
      const bogus = yield* scene.request("GET", `${scene.webapps()}?includeObject=Bogus`, { accept: table() })
      refused(
        bogus,
        400,
        "BadRequest",
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": must be 'Metadata', 'Object', 'None', or empty"
      )
    })
  )

  conformance(13, "a list, and an object, can be had as metadata only; one can't be had as the other", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const as = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`
      const list = yield* scene.request("GET", scene.webapps(), { accept: as("PartialObjectMetadataList") })
      expect(list.body).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" })
      const item = Json.objects(Json.at(list.body, "items"))[0]
      // Its items say what they are, although those of a list of a kind with its own type do not.
      expect(Object.keys(item ?? {}).sort()).toEqual(["apiVersion", "kind", "metadata"])
      const one = yield* scene.request("GET", scene.webapps("w"), { accept: as("PartialObjectMetadata") })
      expect(Object.keys(Json.object(one.body)).sort()).toEqual(["apiVersion", "kind", "metadata"])
      expect(one.body).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "w" } })
      const wrong = yield* scene.request("GET", scene.webapps(), { accept: as("PartialObjectMetadata") })
      refused(
        wrong,
        406,
        "NotAcceptable",
        "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)"
      )
    })
  )

  conformance(14, "the version and the health are told", {}, (scene) =>
    Effect.gen(function* () {
      const version = yield* scene.request("GET", "/version")
      expect(version.body).toMatchObject({ major: "1", gitVersion: expect.stringMatching(/^v1\.\d+\./) })
      for (const path of ["/livez", "/readyz", "/healthz"]) {
        const answer = yield* scene.request("GET", path)
        expect([path, answer.status, answer.text]).toEqual([path, 200, "ok"])
      }
    })
  )
})

const openApiPath = (scene: Scene) =>
  Effect.map(scene.request("GET", "/openapi/v3"), ({ body }) => {
    const path = Json.text(Json.at(body, "paths", "apis/example.com/v1", "serverRelativeURL"))
    expect(path).toBeDefined()
    return path ?? ""
  })

/** The description of a column that has none of its own. */
const columnOf = (jsonPath: string) => `Custom resource definition column (in JSONPath format): ${jsonPath}`
