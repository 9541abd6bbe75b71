import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../model/Json.ts"
import { names } from "../Names.ts"
import { columnsOf } from "./Columns.ts"

const now = Date.parse("2026-01-01T01:00:00Z")

/** The cells of an object by column name. */
const row = (group: string, version: string, kind: string, object: JsonObject) =>
  Object.fromEntries(columnsOf(group, version, kind).map(({ cell, name }) => [name, cell(object, now)]))

describe("The columns", () => {
  test("exist for each kind that can be listed, and render even an empty object", () => {
    for (const { group, kind, verbs, version } of names) {
      const columns = columnsOf(group, version, kind)
      expect([kind, columns.length > 0]).toEqual([kind, verbs.includes("list")])
      expect([kind, columns.filter(({ cell }) => cell({}, now) === null)]).toEqual([kind, []])
    }
  })

  test("do not repeat the name, except where it comes later or has more text", () => {
    const named = names.filter(({ group, kind, version }) =>
      columnsOf(group, version, kind).some(({ format }) => format === "name")
    )
    expect(named.map(({ group, kind }) => `${group}/${kind}`)).toEqual([
      "/Event",
      "events.k8s.io/Event",
      "networking.k8s.io/IngressClass"
    ])
  })

  test("show the states of the containers of a pod, and the last restart", () => {
    const pod = {
      metadata: { name: "web", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { containers: [{ name: "a" }, { name: "b" }] },
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "a",
            restartCount: 2,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:55:30Z" } }
          },
          { name: "b", ready: true, restartCount: 0, state: { running: {} } }
        ]
      }
    }
    expect(row("", "v1", "Pod", pod)).toMatchObject({
      Ready: "1/2",
      Status: "CrashLoopBackOff",
      Restarts: "2 (4m30s ago)",
      Age: "60m",
      Node: "<none>"
    })
  })

  test("count a sidecar that has started, and show the container after it that is starting", () => {
    const sidecar = { name: "proxy", restartCount: 0, state: { running: {} } }
    const setup = { name: "setup", restartCount: 0, state: { waiting: { reason: "PodInitializing" } } }
    const spec = {
      initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "setup" }],
      containers: [{ name: "a" }]
    }
    const shown = (started: boolean) => {
      const initContainerStatuses = [{ ...sidecar, started, ready: started }, setup]
      return row("", "v1", "Pod", { spec, status: { phase: "Pending", initContainerStatuses } })
    }
    expect(shown(true)).toMatchObject({ Ready: "1/2", Status: "Init:1/2" })
    expect(shown(false)).toMatchObject({ Ready: "0/2", Status: "Init:0/2" })
  })

  test("show the access modes of volumes and of bound claims in short, in the order of kubectl", () => {
    const accessModes = ["ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod", "ReadWriteOnce"]
    expect(row("", "v1", "PersistentVolume", { spec: { accessModes } })["Access Modes"]).toBe("RWO,ROX,RWX,RWOP")
    const claim = { spec: { accessModes, volumeName: "v" }, status: { phase: "Bound", accessModes: ["ReadWriteOnce"] } }
    expect(row("", "v1", "PersistentVolumeClaim", claim)["Access Modes"]).toBe("RWO")
  })

  test("show the duration of a Job", () => {
    const status = { startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:01:30Z", succeeded: 1 }
    expect(row("batch", "v1", "Job", { spec: { completions: 1 }, status })).toMatchObject({
      Status: "Running",
      Completions: "1/1",
      Duration: "90s"
    })
  })
})
