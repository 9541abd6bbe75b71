import { describe, expect, test } from "bun:test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Settings from "./Settings.ts"

const read = (variables: { readonly [name: string]: string }) =>
  Settings.Settings.pipe(
    Effect.provide(Settings.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(variables)),
    Effect.result,
    Effect.runSync
  )
const values = (variables: { readonly [name: string]: string }) => Result.getOrThrow(read(variables))

test("Settings use the defaults for unset and empty variables", () => {
  expect(values({})).toEqual(Settings.defaults)
  expect(values(Object.fromEntries(Object.values(Settings.variables).map(({ variable }) => [variable, ""])))).toEqual(
    Settings.defaults
  )
})

describe("Settings read", () => {
  test("HOMEOSTAT_BACKUP_MOVER_IMAGE", () =>
    expect(values({ HOMEOSTAT_BACKUP_MOVER_IMAGE: "mirror/mover@sha256:0" }).moverImage).toBe("mirror/mover@sha256:0"))
  test("HOMEOSTAT_BACKUP_MAX_JOBS", () => expect(values({ HOMEOSTAT_BACKUP_MAX_JOBS: "3" }).maxJobs).toBe(3))
  for (const [field, variable] of [
    ["startTimeout", "HOMEOSTAT_BACKUP_START_TIMEOUT"],
    ["retryPeriod", "HOMEOSTAT_BACKUP_RETRY_PERIOD"],
    ["preflightTimeout", "HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT"],
    ["maxDeadline", "HOMEOSTAT_BACKUP_MAX_DEADLINE"]
  ] as const) {
    test(variable, () => expect(Duration.toMillis(values({ [variable]: "1m30s" })[field])).toBe(90_000))
  }
  test("HOMEOSTAT_BACKUP_IMAGES", () => {
    expect(values({ HOMEOSTAT_BACKUP_IMAGES: "a/,b@sha256:" }).images).toEqual(["a/", "b@sha256:"])
    expect(values({ HOMEOSTAT_BACKUP_IMAGES: "*" }).images).toBeUndefined()
  })
  test("HOMEOSTAT_BACKUP_ALLOW_ROOT", () =>
    expect(values({ HOMEOSTAT_BACKUP_ALLOW_ROOT: "false" }).allowRoot).toBe(false))
  test("HOMEOSTAT_BACKUP_MOVER_RESOURCES", () =>
    expect(
      values({
        HOMEOSTAT_BACKUP_MOVER_RESOURCES: "requests.cpu=100m,requests.memory=256Mi,limits.ephemeral-storage=20Gi"
      }).resources
    ).toEqual({ requests: { cpu: "100m", memory: "256Mi" }, limits: { "ephemeral-storage": "20Gi" } }))
  test("HOMEOSTAT_BACKUP_MOVER_RESOURCES, with requests up to their limits", () =>
    expect(
      values({
        HOMEOSTAT_BACKUP_MOVER_RESOURCES: "requests.cpu=1000m,limits.cpu=1,requests.memory=1.5G,limits.memory=2e9"
      }).resources
    ).toEqual({ requests: { cpu: "1000m", memory: "1.5G" }, limits: { cpu: "1", memory: "2e9" } }))
  test("HOMEOSTAT_BACKUP_DESTINATION", () =>
    expect(values({ HOMEOSTAT_BACKUP_DESTINATION: "s3://company/backups" }).destination).toEqual({
      _tag: "S3",
      bucket: "company",
      path: "backups"
    }))
  for (const [field, variable, value] of [
    ["endpoint", "HOMEOSTAT_BACKUP_ENDPOINT", "https://minio.example.com:9000"],
    ["cacheSize", "HOMEOSTAT_BACKUP_CACHE_SIZE", "50Gi"],
    ["temporarySize", "HOMEOSTAT_BACKUP_TEMPORARY_SIZE", "500Mi"]
  ] as const) {
    test(variable, () => expect(values({ [variable]: value })[field]).toBe(value))
  }
  test("no other variables", () =>
    expect(Object.keys(Settings.variables).sort()).toEqual(Object.keys(Settings.defaults).sort()))
})

describe("Settings reject", () => {
  for (const [variable, value, fix] of [
    ["HOMEOSTAT_BACKUP_MOVER_IMAGE", "a b", "must not contain spaces"],
    ["HOMEOSTAT_BACKUP_MAX_JOBS", "0", "must be a whole number, at least 1"],
    ["HOMEOSTAT_BACKUP_MAX_JOBS", "-1", "must be a whole number, at least 1"],
    ["HOMEOSTAT_BACKUP_MAX_JOBS", "2.5", "must be a whole number, at least 1"],
    ["HOMEOSTAT_BACKUP_MAX_JOBS", "many", "must be a whole number, at least 1"],
    ["HOMEOSTAT_BACKUP_START_TIMEOUT", "10", "write it like 15s"],
    ["HOMEOSTAT_BACKUP_START_TIMEOUT", "ten minutes", "write it like 15s"],
    ["HOMEOSTAT_BACKUP_RETRY_PERIOD", "10ms", "at least 1s"],
    ["HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT", "-5s", "write it like 15s"],
    ["HOMEOSTAT_BACKUP_ALLOW_ROOT", "no", "must be true or false"],
    ["HOMEOSTAT_BACKUP_MAX_DEADLINE", "1d", "write it like 15s"],
    ["HOMEOSTAT_BACKUP_DESTINATION", "ftp://host", "s3://bucket"],
    ["HOMEOSTAT_BACKUP_ENDPOINT", "user:word@minio", "minio.example.com"],
    ["HOMEOSTAT_BACKUP_ENDPOINT", "http://minio", "minio.example.com"],
    ["HOMEOSTAT_BACKUP_CACHE_SIZE", "much", "write it like 10Gi"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "memory=2Gi", "such as limits.memory=2Gi"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "limits.mem=2Gi", "cpu, memory or ephemeral-storage"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "limits.memory=-1Gi", "write it like 500m or 2Gi"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "requests.cpu=1,limits.cpu=500m", "must be at most limits.cpu, 500m"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "limits.memory=2G,requests.memory=2Gi", "must be at most limits.memory, 2G"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "requests.memory=3e9,limits.memory=2Gi", "must be at most limits.memory, 2Gi"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "limits.memory=much", "write it like 500m or 2Gi"],
    ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "limits.memory=2Gb", "write it like 500m or 2Gi"]
  ] as const) {
    test(`${variable}=${value}`, () => {
      const { message } = Result.getOrThrow(Result.flip(read({ [variable]: value })))
      expect(message).toStartWith(`${variable}: `)
      expect(message).toContain(fix)
      expect(message).not.toContain("\n")
    })
  }
})

test("The description of each setting ends with its default", () => {
  for (const { description } of Object.values(Settings.variables)) expect(description).toMatch(/ \(default \S+\)$/)
})

test("Three attempts against an unavailable repository end within three minutes", () =>
  // With the Job controller's delays of 10 and 20 seconds.
  expect(3 * Duration.toSeconds(Settings.defaults.preflightTimeout) + 30).toBeLessThanOrEqual(180))
