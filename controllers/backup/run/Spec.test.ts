import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Destination from "../repository/Destination.ts"
import * as Settings from "../Settings.ts"
import { backup, understood } from "./Backups.fixture.ts"
import * as Spec from "./Spec.ts"

const day = 86_400_000
const refused = (spec: Parameters<typeof backup>[0]) =>
  Result.getOrThrow(Result.flip(Spec.parse(backup(spec), Settings.defaults)))

describe("Spec.parse rejects", () => {
  for (const [field, value, reason, text] of [
    ["schedule", "61 * * * *", "InvalidSchedule", "minute"],
    ["schedule", "0 0 * * 7", "InvalidSchedule", "Sunday is 0"],
    ["schedule", "59 23 31 2 *", "InvalidSchedule", "day of month"],
    ["timeZone", "Europe/Berlim", "UnknownTimeZone", "Europe/Berlim"],
    ["destination", "ftp://host/a", "InvalidDestination", "s3://"],
    ["retentionPolicy", "-1d", "InvalidRetention", "retentionPolicy"],
    ["retentionPolicy", "0d", "InvalidRetention", "retentionPolicy"],
    ["retentionPolicy", "30", "InvalidRetention", "retentionPolicy"],
    ["retentionPolicy", "200y", "InvalidRetention", "retentionPolicy"],
    ["pruneInterval", "200y", "InvalidRetention", "pruneInterval"],
    ["checkInterval", "200y", "InvalidRetention", "checkInterval"]
  ] as const) {
    test(`${field} ${value}: ${reason}`, () => {
      // Like an object from before the rules, because the API server rejects most of these.
      const of = backup()
      const refusal = Result.getOrThrow(
        Result.flip(Spec.parse({ ...of, spec: { ...of.spec, [field]: value } }, Settings.defaults))
      )
      expect(refusal.reason).toBe(reason)
      expect(refusal.message).toContain(text)
      expect(refusal.message).not.toContain("\n")
    })
  }
  test("an invalid destination first", () =>
    expect(refused({ destination: "ftp://host/a", schedule: "61 * * * *" }).reason).toBe("InvalidDestination"))
})

describe("Spec.parse returns", () => {
  test("the prune and check intervals in milliseconds", () =>
    expect(understood(backup())).toMatchObject({ pruneInterval: 7 * day, checkInterval: 30 * day }))
  test("the expected interval between successes", () => {
    expect(understood(backup()).expectedInterval).toBe(86_400)
    expect(understood(backup({ schedule: "0 2 * * 1-5" })).expectedInterval).toBe(3 * 86_400)
    expect(understood(backup({ schedule: undefined })).expectedInterval).toBeUndefined()
  })
  test("no timetable without a schedule", () =>
    expect(understood(backup({ schedule: undefined })).table).toBeUndefined())
  test("the arguments of restic forget", () => {
    expect(understood(backup()).keep).toEqual([])
    expect(understood(backup({ retentionPolicy: "4w" })).keep).toEqual(["--keep-within", "672h", "--keep-last", "3"])
    expect(understood(backup({ retention: { keepLast: 3, keepDaily: 7 } })).keep).toEqual([
      "--keep-last",
      "3",
      "--keep-daily",
      "7"
    ])
  })
  test("warnings about unusual values", () => {
    expect(understood(backup({ retentionPolicy: "30d" })).warnings).toEqual([])
    expect(understood(backup({ retentionPolicy: "1m" })).warnings.length).toBe(2)
  })
})

describe("A Backup without a destination", () => {
  const { destination: _, ...spec } = backup().spec
  const without = { ...backup(), spec }
  const defaults = Settings.of({
    destination: Result.getOrThrow(Destination.parse("s3://company/backups")),
    endpoint: "minio.example.com:9000"
  })

  test("uses its own path in the default destination of the manager", () => {
    expect(Result.getOrThrow(Spec.parse(without, defaults)).repository.url).toBe(
      "s3:minio.example.com:9000/company/backups/shop/cart"
    )
  })

  test("is rejected if the manager has no default destination", () => {
    expect(Result.getOrThrow(Result.flip(Spec.parse(without, Settings.defaults)))).toEqual({
      reason: "InvalidDestination",
      message: "spec.destination is required: the manager has no HOMEOSTAT_BACKUP_DESTINATION"
    })
  })

  test("uses the default endpoint only with the default destination", () => {
    const named = { ...without, spec: { ...spec, destination: "s3://own" } }
    expect(Result.getOrThrow(Spec.parse(named, defaults)).repository.url).toBe("s3:s3.amazonaws.com/own/shop/cart")
  })
})
