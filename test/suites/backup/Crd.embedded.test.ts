/** The kinds Backup and Restore, as the API server serves them from their CRDs. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Crd from "./Crd.ts"
import type { Scene } from "./Scene.ts"
import * as Specs from "./Specs.ts"

const definition = (plural: string) => Client.get(CustomResourceDefinition, { name: `${plural}.backup.example.com` })

const taken = ({ cluster, namespace }: Scene, kind: Crd.Kind, specs: ReadonlyArray<object>) =>
  Effect.forEach(specs, (spec) =>
    Effect.map(Crd.ask(cluster, namespace, kind, spec), (answer) =>
      expect([spec, answer]).toEqual([spec, { status: 201, fields: [], message: "" }])
    )
  )

const refused = ({ cluster, namespace }: Scene, kind: Crd.Kind, specs: ReadonlyArray<Specs.Bad>) =>
  Effect.forEach(specs, ({ field, message, spec }) =>
    Effect.map(Crd.ask(cluster, namespace, kind, spec), (answer) => {
      expect([spec, answer]).toMatchObject([spec, { status: 422, fields: [field] }])
      expect(answer.message).toContain(message)
      // CEL reports this error if a rule has a bug.
      expect(answer.message).not.toContain("no such key")
    })
  )

describe.concurrent("The kinds Backup and Restore", () => {
  Backups.pretended("have accepted CRDs with structural schemas", () =>
    Effect.gen(function* () {
      for (const plural of ["backups", "restores"]) {
        const { status } = yield* definition(plural)
        const conditions = new Map(status?.conditions?.map(({ status, type }) => [type, status]))
        expect(Object.fromEntries(conditions)).toMatchObject({ NamesAccepted: "True", Established: "True" })
        expect(conditions.has("NonStructuralSchema")).toBe(false)
      }
    })
  )

  Backups.pretended("have all fields of the tutorial's types", () =>
    Effect.gen(function* () {
      const { spec } = yield* definition("backups")
      expect(spec).toMatchObject({
        group: "backup.example.com",
        scope: "Namespaced",
        names: { kind: "Backup", listKind: "BackupList", plural: "backups", singular: "backup", shortNames: ["bk"] }
      })
      expect(spec.versions).toHaveLength(1)
      const [version] = spec.versions
      expect(version).toMatchObject({ name: "v1", served: true, storage: true, subresources: { status: {} } })
      expect(version?.schema?.openAPIV3Schema).toMatchObject({
        properties: {
          spec: {
            properties: {
              source: { type: "string", minLength: 1 },
              schedule: { type: "string" },
              destination: { type: "string", minLength: 1 },
              retentionPolicy: { type: "string" }
            }
          },
          status: {
            properties: {
              phase: { type: "string", enum: ["Pending", "Running", "Completed", "Failed"] },
              lastBackupTime: { type: "string", format: "date-time" },
              message: { type: "string" }
            }
          }
        }
      })
      // The CRD requires only fields that the tutorial also requires, so that the tutorial's manifests apply.
      const required = version?.schema?.openAPIV3Schema?.properties?.spec?.required ?? []
      expect(required).toEqual(["source"])
      expect(version?.additionalPrinterColumns?.map(({ jsonPath, name }) => [name, jsonPath]).slice(0, 9)).toEqual([
        ["Ready", '.status.conditions[?(@.type=="Ready")].status'],
        ["Reason", '.status.conditions[?(@.type=="Ready")].reason'],
        ["Since", '.status.conditions[?(@.type=="Ready")].lastTransitionTime'],
        ["Paused", '.status.conditions[?(@.type=="Paused")].status'],
        ["Source", ".spec.source"],
        ["Schedule", ".spec.schedule"],
        ["Destination", ".spec.destination"],
        ["Last Backup", ".status.lastBackupTime"],
        ["Phase", ".status.phase"]
      ])
    })
  )

  Backups.pretended("accept each valid Backup", (scene) => taken(scene, "Backup", Specs.goodBackups))
  Backups.pretended("reject an invalid Backup with the field and the accepted values", (scene) =>
    refused(scene, "Backup", Specs.badBackups)
  )
  Backups.pretended("accept each valid Restore", (scene) => taken(scene, "Restore", Specs.goodRestores))
  Backups.pretended("reject an invalid Restore with the field and the accepted values", (scene) =>
    refused(scene, "Restore", Specs.badRestores)
  )

  Backups.pretended("store the documented defaults", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      const store = (kind: Crd.Kind, spec: object) =>
        Effect.map(
          cluster.request("POST", Crd.pathOf(namespace, kind), {
            body: { apiVersion: "backup.example.com/v1", kind, metadata: { name: "shop" }, spec }
          }),
          ({ body }) => JSON.parse(body).spec
        )
      expect(yield* store("Backup", Specs.backup)).toEqual({
        ...Specs.backup,
        suspend: false,
        startPolicy: "Immediately",
        concurrencyPolicy: "Forbid",
        pruneInterval: "7d",
        checkInterval: "30d",
        deletionPolicy: "Retain",
        successfulRunsHistoryLimit: 3,
        failedRunsHistoryLimit: 1,
        backoffLimit: 2,
        activeDeadlineSeconds: 86_400,
        allowPartial: false
      })
      expect(yield* store("Restore", Specs.restore)).toEqual({
        ...Specs.restore,
        snapshot: "latest",
        overwrite: false,
        backoffLimit: 2,
        activeDeadlineSeconds: 86_400
      })
    })
  )

  Backups.pretended("have an immutable source, destination and path of a Backup", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      yield* Backups.create(scene, "plain")
      yield* Backups.create(scene, "placed", { repository: { path: "team/app" } })
      yield* Client.create(Backup, { metadata: { namespace, name: "default" }, spec: { source: "app" } })
      const change = (name: string, spec: object) =>
        Crd.change(cluster, `${Crd.pathOf(namespace, "Backup")}/${name}`, { spec })
      const kept: ReadonlyArray<readonly [string, string, object]> = [
        ["plain", "source", { source: "pvc/app" }],
        ["plain", "destination", { destination: "pvc://store/sub" }],
        ["plain", "destination", { destination: null }],
        ["default", "destination", { destination: "pvc://store" }],
        ["plain", "repository.path", { repository: { path: "team/app" } }],
        ["placed", "repository.path", { repository: { path: "team/other" } }],
        ["placed", "repository.path", { repository: { path: null } }],
        ["placed", "repository.path", { repository: null }]
      ]
      for (const [name, field, spec] of kept) {
        const answer = yield* change(name, spec)
        expect([spec, answer]).toMatchObject([spec, { status: 422, fields: [`spec.${field}`] }])
        expect(answer.message).toContain("is immutable")
      }
      const free: ReadonlyArray<readonly [string, object]> = [
        ["plain", { schedule: "0 3 * * *", retentionPolicy: "60d", suspend: true, source: "app" }],
        ["plain", { repository: { credentialsSecretRef: { name: "other" } } }],
        ["placed", { repository: { caSecretRef: { name: "ca" } } }]
      ]
      for (const [name, spec] of free) expect([spec, yield* change(name, spec)]).toMatchObject([spec, { status: 200 }])
    })
  )

  Backups.pretended("have an immutable spec of a Restore", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      yield* Backups.restoring(scene, "back", { asOf: "2026-11-20T09:00:00Z" })
      const path = `${Crd.pathOf(namespace, "Restore")}/back`
      for (const spec of [
        { targetPVC: "other" },
        { backupRef: "other" },
        { overwrite: true },
        { mode: "Overlay" },
        { inUse: "Allow" },
        { asOf: null },
        { paths: ["/a"] },
        { backoffLimit: 3 }
      ]) {
        const answer = yield* Crd.change(cluster, path, { spec })
        expect([spec, answer]).toMatchObject([spec, { status: 422, fields: ["spec"] }])
        expect(answer.message).toContain("field is immutable, because a Restore runs once; create another Restore")
      }
      const harmless = { metadata: { labels: { a: "b" } }, spec: { targetPVC: "fresh", overwrite: false } }
      expect(yield* Crd.change(cluster, path, harmless)).toMatchObject({ status: 200 })
    })
  )

  Backups.pretended("have a status subresource", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      yield* Backups.create(scene, "shop")
      const path = `${Crd.pathOf(namespace, "Backup")}/shop`
      yield* Crd.change(cluster, path, { status: { phase: "Completed" } }, false)
      expect((yield* Backups.get(scene, "shop")).status).toEqual({ observedGeneration: -1 })
      yield* Crd.change(
        cluster,
        `${path}/status`,
        { status: { phase: "Completed" }, spec: { schedule: "@daily" } },
        false
      )
      const { metadata, spec, status } = yield* Backups.get(scene, "shop")
      expect([metadata.generation, spec.schedule, status?.phase]).toEqual([1, undefined, "Completed"])
      const wrong = yield* Crd.change(cluster, `${path}/status`, { status: { phase: "Done" } })
      expect(wrong).toMatchObject({ status: 422, fields: ["status.phase"] })
    })
  )

  Backups.pretended("reject unknown fields with strict validation, and otherwise drop them with a warning", (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      for (const [kind, spec, name] of [
        ["Backup", { ...Specs.backup, retention: { keepDailies: 7 } }, "spec.retention.keepDailies"],
        ["Restore", { ...Specs.restore, target: "fresh" }, "spec.target"]
      ] as const) {
        const strict = yield* Crd.ask(cluster, namespace, kind, spec)
        expect(strict).toMatchObject({ status: 400 })
        expect(strict.message).toContain(`strict decoding error: unknown field "${name}"`)
        const body = { apiVersion: "backup.example.com/v1", kind, metadata: { name: "shop" }, spec }
        const warned = yield* Crd.warnings(cluster, Crd.pathOf(namespace, kind), body)
        expect(warned).toEqual({ status: 201, warnings: [`unknown field "${name}"`] })
      }
      expect((yield* Client.get(Backup, scene.key("shop"))).spec.retention).toEqual({})
      expect((yield* Client.get(Restore, scene.key("shop"))).spec).not.toHaveProperty("target")
    })
  )
})
