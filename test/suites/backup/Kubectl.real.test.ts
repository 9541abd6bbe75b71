/** The view that kubectl's commands, and tools with the same waits, have of a Backup that the controller manages. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Kubectl from "../webapp/Kubectl.ts"
import * as Backups from "./Backups.ts"
import * as Pretended from "./Pretended.ts"
import * as Scene from "./Scene.ts"

/** The cells of a table row. At least two blanks separate the cells. */
const cells = (line = ""): ReadonlyArray<string> => line.trim().split(/ {2,}/)

/** The status that kstatus computes for an object: `kubectl apply --prune`, Flux and Argo CD wait for this status. */
const kstatus = ({ metadata, status }: Backup): string => {
  const is = (type: string, wanted: string) => Condition.find(status?.conditions, type)?.status === wanted
  if (metadata.deletionTimestamp !== undefined) return "Terminating"
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return "InProgress"
  if (is("Reconciling", "True")) return "InProgress"
  if (is("Stalled", "True")) return "Failed"
  return is("Ready", "False") || is("Ready", "Unknown") ? "InProgress" : "Current"
}

describe("kubectl, of a Backup,", () => {
  Pretended.test(
    "has columns for source, schedule, destination, phase and last backup, and those of the tutorial",
    (scene) =>
      Effect.gen(function* () {
        yield* Pretended.shop(scene)
        yield* scene.manage()
        yield* Backups.create(scene, "shop", { schedule: "0 2 * * *", destination: "pvc://store/a" })
        yield* Backups.create(scene, "waits", { suspend: true })
        const shop = (yield* Backups.completed(scene, "shop")).status
        yield* Pretended.obstacle(scene, "waits", "CredentialsMissing")

        const [header, row, other] = (yield* Kubectl.run(scene, ["get", "bk"])).split("\n")
        const ours = ["SOURCE", "SCHEDULE", "DESTINATION", "LAST BACKUP"]
        expect(cells(header)).toEqual(["NAME", "READY", "REASON", "SINCE", "PAUSED", ...ours, "AGE"])
        const age = expect.stringMatching(/^\d+s$/)
        expect(cells(row)).toEqual(["shop", "True", "Scheduled", age, "app", "0 2 * * *", "pvc://store/a", age, age])
        expect(cells(other)).toEqual(["waits", "False", "CredentialsMissing", age, "app", "pvc://store", age])

        const [wideHeader, wide] = (yield* Kubectl.run(scene, ["get", "backups", "--output=wide"])).split("\n")
        expect(cells(wideHeader).slice(9)).toEqual(["PHASE", "SUSPEND", "NEXT", "AGE"])
        expect(cells(wide).slice(8)).toEqual(["Completed", "false", shop?.nextBackupTime ?? "none", age])

        const columns =
          "NAME:.metadata.name,SOURCE:.spec.source,SCHEDULE:.spec.schedule,DESTINATION:.spec.destination,PHASE:.status.phase,LAST_BACKUP:.status.lastBackupTime"
        const custom = yield* Kubectl.run(scene, ["get", "backup", "-o", `custom-columns=${columns}`])
        expect(custom.split("\n").map(cells)).toEqual([
          ["NAME", "SOURCE", "SCHEDULE", "DESTINATION", "PHASE", "LAST_BACKUP"],
          ["shop", "app", "0 2 * * *", "pvc://store/a", "Completed", shop?.lastBackupTime ?? "none"],
          ["waits", "app", "<none>", "pvc://store", "Pending", "<none>"]
        ])
        const described = yield* Kubectl.run(scene, ["describe", "backup", "shop"])
        expect(described).toMatch(/Normal +BackupCompleted .*1 volume saved/)
        expect(yield* Kubectl.run(scene, ["events", "--for=backup/waits"])).toContain(
          "Secret not found: waits-backup-credentials (create it with RESTIC_PASSWORD)"
        )
      })
  )

  Pretended.test("waits until it can run, and does not wait again for each run", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      yield* scene.manage()
      const seen = yield* Pretended.record(scene, Backup)
      yield* Backups.create(scene, "shop", { schedule: "@every 4s", concurrencyPolicy: "Forbid" })
      const wait = (condition: string) =>
        Kubectl.run(scene, ["wait", "backup/shop", `--for=${condition}`, "--timeout=60s"])
      expect(yield* wait("condition=Ready")).toBe("backup.backup.example.com/shop condition met")
      expect(yield* wait("jsonpath={.status.phase}=Completed")).toBe("backup.backup.example.com/shop condition met")
      yield* Managed.eventually(
        "it has run by its schedule",
        Backups.get(scene, "shop"),
        ({ status }) => status?.lastRun?.trigger === "schedule"
      )
      const states = yield* Managed.eventually(
        "all of that is seen",
        Effect.sync(seen),
        (states) => states.at(-1)?.status?.lastRun?.trigger === "schedule"
      )
      const phases = Pretended.steps(states.map(({ status }) => status?.phase ?? "none"))
      expect(phases.slice(0, 5)).toEqual(["none", "Running", "Completed", "Running", "Completed"])
      expect(Pretended.steps(states.map(kstatus))).toEqual(["InProgress", "Current"])
      const written = states.filter(({ status }) => status?.phase !== undefined)
      const ready = written.map(({ status }) => Condition.find(status?.conditions, "Ready"))
      expect(Pretended.steps(ready.map((condition) => condition?.status))).toEqual(["True"])
      expect(Pretended.steps(ready.map((condition) => condition?.lastTransitionTime))).toHaveLength(1)
      expect(written.flatMap(({ status }) => Condition.find(status?.conditions, "Reconciling") ?? [])).toEqual([])
    })
  )

  Pretended.test("reports InProgress while something is missing, and Failed while the spec is invalid", (scene) =>
    Effect.gen(function* () {
      yield* Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")])
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { schedule: "61 * * * *" })
      yield* Pretended.obstacle(scene, "shop", "InvalidSchedule")
      expect(kstatus(yield* Backups.get(scene, "shop"))).toBe("Failed")
      yield* Kubectl.run(scene, ["patch", "bk/shop", "--type=merge", '--patch={"spec":{"schedule":"0 2 * * *"}}'])
      yield* Pretended.obstacle(scene, "shop", "CredentialsMissing")
      expect(kstatus(yield* Backups.get(scene, "shop"))).toBe("InProgress")
      yield* Kubectl.run(scene, [
        "create",
        "secret",
        "generic",
        "shop-backup-credentials",
        "--from-literal=RESTIC_PASSWORD=correct horse"
      ])
      expect(kstatus(yield* Backups.completed(scene, "shop"))).toBe("Current")
      yield* Kubectl.run(scene, ["annotate", "bk/shop", "backup.example.com/run=now"])
      yield* Kubectl.run(scene, ["wait", "bk/shop", "--for=jsonpath={.status.lastManualTrigger}=now", "--timeout=60s"])
      yield* Kubectl.run(scene, ["delete", "bk/shop", "--wait=true", "--timeout=60s"])
    })
  )
})
