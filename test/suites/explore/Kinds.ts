/** The explorations of the specs of the shipped kinds, with a number of pairs of specs. */
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Explore from "@homeostat/testkit/Explore"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Virtual from "../backup/Virtual.ts"
import { backups } from "./Stories.ts"

const names = ["a", "b"]
const durations = ["1h", "2d"]

const pod = {
  "resources.requests.cpu": ["100m", "250m"],
  "resources.requests.memory": ["64Mi"],
  "resources.requests.ephemeral-storage": ["1Gi"],
  "resources.limits.cpu": ["1", 2],
  "resources.limits.memory": ["1Gi"],
  "resources.limits.ephemeral-storage": ["2Gi"]
}

/** The specs of WebApps. */
export const webapp = (runs = 4) =>
  Explore.runStates(WebApp, {
    controllers: [controller],
    // While the desired replicas are 0, the Deployment controller keeps the name of an older ReplicaSet in this message.
    ignore: ["Deployment: status.conditions[Progressing].message"],
    runs,
    seeds: {
      spec: { image: "nginx:1.27" },
      values: {
        ...pod,
        image: ["nginx:1.27", "nginx:1.28"],
        port: [80, 8080],
        "env.name": names,
        // A job that fails keeps the older pod template.
        "jobs.timeoutSeconds": [600]
      }
    }
  })

const key = Virtual.key("shop")

/** The specs of Backups. No backup runs in this time, because the status of a Backup depends on its earlier runs. */
export const backup = (runs = 4) =>
  Explore.runStates(Backup, {
    ...backups,
    key,
    runs,
    seeds: {
      spec: {
        schedule: "0 2 * * *",
        startPolicy: "OnSchedule",
        source: "app",
        destination: "pvc://store",
        repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
      },
      values: {
        ...pod,
        schedule: ["0 2 * * *", "30 4 * * 0"],
        startPolicy: ["OnSchedule"],
        timeZone: ["Europe/Berlin", "UTC"],
        pruneInterval: durations,
        checkInterval: durations,
        deletionGracePeriod: durations
      }
    }
  })

/** The specs of Restores. They are immutable, so each Restore has one. */
export const restore = (runs = 3) =>
  Explore.runStates(Restore, {
    ...backups,
    before: Effect.andThen(backups.before, Virtual.create("shop")),
    key: Virtual.key("back"),
    runs,
    passes: "5 minutes",
    seeds: {
      spec: { backupRef: "shop", targetPVC: "app" },
      values: { ...pod, backupRef: ["shop"], targetPVC: ["app"], volume: ["app"], paths: ["/etc", "/var/lib"] }
    }
  })
