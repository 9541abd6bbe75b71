/** K. Kinds that are built in, as far as no webhook and no authorizer is needed. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import { configMap, deployment } from "./Objects.ts"
import { type Cause, conflicts, invalid, refused } from "./Refusal.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

describe.concurrent("K. Built-in kinds", () => {
  conformance(123, "reviews are answered and not kept", {}, (scene) =>
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

  conformance(125, "secrets and config maps keep what is immutable, and secrets take text", {}, (scene) =>
    Effect.gen(function* () {
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }
      const made = yield* scene.done("POST", scene.path("secrets"), {
        json: { ...secret, data: { a: base64("1"), b: base64("2") }, stringData: { b: "3" }, immutable: true }
      })
      expect(made).toMatchObject({ type: "Opaque", data: { a: base64("1"), b: base64("3") }, immutable: true })
      expect(made).not.toHaveProperty("stringData")
      const forbidden: Cause = ["FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set"]
      const changed = yield* scene.request("PUT", scene.path("secrets", "s"), { json: { ...made, data: {} } })
      invalid(changed, { kind: "Secret", name: "s" }, forbidden)
      const map = configMap("c", { data: { a: "1" }, immutable: true })
      yield* scene.done("POST", scene.path("configmaps"), { json: map })
      const other = yield* scene.request("PUT", scene.path("configmaps", "c"), { json: { ...map, data: {} } })
      invalid(other, { kind: "ConfigMap", name: "c" }, forbidden)
    })
  )

  conformance(126, "a lease keeps microseconds, and one of two who take it loses", { starred: true }, (scene) =>
    Effect.gen(function* () {
      const renewTime = "2026-11-20T10:00:00.123456Z"
      const leases = "coordination.k8s.io/v1/leases"
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime }
      }
      const made = yield* scene.done("POST", scene.path(leases), { json: lease })
      expect(made.spec).toEqual(lease.spec)
      const take = (holderIdentity: string) =>
        scene.request("PUT", scene.path(leases, "l"), { json: { ...made, spec: { ...lease.spec, holderIdentity } } })
      expect((yield* take("b")).status).toBe(200)
      conflicts(yield* take("c"), { name: "l", group: "coordination.k8s.io", kind: "leases" })
      const none = { ...lease, metadata: { name: "m" }, spec: { leaseDurationSeconds: 0 } }
      invalid(
        yield* scene.request("POST", scene.path(leases), { json: none }),
        { kind: "Lease", group: "coordination.k8s.io", name: "m" },
        ["FieldValueInvalid", "spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0"]
      )
    })
  )

  conformance(127, "an event is one object in both of its groups", {}, (scene) =>
    Effect.gen(function* () {
      const about = { apiVersion: "example.com/v1", kind: "WebApp", name: "w", namespace: scene.namespace }
      yield* scene.done("POST", scene.path("events"), {
        json: {
          apiVersion: "v1",
          kind: "Event",
          metadata: { name: "e" },
          involvedObject: about,
          reason: "Done",
          message: "It is done",
          type: "Normal",
          count: 2,
          source: { component: "c" }
        }
      })
      const path = scene.path("events.k8s.io/v1/events", "e")
      expect(yield* scene.done("GET", path)).toMatchObject({
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        regarding: about,
        note: "It is done",
        reason: "Done",
        deprecatedCount: 2,
        deprecatedSource: { component: "c" }
      })
      const bare = yield* scene.request("POST", scene.path("events.k8s.io/v1/events"), {
        json: { apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name: "f" }, regarding: about }
      })
      // By the kind of core, which it is stored as; of what is missing, only the first is named.
      invalid(
        bare,
        { kind: "Event", name: "f" },
        ["FieldValueRequired", "eventTime", "Required value"],
        ["FieldValueInvalid", "type", 'Invalid value: "": has invalid value: ']
      )
    })
  )

  conformance(128, "the namespaces of the system are there to stay", {}, (scene) =>
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

  conformance(129, "deployments and jobs get their defaults, and jobs a selector of their own", {}, (scene) =>
    Effect.gen(function* () {
      const made = yield* scene.done("POST", scene.path("apps/v1/deployments"), { json: deployment("d") })
      expect(made.spec).toMatchObject({
        replicas: 1,
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
        template: {
          spec: {
            restartPolicy: "Always",
            terminationGracePeriodSeconds: 30,
            dnsPolicy: "ClusterFirst",
            schedulerName: "default-scheduler",
            securityContext: {},
            containers: [
              {
                name: "c",
                image: "i",
                imagePullPolicy: "Always",
                resources: {},
                terminationMessagePath: "/dev/termination-log",
                terminationMessagePolicy: "File"
              }
            ]
          }
        }
      })
      const job = yield* scene.done("POST", scene.path("batch/v1/jobs"), {
        json: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "j" },
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } }
        }
      })
      const uid = Json.at(job, "metadata", "uid") ?? ""
      const labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j"
      }
      expect(job.spec).toMatchObject({
        parallelism: 1,
        completions: 1,
        backoffLimit: 6,
        completionMode: "NonIndexed",
        suspend: false,
        selector: { matchLabels: { "batch.kubernetes.io/controller-uid": uid } },
        template: { metadata: { labels } }
      })
    })
  )
})
