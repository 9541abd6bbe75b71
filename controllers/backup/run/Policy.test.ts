import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import * as Settings from "../Settings.ts"
import { backup } from "./Backups.fixture.ts"
import * as Policy from "./Policy.ts"

const spec = (fields: { readonly [field: string]: unknown } = {}) => backup(fields).spec

describe("The settings of the manager", () => {
  test("allow every mover by default", () => {
    for (const fields of [{}, { image: "any/image:1" }, { podSecurityContext: { runAsUser: 0 } }]) {
      expect(Policy.refusal(spec(fields), Settings.defaults)).toBeUndefined()
    }
  })
  test("restrict the images to prefixes", () => {
    const settings = Settings.of({ images: ["registry.example.com/backup/", "mover@sha256:"] })
    for (const image of [undefined, "registry.example.com/backup/mover:1", "mover@sha256:0"]) {
      expect(Policy.refusal(spec({ image }), settings)).toBeUndefined()
    }
    expect(Policy.refusal(spec({ image: "registry.example.com/other:1" }), settings)).toBe(
      'spec.image is not allowed: "registry.example.com/other:1" (the manager\'s HOMEOSTAT_BACKUP_IMAGES allows registry.example.com/backup/, mover@sha256:)'
    )
    expect(Policy.refusal(spec({ image: "a" }), Settings.of({ images: [] }))).toContain("allows none")
  })
  test("forbid root, except for a privileged mover in a privileged namespace", () => {
    const settings = Settings.of({ allowRoot: false })
    expect(Policy.refusal(spec({ podSecurityContext: { runAsUser: 0 } }), settings)).toBe(
      "spec.podSecurityContext.runAsUser is not allowed: 0 (the manager's HOMEOSTAT_BACKUP_ALLOW_ROOT is false)"
    )
    expect(Policy.refusal(spec({ podSecurityContext: { runAsUser: 1 } }), settings)).toBeUndefined()
    expect(Policy.refusal(spec({ privileged: true }), settings)).toBeUndefined()
  })
  test("limit the deadline, and set default resources", () => {
    const resources = { requests: { memory: "256Mi" }, limits: { memory: "2Gi" } }
    const settings = Settings.of({ maxDeadline: Duration.hours(1), resources })
    expect(Policy.bounded(spec(), settings)).toMatchObject({ activeDeadlineSeconds: 3600, resources })
    const own = { limits: { memory: "1Gi" } }
    expect(Policy.bounded(spec({ activeDeadlineSeconds: 60, resources: own }), settings)).toMatchObject({
      activeDeadlineSeconds: 60,
      resources: own
    })
    expect(Policy.bounded(spec(), Settings.defaults)).toEqual(spec())
  })
})
