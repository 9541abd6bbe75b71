/** A. Discovery. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance, eventually } from "./Case.ts"
import type { Scene } from "./Scene.ts"

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

const named = (list: Json.Json | undefined, name: string, member = "name"): Json.JsonObject =>
  Json.objects(list).find((item) => item[member] === name) ?? {}

const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

describe.concurrent("A. Discovery and negotiation", () => {
  conformance(1, "GET /apis as aggregated discovery lists kinds and subresources", { starred: true }, (scene) =>
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

  conformance(215, "paths without objects reject a client that accepts none of their media types", {}, (scene) =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      for (const path of ["/version", "/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v2", "/healthz"]) {
        for (const accept of [
          "application/vnd.kubernetes.protobuf",
          "text/plain",
          "text/html, application/*",
          "application/yaml"
        ]) {
          const { body, status } = yield* scene.request("GET", path, { accept })
          if (status !== 200) seen.push([path, accept, status, Json.at(body, "message")])
        }
      }
      const all = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
      const none = (available: string) => `406: Not Acceptable\n\nAvailable representations: ${available}`
      const [text, range] = ["text/plain", "text/html, application/*"]
      expect(seen).toEqual([
        // The bodies in protobuf and in YAML have no JSON message.
        ["/version", "application/vnd.kubernetes.protobuf", 406, undefined],
        ["/version", text, 406, none("application/json")],
        ["/version", range, 406, none("application/json")],
        ["/version", "application/yaml", 406, undefined],
        ["/api", text, 406, none(all)],
        ["/api", range, 406, none(all)],
        ["/api/v1", text, 406, none(all)],
        ["/api/v1", range, 406, none(all)],
        ["/apis", text, 406, `only the following media types are accepted: ${all}`],
        ["/apis/apps/v1", text, 406, none(all)],
        ["/apis/apps/v1", range, 406, none(all)],
        ["/openapi/v2", "application/vnd.kubernetes.protobuf", 406, undefined],
        ["/openapi/v2", text, 406, undefined],
        ["/openapi/v2", "application/yaml", 406, undefined]
      ])
    })
  )

  conformance(2, "GET /apis as plain JSON, or as the removed v2beta1, is the list of groups", {}, (scene) =>
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

  conformance(3, "GET of a group version lists its resources and subresources", {}, (scene) =>
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

  conformance(4, "an unserved version and an unknown path are a 404 in plain text", {}, (scene) =>
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

  conformance(5, "the index of OpenAPI v3 names immutable documents by their hash", {}, (scene) =>
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

  conformance(6, "the OpenAPI document of a custom kind has the parts that kubectl reads", {}, (scene) =>
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
})

describe.concurrent("A. Tables and metadata", () => {
  conformance(14, "the server serves its version and its health", {}, (scene) =>
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
