import { describe, expect, test } from "bun:test"
import * as Expression from "@homeostat/apiserver/kinds/cel/Expression"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"
import * as Admission from "./admission.ts"
import type { Backup } from "./kinds/Backup.ts"
import { Restore } from "./kinds/Restore.ts"
import * as Destination from "./repository/Destination.ts"
import { backup } from "./run/Backups.fixture.ts"
import * as Policy from "./run/Policy.ts"
import * as Spec from "./run/Spec.ts"
import * as Settings from "./Settings.ts"

type Found = ReturnType<typeof Admission.ofRestore>

/** A finding as kubectl prints it. */
const line = (found: Found[number]): string => {
  if (found._tag === "Warning") return `Warning: ${found.message}`
  const field = found.field === undefined ? "" : `${found.field}: `
  return found._tag === "Invalid"
    ? `${field}Invalid value: ${JSON.stringify(found.value)}: ${found.message}`
    : `${field}Forbidden: ${found.message}`
}

const lines = (findings: Found): ReadonlyArray<string> => findings.map(line)

const isDenied = (findings: Found): boolean => findings.some(({ _tag }) => _tag !== "Warning")

/** A Backup with fields that its schema may reject, as an older version may have stored it. */
const stored = (spec: object, of: Backup = backup()): Backup => ({ ...of, spec: { ...of.spec, ...spec } })

const { defaults } = Settings
const created = (spec: object, settings: Partial<Settings.Values> = {}) =>
  lines(Admission.ofBackup(stored(spec), undefined, Settings.of(settings)))

describe("Admission denies a Backup with the message of its status", () => {
  const table: ReadonlyArray<readonly [object, string]> = [
    [
      { schedule: "61 * * * *" },
      'spec.schedule: Invalid value: "61 * * * *": minute "61" must be 0 to 59, as * or 1,2 or 1-5 or */2'
    ],
    [
      { schedule: "0 0 30 2 *" },
      'spec.schedule: Invalid value: "0 0 30 2 *": must have a day of month that occurs in one of its months'
    ],
    [
      { schedule: "@every 0h" },
      'spec.schedule: Invalid value: "@every 0h": must be longer than 0, such as @every 6h or @every 1h30m'
    ],
    [
      { timeZone: "Berlin" },
      'spec.timeZone: Invalid value: "Berlin": must be a name of the IANA database, such as Europe/Berlin; the default is UTC'
    ],
    [
      { destination: "gs://b" },
      'spec.destination: Invalid value: "gs://b": the bucket must be 3 to 222 lower-case letters, digits, dots, dashes and underscores'
    ],
    [
      { destination: "rest+https://joe:secret@host/a" },
      'spec.destination: Invalid value: "rest+https://***@host/a": must not contain a user or password, which belong in the Secret'
    ],
    [
      { retentionPolicy: "200y" },
      'spec.retentionPolicy: Invalid value: "200y": must be at most 100y; remove it to keep every snapshot'
    ],
    [{ pruneInterval: "200y" }, 'spec.pruneInterval: Invalid value: "200y": must be 1h to 100y, such as 7d'],
    [{ checkInterval: "200y" }, 'spec.checkInterval: Invalid value: "200y": must be 1h to 100y, such as 7d'],
    [
      { deletionGracePeriod: "200y" },
      'spec.deletionGracePeriod: Invalid value: "200y": must be 1h to 100y, such as 7d'
    ],
    [
      { destination: undefined },
      "Forbidden: spec.destination is required: the manager has no HOMEOSTAT_BACKUP_DESTINATION"
    ]
  ]
  for (const [spec, line] of table) test(line, () => expect(created(spec)).toEqual([line]))

  test("and reports all errors at once", () =>
    expect(created({ schedule: "61 * * * *", destination: "gs://b", retentionPolicy: "200y" })).toHaveLength(3))
  test("if the settings of the manager forbid its mover", () => {
    expect(created({ image: "other:1", podSecurityContext: undefined }, { images: ["registry.example.com/"] })).toEqual(
      ["spec.image: Forbidden: the manager's HOMEOSTAT_BACKUP_IMAGES allows registry.example.com/"]
    )
    expect(created({ podSecurityContext: { runAsUser: 0 } }, { allowRoot: false })).toEqual([
      "spec.podSecurityContext.runAsUser: Forbidden: the manager's HOMEOSTAT_BACKUP_ALLOW_ROOT is false"
    ])
  })
  test("unless the settings have a destination", () => {
    const destination = Result.getOrThrow(Destination.parse("s3://company"))
    expect(created({ destination: undefined }, { destination })).toEqual([])
  })
  test("but only warns of an old error if an update changes another field", () => {
    const old = stored({ schedule: "61 * * * *" })
    const update = (spec: object) => lines(Admission.ofBackup(stored(spec, old), old, defaults))
    const warning = 'Warning: invalid schedule: "61 * * * *" (minute "61" must be 0 to 59, as * or 1,2 or 1-5 or */2)'
    expect(update({ suspend: true })).toEqual([warning])
    expect(update({ retentionPolicy: "200y" })).toEqual([
      warning,
      'spec.retentionPolicy: Invalid value: "200y": must be at most 100y; remove it to keep every snapshot'
    ])
    expect(update({ schedule: "62 * * * *" })[0]).toStartWith('spec.schedule: Invalid value: "62 * * * *": ')
    expect(update({ schedule: "0 * * * *" })).toEqual([])
  })
})

describe("Admission warns of a Backup", () => {
  test("that deletes snapshots soon, with the message of its status", () => {
    const { warnings } = Result.getOrThrow(Spec.parse(stored({ retentionPolicy: "1m" }), defaults))
    expect(warnings).toHaveLength(2)
    expect(created({ retentionPolicy: "1m" })).toEqual(warnings.map((text) => `Warning: ${text}`))
  })
  test("that never runs on its own", () => {
    const warning =
      "Warning: startPolicy OnSchedule without schedule: the Backup runs only when its annotation backup.example.com/run changes"
    expect(created({ schedule: undefined, startPolicy: "OnSchedule" })).toEqual([warning])
    expect(created({ schedule: undefined })).toEqual([])
    expect(created({ startPolicy: "OnSchedule" })).toEqual([])
  })
  test("only once: an update of another field has no warning", () => {
    const old = stored({ retentionPolicy: "1m" })
    expect(Admission.ofBackup(stored({ suspend: true }, old), old, defaults)).toEqual([])
  })
})

describe("Admission warns of an update that shortens the retention", () => {
  const status = { lastBackupTime: "2026-11-20T02:00:10Z" }
  const long = backup({ retentionPolicy: "30d" }, { status, creationTimestamp: "2026-06-01T00:00:00Z" })
  const update = (spec: object, old = long) => lines(Admission.ofBackup(stored(spec, old), old, defaults))

  test("with the number of deleted snapshots and days", () =>
    expect(update({ retentionPolicy: "20d" })).toEqual([
      "Warning: retentionPolicy 20d (before: 30d): the maintenance after the next successful run deletes about 10 of 30 snapshots of each volume, and leaves 19 days of 29 days"
    ]))
  test("and announces that the deletion is held", () =>
    expect(update({ retentionPolicy: "7d" })).toEqual([
      "Warning: retentionPolicy 7d (before: 30d): the maintenance after the next successful run deletes about 23 of 30 snapshots of each volume, and leaves 6 days of 29 days. It first waits for the annotation backup.example.com/apply-retention"
    ]))
  test("of a Backup that kept all snapshots", () =>
    expect(update({ retentionPolicy: "150d" }, stored({ retentionPolicy: undefined }, long))).toEqual([
      "Warning: retentionPolicy 150d (before: none): the maintenance after the next successful run deletes about 23 of 173 snapshots of each volume, and leaves 149 days of 172 days"
    ]))
  test("with keepDaily", () =>
    expect(
      update({ retention: { keepDaily: 20 } }, stored({ retentionPolicy: "1d", retention: { keepDaily: 30 } }, long))
    ).toEqual([
      "Warning: retention.keepDaily 20 (before: 30): the maintenance after the next successful run deletes about 10 of 30 snapshots of each volume, and leaves 19 days of 29 days"
    ]))
  test("without numbers, if the Backup has no schedule", () =>
    expect(update({ retentionPolicy: "7d" }, stored({ schedule: undefined }, long))).toEqual([
      "Warning: retentionPolicy 7d (before: 30d): the maintenance after the next successful run deletes snapshots that are more than 7 days older than the newest one"
    ]))
  test("and not of other updates", () => {
    expect(update({ retentionPolicy: "60d" })).toEqual([])
    expect(update({ retentionPolicy: undefined })).toEqual([])
    expect(update({ retentionPolicy: "7d", retention: { keepLast: 100 } })).toEqual([])
    expect(update({ retentionPolicy: "60d" }, stored({ schedule: undefined }, long))).toEqual([])
    // Without a successful run, there are no snapshots; a young Backup has only a few.
    expect(update({ retentionPolicy: "7d" }, backup({ retentionPolicy: "30d" }))).toEqual([])
    const young = backup({ retentionPolicy: "30d" }, { status, creationTimestamp: "2026-11-18T00:00:00Z" })
    expect(update({ retentionPolicy: "7d" }, young)).toEqual([])
  })
})

test("Admission warns of a deletion that deletes the snapshots", () => {
  const deletion = (spec: object, of?: Parameters<typeof backup>[1]) =>
    lines(Admission.ofDeletion(stored(spec, backup({}, of))))
  expect(deletion({})).toEqual([])
  expect(deletion({ deletionPolicy: "Delete" })).toEqual([
    "Warning: spec.deletionPolicy Delete: its snapshots will be deleted with Backup cart (set Retain to keep them)"
  ])
  expect(deletion({ deletionPolicy: "Delete", deletionGracePeriod: "7d" }, { status: { snapshots: 31 } })).toEqual([
    "Warning: spec.deletionPolicy Delete: its 31 snapshots will be deleted with Backup cart 7d later (set Retain to keep them)"
  ])
  const annotations = { "backup.example.com/skip-cleanup": "true" }
  expect(deletion({ deletionPolicy: "Delete" }, { annotations })).toEqual([])
})

test("Admission denies a new Backup exactly if the controller reports a permanent error", () =>
  FastCheck.assert(
    FastCheck.property(
      FastCheck.record({
        schedule: FastCheck.constantFrom(
          "0 2 * * *",
          "@daily-random",
          "61 * * * *",
          "0 0 31 2 *",
          "@every 0s",
          "* *",
          '"'
        ),
        timeZone: FastCheck.constantFrom(undefined, "Europe/Berlin", "Europe/Berlim", 'a" (b)'),
        destination: FastCheck.constantFrom(
          undefined,
          "s3://bucket",
          "gs://b",
          "ftp://u:p@host",
          "s3://b/../c",
          "\\\n"
        ),
        retentionPolicy: FastCheck.constantFrom(undefined, "", "30d", "1m", "0d", "x", "200y"),
        pruneInterval: FastCheck.constantFrom("7d", "200y"),
        checkInterval: FastCheck.constantFrom("30d", "0h"),
        image: FastCheck.constantFrom(undefined, "good/a", "bad/a"),
        podSecurityContext: FastCheck.constantFrom(undefined, { runAsUser: 0 })
      }),
      FastCheck.record({
        images: FastCheck.constantFrom(undefined, ["good/"], []),
        allowRoot: FastCheck.boolean(),
        destination: FastCheck.constantFrom(undefined, Result.getOrThrow(Destination.parse("s3://company")))
      }),
      (spec, values) => {
        const settings = Settings.of(values)
        const of = stored(spec)
        const parsed = Spec.parse(of, settings)
        const findings = Admission.ofBackup(of, undefined, settings)
        expect(isDenied(findings)).toBe(Result.isFailure(parsed) || Policy.refusal(of.spec, settings) !== undefined)
        for (const found of findings) {
          if (found._tag !== "Invalid") continue
          // The message does not repeat the value, which kubectl prints before it.
          expect(found.message).not.toContain(`${JSON.stringify(found.value)} (`)
          expect(found.field).toMatch(
            /^spec\.(schedule|timeZone|destination|retentionPolicy|pruneInterval|checkInterval)$/
          )
        }
        if (Result.isFailure(parsed)) {
          const [first] = findings
          const same =
            first?._tag === "Invalid"
              ? new RegExp(`^\\w+ ${first.field.slice("spec.".length)}: `).test(parsed.failure.message) &&
                parsed.failure.message.endsWith(`${JSON.stringify(first.value)} (${first.message})`)
              : first?.message === parsed.failure.message
          expect(same).toBe(true)
        }
        // An update of the same object has no new error.
        expect(isDenied(Admission.ofBackup(of, of, settings))).toBe(false)
      }
    ),
    { numRuns: 2000, seed: Seed.current() }
  ))

const restore = (spec: object = {}, annotations?: { readonly [name: string]: string }): Restore =>
  Result.getOrThrow(
    Restore.decode({
      apiVersion: "backup.example.com/v1",
      kind: "Restore",
      metadata: {
        namespace: "shop",
        name: "again",
        uid: "u",
        resourceVersion: "1",
        creationTimestamp: "2026-11-20T09:00:00Z",
        ...(annotations !== undefined && { annotations })
      },
      spec: { backupRef: "cart", targetPVC: "data", ...spec }
    } as Parameters<typeof Restore.decode>[0])
  )

describe("Admission of a Restore", () => {
  const found = (spec: object, settings: Partial<Settings.Values> = {}) =>
    lines(Admission.ofRestore(restore(spec), Settings.of(settings)))
  test("accepts a valid Restore", () => {
    expect(found({})).toEqual([])
    expect(found({ asOf: "2026-11-20T08:00:00Z", mode: "Overlay", inUse: "Allow" })).toEqual([])
  })
  test("denies it if the settings of the manager forbid its mover", () => {
    expect(found({ image: "other:1" }, { images: ["registry.example.com/"] })).toEqual([
      "spec.image: Forbidden: the manager's HOMEOSTAT_BACKUP_IMAGES allows registry.example.com/"
    ])
    expect(found({ podSecurityContext: { runAsUser: 0 } }, { allowRoot: false })).toEqual([
      "spec.podSecurityContext.runAsUser: Forbidden: the manager's HOMEOSTAT_BACKUP_ALLOW_ROOT is false"
    ])
  })
  test("warns of deprecated fields and times in the future", () => {
    expect(found({ overwrite: true })).toEqual([
      "Warning: spec.overwrite is deprecated (write spec.mode: Overlay and spec.inUse: Allow)"
    ])
    expect(found({ asOf: "2027-11-20T08:00:00Z" })).toEqual([
      "Warning: spec.asOf 2027-11-20T08:00:00Z is in the future: a Restore that waits may restore a snapshot that is newer than the Restore"
    ])
  })
})

describe("The annotation requested-by", () => {
  const key = "backup.example.com/requested-by"
  test("is set to the user that creates the Restore, unless the user sets it", () => {
    const patch = { metadata: { annotations: { [key]: "ann" } } }
    expect(Admission.requestedBy(restore(), "ann")).toEqual(patch)
    expect(Admission.requestedBy(restore({}, { other: "x" }), "ann")).toEqual(patch)
    expect(Admission.requestedBy(restore({}, { [key]: "" }), "ann")).toEqual(patch)
    expect(Admission.requestedBy(restore({}, { [key]: "bob" }), "ann")).toBeUndefined()
  })

  const environment = Expression.environment()
    .registerVariable("object", "dyn")
    .registerVariable("oldObject", "dyn")
    .registerVariable("request", "dyn")
  const evaluate = (
    expression: string,
    now: string | undefined,
    old?: { readonly by: string | undefined }
  ): unknown => {
    const program = Expression.compile(environment, expression)
    if ("problem" in program) throw new Error(program.problem)
    const of = (by: string | undefined) => ({ metadata: by === undefined ? {} : { annotations: { [key]: by } } })
    const variables = {
      self: null,
      object: of(now),
      oldObject: old === undefined ? null : of(old.by),
      request: { operation: old === undefined ? "CREATE" : "UPDATE", userInfo: { username: "ann" } }
    }
    const result = program.evaluate(variables)
    if ("problem" in result) throw new Error(result.problem)
    return result.value
  }
  const denied = (now: string | undefined, old?: { readonly by: string | undefined }) =>
    evaluate(Admission.requestedByRule.expression, now, old) === true
      ? undefined
      : evaluate(Admission.requestedByRule.messageExpression, now, old)
  test("cannot contain another user", () => {
    for (const by of [undefined, "", "ann"]) expect(denied(by)).toBeUndefined()
    expect(denied("bob")).toBe(
      'metadata.annotations[backup.example.com/requested-by]: Invalid value: "bob": must be "ann", the user that creates the Restore'
    )
  })
  test("is immutable", () => {
    for (const by of [undefined, "ann", "bob"]) expect(denied(by, { by })).toBeUndefined()
    for (const [now, old] of [
      ["ann", "bob"],
      ["ann", undefined],
      [undefined, "bob"],
      ["", "bob"]
    ] as const) {
      expect(denied(now, { by: old })).toBe(
        `metadata.annotations[backup.example.com/requested-by]: Invalid value: "${now ?? ""}": field is immutable`
      )
    }
  })
})

test("The webhooks fail open, and the policy for requested-by fails closed", () => {
  const [backups, restores, defaulted, protection] = Admission.admission
  for (const { hooks } of [backups, restores, defaulted]) {
    expect(hooks.length).toBeGreaterThan(0)
    for (const hook of hooks) expect(hook.failurePolicy).toBe("Ignore")
  }
  expect(protection.hooks).toEqual([])
  expect(protection.failurePolicy).toBe("Fail")
  expect(protection.rules).toMatchObject([{ name: "requested-by", action: "Deny", changes: "all" }])
})
