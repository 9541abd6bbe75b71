/** K. Built-in kinds. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { refused } from "./Refusal.ts"

describe.concurrent("K. Built-in kinds", () => {
  conformance(123, "the server answers reviews and does not store them", {}, (scene) =>
    Effect.gen(function* () {
      const root = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
      const review = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb: "get", resource: "pods", namespace: scene.namespace } }
      }
      const answer = yield* scene.request("POST", root, { json: review })
      expect(answer.status).toBe(201)
      expect(answer.body).toMatchObject({ kind: "SelfSubjectAccessReview", status: { allowed: true } })
      expect(answer.body).not.toHaveProperty("metadata.uid")
      refused(
        yield* scene.request("GET", root),
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {}
      )
      const self = yield* scene.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        json: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
      })
      expect(self.status).toBe(201)
      expect(Json.at(self.body, "status", "userInfo", "username")).toEqual(expect.any(String))
    })
  )

  conformance(128, "the server refuses to delete the system namespaces", {}, (scene) =>
    Effect.gen(function* () {
      for (const name of ["default", "kube-system"]) {
        expect(yield* scene.done("GET", `/api/v1/namespaces/${name}`)).toMatchObject({
          metadata: { labels: { "kubernetes.io/metadata.name": name } },
          spec: { finalizers: ["kubernetes"] },
          status: { phase: "Active" }
        })
        refused(
          yield* scene.request("DELETE", `/api/v1/namespaces/${name}`),
          403,
          "Forbidden",
          `namespaces "${name}" is forbidden: this namespace may not be deleted`,
          { name, kind: "namespaces" }
        )
      }
    })
  )
})
