/** Movers in a namespace with the restricted Pod Security Standard, and the errors of a manager without a permission. */
import { describe, expect, test } from "bun:test"
import { backup, restore } from "@homeostat/backup"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Granted from "../rbac/Granted.ts"
import * as Backups from "./Backups.ts"
import * as Crd from "./Crd.ts"
import * as Pretended from "./Pretended.ts"
import * as Scene from "./Scene.ts"

const controllers = [backup, restore]

/** Enforces the restricted Pod Security Standard in the namespace, and makes the API server warn about violations. */
const restrict = ({ cluster, namespace }: Scene.Scene) =>
  cluster.request("PATCH", `/api/v1/namespaces/${namespace}`, {
    contentType: "application/merge-patch+json",
    body: {
      metadata: {
        labels: {
          "pod-security.kubernetes.io/enforce": "restricted",
          "pod-security.kubernetes.io/warn": "restricted"
        }
      }
    }
  })

/** The API server's warnings about a dry-run copy of a Job and about a copy of its pod. */
const warnings = ({ cluster, namespace }: Scene.Scene, { spec }: Job) =>
  Effect.gen(function* () {
    const metadata = { namespace, name: "again" }
    const { metadata: _, ...template } = spec?.template ?? { spec: { containers: [] } }
    const job = yield* Crd.warnings(cluster, `/apis/batch/v1/namespaces/${namespace}/jobs?dryRun=All`, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata,
      spec: { template }
    })
    const pod = yield* Crd.warnings(cluster, `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      ...template
    })
    return [job, pod]
  })

describe("In a namespace with restricted pods,", () => {
  Pretended.test("Backups, Restores and the deletion of snapshots are admitted without a warning", (scene) =>
    Effect.gen(function* () {
      yield* restrict(scene)
      const { cluster, namespace } = scene
      // The API server warns about a pod that is not restricted.
      const container = { name: "any", image: "registry.test/any:1" }
      const loose = { apiVersion: "v1", kind: "Pod", metadata: { name: "loose" }, spec: { containers: [container] } }
      expect(yield* Crd.warnings(cluster, `/api/v1/namespaces/${namespace}/pods?dryRun=All`, loose)).toMatchObject({
        status: 403
      })
      yield* Pretended.shop(scene)
      yield* Scene.claim(scene, "fresh")
      const seen = yield* Pretended.record(scene, Job)
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { deletionPolicy: "Delete", retention: { keepLast: 3 } })
      yield* Backups.completed(scene, "shop")
      yield* Backups.maintained(scene, "shop")
      yield* Backups.restoring(scene, "back")
      expect((yield* Backups.restored(scene, "back")).status).toMatchObject({ phase: "Complete" })
      yield* Client.delete(Backup, scene.key("shop"))
      yield* Managed.eventually(
        "it is gone",
        Effect.result(Backups.get(scene, "shop")),
        ({ _tag }) => _tag === "Failure"
      )

      const jobs = [...new Map(seen().map((job) => [job.metadata.name, job])).values()]
      const does = jobs.map(({ spec }) => spec?.template.spec?.containers[0]?.args?.join(" "))
      expect(does).toEqual([
        expect.stringContaining("protocol-2 preflight backup"),
        expect.stringContaining("protocol-2 preflight forget"),
        "protocol-2 preflight restore",
        "protocol-2 preflight delete"
      ])
      for (const job of jobs) {
        expect([job.metadata.name, yield* warnings(scene, job)]).toEqual([
          job.metadata.name,
          [
            { status: 201, warnings: [] },
            { status: 201, warnings: [] }
          ]
        ])
      }
    })
  )
})

Pretended.test("A Job without a pod has the reason of the Job controller in the status", (scene) =>
  Effect.gen(function* () {
    const { cluster, namespace } = scene
    yield* Pretended.shop(scene)
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" }, spec: { hard: { pods: "0" } } }
    yield* cluster.request("POST", quotas, { body: quota })
    yield* Managed.eventually(
      "the quota holds",
      cluster.request("GET", `${quotas}/none`),
      ({ body }) => JSON.parse(body).status?.hard?.pods === "0"
    )
    yield* scene.manage()
    yield* Backups.create(scene, "shop")
    yield* Backups.until(scene, "shop", "the quota is named", ({ message }) =>
      /^Job \S+ has no pod yet: .*exceeded quota: none/.test(message ?? "")
    )
    yield* cluster.request("DELETE", `${quotas}/none`)
    expect((yield* Backups.completed(scene, "shop")).status?.phase).toBe("Completed")
  })
)

describe("The generated roles of Backups", () => {
  const settings = { name: "homeostat", serviceAccount: { namespace: "system", name: "homeostat" }, installCrds: false }

  for (const [where, namespaces] of [
    ["the whole cluster", []],
    ["one namespace", ["shop"]]
  ] as const) {
    test(`for ${where} have no wildcard, and may only get Secrets`, () => {
      const rules = Rbac.objects(controllers, { ...settings, namespaces, lease: undefined }).flatMap((object) =>
        "rules" in object ? object.rules : []
      )
      expect(rules.length).toBeGreaterThan(5)
      const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs])
      expect(words.filter((word) => word.includes("*"))).toEqual([])
      const secrets = rules.filter(({ resources }) => resources.includes("secrets"))
      expect(secrets.map(({ verbs }) => verbs)).toEqual([["get"]])
    })
  }

  Pretended.test("are all necessary: the condition Ready names a missing permission until it is granted", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      const { cluster, namespace } = scene
      const account = yield* Granted.account(cluster, namespace, { namespaces: [namespace] }, controllers)
      yield* Granted.grant(account, ["get secrets"])
      yield* scene.manage(controllers, { user: account.user })
      yield* Backups.create(scene, "shop")
      const named = (right: string) =>
        Effect.map(Pretended.obstacle(scene, "shop", "Forbidden", right), (message) => {
          expect(message).toStartWith("The API server refuses ")
          expect(message).toContain(`in namespace ${namespace}`)
        })
      yield* named("requires permission to get secrets")
      const backup = yield* Backups.get(scene, "shop")
      expect(Backups.condition(backup, "Stalled")).toMatchObject({ status: "True", reason: "Forbidden" })
      yield* Granted.grant(account, ["create jobs"])
      yield* named("requires permission to create jobs.batch")
      expect(yield* Scene.jobs(scene)).toEqual([])
      yield* Granted.grant(account)
      const { status } = yield* Backups.completed(scene, "shop")
      expect(status?.conditions?.filter(({ reason }) => reason === "Forbidden")).toEqual([])
    })
  )

  Pretended.test("do not allow to list Secrets, according to the API server", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      const account = yield* Granted.account(cluster, namespace, { namespaces: [namespace] }, controllers)
      yield* Granted.grant(account)
      const can = (...words: ReadonlyArray<string>) =>
        Effect.map(
          cluster.kubectl(["auth", "can-i", ...words, `--namespace=${namespace}`], { as: account.user }),
          ({ stdout }) => stdout.trim()
        )
      expect(yield* can("get", "secrets/one")).toBe("yes")
      for (const words of [
        ["list", "secrets"],
        ["watch", "secrets"],
        ["delete", "secrets"],
        ["get", "nodes"],
        ["*", "*"]
      ]) {
        expect([words, yield* can(...words)]).toEqual([words, "no"])
      }
    })
  )
})
