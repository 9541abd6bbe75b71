/** The kinds Backup and Restore in kubectl, from the CRDs that the program prints. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Kubectl from "../webapp/Kubectl.ts"
import * as Backups from "./Backups.ts"
import * as Specs from "./Specs.ts"

const root = join(import.meta.dir, "../../..")

const plurals = ["backups", "restores"]

describe.concurrent("kubectl, with the kinds Backup and Restore,", () => {
  Backups.real("applies the printed CRDs, and a second apply changes nothing", (scene) =>
    Effect.gen(function* () {
      const printed = yield* Process.run(process.execPath, [join(root, "controllers/main.ts"), "crd"])
      expect(printed).toMatchObject({ exitCode: 0, stderr: "" })
      const apply = Kubectl.run(scene, ["apply", "--server-side", "--force-conflicts", "--filename=-"], printed.stdout)
      const first = yield* apply
      for (const plural of plurals) {
        expect(first).toContain(`customresourcedefinition.apiextensions.k8s.io/${plural}.backup.example.com `)
      }
      const versions = Effect.forEach(plurals, (plural) =>
        Kubectl.run(scene, ["get", "crd", `${plural}.backup.example.com`, "--output=jsonpath={.metadata.generation}"])
      )
      const before = yield* versions
      yield* apply
      expect(yield* versions).toEqual(before)
    })
  )

  Backups.real("applies the tutorial's manifest, which is stored field by field", ({ cluster }) =>
    Effect.gen(function* () {
      const manifest = `
apiVersion: backup.example.com/v1
kind: Backup
metadata:
  name: my-app-backup
  namespace: default
spec:
  source: my-application-pvc
  schedule: "0 2 * * *" # Every day at 2 AM
  destination: s3://my-backup-bucket
  retentionPolicy: 30d
`
      const key = { namespace: "default", name: "my-app-backup" }
      const applied = yield* cluster.kubectl(["apply", "--filename=-"], { stdin: manifest })
      yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(Backup, key)))
      expect(applied).toMatchObject({ stdout: "backup.backup.example.com/my-app-backup created\n", stderr: "" })
      expect((yield* Client.get(Backup, key)).spec).toMatchObject({
        source: "my-application-pvc",
        schedule: "0 2 * * *",
        destination: "s3://my-backup-bucket",
        retentionPolicy: "30d"
      })
    })
  )

  Backups.real("reports an invalid field and an unknown field", (scene) =>
    Effect.gen(function* () {
      const refused = (spec: object) =>
        Effect.map(
          Effect.flip(
            Kubectl.run(scene, ["apply", "--filename=-"], {
              apiVersion: "backup.example.com/v1",
              kind: "Backup",
              metadata: { name: "shop" },
              spec
            })
          ),
          ({ message }) => message
        )
      expect(yield* refused({ ...Specs.backup, retentionPolicy: "4x" })).toContain(
        'The Backup "shop" is invalid: spec.retentionPolicy: Invalid value: "4x": must be numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w'
      )
      expect(yield* refused({ ...Specs.backup, shedule: "@daily" })).toContain('unknown field "spec.shedule"')
    })
  )

  Backups.real("explains the fields", (scene) =>
    Effect.gen(function* () {
      const explain = (path: string) =>
        // kubectl wraps long lines.
        Effect.map(Kubectl.run(scene, ["explain", path]), (text) => text.replaceAll(/\s+/g, " "))
      // The API server publishes a kind's schema some seconds after it serves that kind.
      const kind = yield* Managed.eventually("explain knows the kind", explain("backup"), () => true)
      expect(kind).toContain("Saves volumes to a restic repository on a schedule.")
      const spec = yield* explain("bk.spec")
      expect(spec).toContain("source <string> -required- The source: the name of a PersistentVolumeClaim")
      expect(spec).toContain("retentionPolicy <string> How much older than the newest snapshot a snapshot may be")
      expect(yield* explain("restore.spec.targetPVC")).toContain(
        "The PersistentVolumeClaim to write to, in the namespace of the Restore."
      )
    })
  )
})
