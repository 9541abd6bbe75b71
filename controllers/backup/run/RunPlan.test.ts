import { describe, expect, test } from "bun:test"
import type { Job } from "@homeostat/runtime/resource/BuiltIn"
import type { BackupStatus } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import { accepted, at, backup, created, group, job, understood } from "./Backups.fixture.ts"
import * as MoverJob from "./MoverJob.ts"
import * as RunPlan from "./RunPlan.ts"

const lastRun = (job: string, completionTime: string, reason = "Succeeded"): NonNullable<BackupStatus["lastRun"]> => ({
  job,
  trigger: "schedule",
  startTime: "2026-11-20T02:00:00Z",
  completionTime,
  reason
})
const active = (job: string): NonNullable<BackupStatus["active"]> => ({
  job,
  trigger: "schedule",
  startTime: "2026-11-20T02:00:00Z"
})

describe("RunPlan.current finds the active run", () => {
  const name = (status: BackupStatus, jobs: ReadonlyArray<Job>) => RunPlan.current(status, jobs)?.metadata.name

  test("in the status", () => expect(name({ active: active("b") }, [job("a"), job("b"), job("c")])).toBe("b"))
  test("and no other Job if the active Job is gone", () =>
    expect(name({ active: active("b") }, [job("a")])).toBeUndefined())
  test("while its Job is being deleted, so that its end is reported", () =>
    expect(name({ active: active("b") }, [job("b", { deleted: true })])).toBe("b"))
  test("after a crash between the Job and the status write", () => {
    expect(name({}, [job("a")])).toBe("a")
    expect(
      name({ lastRun: lastRun("a", "2026-11-19T02:05:00Z") }, [
        job("a", { made: "2026-11-19T02:00:00Z", ended: "Complete" }),
        job("b", { made: "2026-11-20T02:00:00Z" })
      ])
    ).toBe("b")
  })
  test("after such a crash, even if the Job has ended since", () =>
    expect(
      name({ lastRun: lastRun("a", "2026-11-19T02:05:00Z") }, [
        job("a", { made: "2026-11-19T02:00:00Z", ended: "Complete" }),
        job("b", { made: "2026-11-20T02:00:00Z", ended: "Failed" })
      ])
    ).toBe("b"))
  test("in the newest of several finished Jobs without a status", () => {
    const jobs = ["2026-11-18", "2026-11-19", "2026-11-20"].map((day) =>
      job(`of-${day}`, { made: `${day}T02:00:00Z`, ended: "Complete" })
    )
    expect(name({}, jobs)).toBe("of-2026-11-20")
    // After the report of that Job, no other is current.
    expect(name({ lastRun: lastRun("of-2026-11-20", "2026-11-20T02:05:00Z") }, jobs)).toBeUndefined()
  })
  test("but not in Jobs that were reported before lastRun", () =>
    expect(
      name({ lastRun: lastRun("b", "2026-11-20T02:05:00Z") }, [
        job("a", { made: "2026-11-20T02:00:00Z", ended: "Complete" }),
        job("b", { made: "2026-11-20T02:01:00Z", ended: "Complete" })
      ])
    ).toBeUndefined())
  test("by the annotation of the previous run, independent of the clocks", () => {
    const b = { lastRun: lastRun("b", "2026-11-20T02:05:00Z") }
    expect(name(b, [job("c", { made: "2026-11-19T02:00:00Z", ended: "Complete", after: "b" })])).toBe("c")
    expect(name(b, [job("a", { made: "2027-11-20T02:00:00Z", ended: "Complete", after: "z" })])).toBeUndefined()
    expect(name(b, [job("a", { made: "2027-11-20T02:00:00Z", ended: "Complete", after: "" })])).toBeUndefined()
  })
  test("but not in abandoned or deleted Jobs", () => {
    expect(name({ lastRun: lastRun("a", "2026-11-20T02:05:00Z", "StartTimeout") }, [job("a")])).toBeUndefined()
    expect(name({}, [job("a", { deleted: true })])).toBeUndefined()
  })
  test("in the order of the runs, after two crashes before the first status", () => {
    const first = job("a", { ended: "Complete", after: "" })
    const second = job("b", { after: first.metadata.uid })
    expect(name({}, [first, second])).toBe("a")
  })
  test("in the order of the runs, after two crashes", () => {
    const [b, c] = [job("b", { ended: "Complete", after: "uid-of-a" }), job("c", { after: "uid-of-b" })]
    const ended = (job: string) => ({ ...lastRun(job, "2026-11-20T02:05:00Z"), uid: `uid-of-${job}` })
    expect(name({ lastRun: ended("a") }, [b, c])).toBe("b")
    expect(name({ lastRun: ended("b") }, [b, c])).toBe("c")
  })
  test("by uid, if an older Job had the same name before the clock was set back", () => {
    const now = job("a", { uid: "new", after: "uid-of-b" })
    const old = { ...lastRun("a", "2026-11-20T02:05:00Z"), uid: "old" }
    expect(name({ lastRun: old }, [now])).toBe("a")
    expect(RunPlan.abandoned({ lastRun: old }, [now])).toEqual([])
    expect(name({ active: { ...active("a"), uid: "old" } }, [now])).toBeUndefined()
    // The status reported `a` before `b`, and reports `a` again. The end of `b` is still old.
    const again = { ...lastRun("a", "2026-11-20T02:05:00Z"), uid: "new" }
    expect(name({ lastRun: again }, [job("b", { ended: "Failed", after: "old" }), now])).toBeUndefined()
  })
})

test("RunPlan.activeOf reads a run from the annotations of its Job", () => {
  expect(RunPlan.activeOf(job("a", { made: "2026-11-20T02:00:00Z", trigger: "manual", token: "T" }))).toEqual({
    job: "a",
    uid: "uid-of-a",
    trigger: "manual",
    startTime: "2026-11-20T02:00:00Z",
    token: "T"
  })
  expect(RunPlan.activeOf(job("a", { trigger: "of another version" }))).toMatchObject({ trigger: "schedule" })
})

test("RunPlan.past combines the status and the newest scheduled Job, and ignores invalid times", () => {
  expect(
    RunPlan.past(backup(), { lastScheduleTime: "2026-11-20T02:00:00Z", lastMissedTime: "soon" }, [
      job("a", { tick: "2026-11-20T02:00:00Z" }),
      job("b", { tick: "2026-11-18T02:00:00Z" }),
      job("c")
    ])
  ).toEqual({
    createdAt: at(created),
    lastScheduleTime: at("2026-11-20T02:00:00Z"),
    newestRun: at("2026-11-20T02:00:00Z"),
    lastMissedTime: undefined
  })
  expect(RunPlan.past(backup(), {}, [job("c")])).toMatchObject({ newestRun: undefined })
  const [tick] = [job("a", { tick: "2026-11-20T02:00:00Z" })]
  expect(RunPlan.past(backup(), {}, [tick])).toMatchObject({ newestRun: at("2026-11-20T02:00:00Z") })
})

test("RunPlan.continued keeps the fields of a run for its next Job", () => {
  const before = { ...active("a"), uid: "uid-of-a", token: "T" }
  expect(RunPlan.continued(before, job("b"))).toEqual({ ...before, job: "b", uid: "uid-of-b" })
})

const now = at("2026-11-20T10:00:00Z")
const due = { at: at("2026-11-20T02:00:00Z"), missed: "none" } as const
const wishes = (unlock: string | undefined, run: string | undefined) => ({
  ...(unlock !== undefined && { [Names.unlockAnnotation]: unlock }),
  ...(run !== undefined && { [Names.runAnnotation]: run })
})
const request = (
  {
    annotations = {},
    jobs = [],
    ...status
  }: BackupStatus & { readonly annotations?: { readonly [name: string]: string }; readonly jobs?: ReadonlyArray<Job> },
  what: Parameters<typeof RunPlan.request>[3] = undefined,
  { moment = now, spec = {} }: { readonly moment?: number; readonly spec?: { readonly [field: string]: unknown } } = {}
) => RunPlan.request(backup(spec, { annotations }), status, jobs, what, moment)

describe("RunPlan.request", () => {
  const locked = { lastRun: lastRun("a", "2026-11-20T09:00:00Z", "RepositoryLocked"), lastScheduleTime: created }

  test("prefers an unlock to a manual run, the schedule and a retry", () => {
    const all = wishes("U", "R")
    expect(request({ ...locked, annotations: all }, due)).toMatchObject({ trigger: "unlock", token: "U" })
    expect(request({ ...locked, annotations: all, lastUnlockTrigger: "U" }, due)).toMatchObject({
      trigger: "manual",
      token: "R",
      // The tick now has its run.
      tick: due.at
    })
    const done = { lastUnlockTrigger: "U", lastManualTrigger: "R" }
    expect(request({ ...locked, annotations: all, ...done }, due)).toMatchObject({ trigger: "schedule", tick: due.at })
    expect(request({ ...locked, annotations: all, ...done })).toMatchObject({ trigger: "retry", tick: undefined })
    expect(request({ annotations: all, ...done })).toBeUndefined()
    expect(request({ annotations: all })).toMatchObject({ trigger: "unlock", tick: undefined })
  })
  test("starts the first run with trigger start, unless startPolicy is OnSchedule", () => {
    expect(request({}, due)?.trigger).toBe("start")
    expect(request({}, due, { spec: { startPolicy: "OnSchedule" } })?.trigger).toBe("schedule")
    expect(request({ lastScheduleTime: created }, due)?.trigger).toBe("schedule")
  })
  test("returns manual runs of a suspended Backup, but no retries", () => {
    expect(request({ annotations: wishes(undefined, "R") }, undefined, { spec: { suspend: true } })?.trigger).toBe(
      "manual"
    )
    expect(request(locked, undefined, { spec: { suspend: true } })).toBeUndefined()
  })
  test("ignores an annotation without a value", () => expect(request({ annotations: wishes("", "") })).toBeUndefined())
  test("recognizes a token that was truncated in the status", () => {
    for (const long of ["x".repeat(300), `${"x".repeat(252)}\u{1f600}tail`]) {
      const first = request({ annotations: wishes(undefined, long) })
      expect(first?.token?.length).toBeLessThanOrEqual(253)
      expect(first?.token?.isWellFormed()).toBe(true)
      expect(request({ annotations: wishes(undefined, long), lastManualTrigger: first?.token ?? "" })).toBeUndefined()
    }
  })
})

describe("A retry after a lock", () => {
  const locked = (completionTime: string): BackupStatus => ({
    lastRun: lastRun("a", completionTime, "RepositoryLocked"),
    lastScheduleTime: created
  })
  test("starts after half an hour", () => {
    const status = locked("2026-11-20T09:30:00Z")
    expect(RunPlan.retryAt(status, now)).toBe(now)
    expect(request(status, undefined, { moment: now - 1 })).toBeUndefined()
    expect(request(status)).toMatchObject({ trigger: "retry" })
  })
  test("does not follow other results", () => {
    expect(RunPlan.retryAt({ lastRun: lastRun("a", "2026-11-20T09:00:00Z", "WrongPassword") }, now)).toBeUndefined()
    expect(RunPlan.retryAt({}, now)).toBeUndefined()
  })
  test("is not delayed for long if the clock was set back", () => {
    expect(RunPlan.retryAt(locked("2027-11-20T09:30:00Z"), now)).toBe(now)
    expect(RunPlan.retryAt(locked("2026-11-20T10:20:00Z"), now)).toBe(at("2026-11-20T10:50:00Z"))
    expect(RunPlan.retryAt(locked("2026-11-20T10:30:00Z"), now)).toBe(at("2026-11-20T11:00:00Z"))
  })
  test("has an id of its own, which is stable until the retry is reported", () => {
    const first = request(locked("2026-11-20T09:00:00Z"))
    expect(request(locked("2026-11-20T09:00:00Z"), undefined, { moment: now + 12_345 })).toEqual(first)
    const later = { lastRun: lastRun("b", "2026-11-20T09:00:00Z", "RepositoryLocked"), lastScheduleTime: created }
    expect(request(later)?.id).not.toBe(first?.id ?? "")
  })
})

describe("A retry after a temporary failure", () => {
  const failed = (reason: string, consecutiveFailures: number): BackupStatus => ({
    lastRun: lastRun("a", "2026-11-20T10:00:00Z", reason),
    lastScheduleTime: created,
    consecutiveFailures
  })
  const minutes = (status: BackupStatus) =>
    ((RunPlan.retryAt(status, now) ?? Number.NaN) - at("2026-11-20T10:00:00Z")) / 60_000
  test("follows after 5 and 15 minutes, and then after 1 and 4 hours", () =>
    expect([1, 2, 3, 4, 5, 60].map((failures) => minutes(failed("DestinationUnreachable", failures)))).toEqual([
      5, 15, 60, 240, 240, 240
    ]))
  for (const reason of ["ImagePullFailed", "OutOfMemory", "PodEvicted", "ResticFailed", "StartTimeout", "Terminated"]) {
    test(`follows ${reason}`, () => expect(minutes(failed(reason, 1))).toBe(5))
  }
  for (const reason of [
    "WrongPassword",
    "RepositoryMissing",
    "RepositoryDamaged",
    "RepositoryHalfMade",
    "VolumeEmpty",
    "PartiallyFailed",
    "Replaced"
  ]) {
    test(`does not follow ${reason}`, () => expect(RunPlan.retryAt(failed(reason, 1), now)).toBeUndefined())
  }
  test("yields to a scheduled run", () => {
    const status = { ...failed("ResticFailed", 1), lastRun: lastRun("a", "2026-11-20T09:00:00Z", "ResticFailed") }
    expect(request(status, due)).toMatchObject({ trigger: "schedule" })
    expect(request(status)).toMatchObject({ trigger: "retry" })
  })
})

describe("A new Backup with the annotations of an earlier one", () => {
  const annotations = {
    [Names.retentionAnnotation]: "r",
    [Names.unlockAnnotation]: "u",
    [Names.runAnnotation]: "m"
  }
  const adopted = (spec: { readonly [field: string]: unknown }, status?: BackupStatus) => {
    const of = backup(spec, { annotations, ...(status !== undefined && { status }) })
    return RunPlan.adopted(of, { status: status ?? {}, events: [] }).status
  }
  test("deletes no held snapshots and removes no locks", () =>
    expect(adopted({})).toEqual({ lastRetentionTrigger: "r", lastUnlockTrigger: "u" }))
  test("does that with the default status of the API server, too", () =>
    expect(adopted({}, { observedGeneration: -1 })).toMatchObject({
      lastRetentionTrigger: "r",
      lastUnlockTrigger: "u"
    }))
  test("does not run while it is suspended", () =>
    expect(adopted({ suspend: true })).toMatchObject({ lastManualTrigger: "m", lastUnlockTrigger: "u" }))
  test("carries them out if the manager has observed the Backup without them", () =>
    expect(adopted({ suspend: true }, { observedGeneration: 1 })).toEqual({ observedGeneration: 1 }))
})

describe("The id of a run", () => {
  test("is the minute of its scheduled time, as in CronJob, or the second if that is finer", () => {
    expect(request({}, due)?.id).toBe(`${due.at / 60_000}`)
    expect(request({}, { ...due, at: due.at + 1500 })?.id).toBe(`${due.at / 1000 + 1}`)
  })
  test("differs for each request, even with the same token", () => {
    const words = ["T", "U", "T", "U", "T", "U"]
    for (const kind of ["manual", "unlock"] as const) {
      let status: BackupStatus = {}
      const names = words.map((word) => {
        const asked = request({
          ...status,
          annotations: kind === "manual" ? wishes(undefined, word) : wishes(word, undefined)
        })
        const name = MoverJob.nameOf("cart", asked?.id ?? "")
        expect(asked?.trigger).toBe(kind)
        status = {
          lastRun: lastRun(name, "2026-11-20T02:05:00Z"),
          [kind === "manual" ? "lastManualTrigger" : "lastUnlockTrigger"]: word
        }
        return name
      })
      expect(new Set(names).size).toBe(words.length)
    }
  })
  test("is stable until its Job is reported", () => {
    const status: BackupStatus = { lastRun: lastRun("a", "2026-11-20T02:05:00Z"), lastManualTrigger: "S" }
    const asked = () => request({ ...status, annotations: wishes(undefined, "T") })
    expect(asked()).toEqual(asked())
    const made = job(MoverJob.nameOf("cart", `${due.at / 60_000}`), { after: "a", ended: "Complete" })
    expect(request({ ...status, jobs: [made] }, due)?.id).toBe(`${due.at / 60_000}`)
  })
  test("differs if the scheduled time repeats after the clock was set back", () => {
    const id = `${due.at / 60_000}`
    const old = job(MoverJob.nameOf("cart", id), { made: "2026-11-19T02:00:00Z", ended: "Complete" })
    const reported = (name: string) => ({ lastRun: lastRun(name, "2026-11-19T03:00:00Z"), jobs: [old] })
    expect(request(reported(old.metadata.name), due)?.id).toMatch(new RegExp(`^${id}x[0-9a-f]{8}$`))
    expect(request(reported("another"), due)).toEqual(request(reported(old.metadata.name), due))
    // The replaced run may still have its Job.
    const replaced = job(MoverJob.nameOf("cart", id))
    const status = {
      lastRun: { ...lastRun(replaced.metadata.name, "2026-11-19T03:00:00Z"), uid: replaced.metadata.uid }
    }
    expect(request({ ...status, jobs: [replaced] }, due)?.id).not.toBe(id)
  })
})

describe("A run of several Jobs", () => {
  const groups = [group("a", "b"), group("c"), group("d")]
  test("starts with the first group, and leaves the others to later Jobs", () =>
    expect(RunPlan.part(groups, undefined)).toEqual({ group: group("a", "b"), later: ["c", "d"] }))
  test("continues with the remaining claims, even if pods have moved", () => {
    expect(RunPlan.part([group("a", "c"), group("b", "d")], ["c", "d"])).toEqual({ group: group("c"), later: ["d"] })
    expect(RunPlan.part(groups, ["d"])).toEqual({ group: group("d"), later: [] })
  })
  test("has no next part if the remaining claims are gone", () => expect(RunPlan.part(groups, ["x"])).toBeUndefined())
})

const work = (
  {
    claims = ["data"],
    later = [],
    ...options
  }: {
    readonly claims?: readonly [string, ...ReadonlyArray<string>]
    readonly later?: ReadonlyArray<string>
    readonly request?: RunPlan.Request
    readonly before?: Job
  },
  status: BackupStatus = {},
  spec: { readonly [field: string]: unknown } = {}
) => {
  const of = backup(spec)
  return RunPlan.work(of, status, understood(of), {
    part: { group: group(...claims), later },
    before: undefined,
    request: options.before === undefined ? tick : undefined,
    credentials: { env: [], volumes: [], volumeMounts: [] },
    ...options
  })
}
const tick: RunPlan.Request = { trigger: "schedule", id: "29393880", tick: due.at, missed: "none", token: undefined }
const kept = { retentionPolicy: "30d" }
const fresh: BackupStatus = { repositoryID: "ab" }

describe("A Job of a run", () => {
  const operations = (...args: Parameters<typeof work>) => work(...args).operations.join(" ")

  test("only saves, even if maintenance is due", () => {
    expect(operations({}, fresh, kept)).toBe("preflight backup")
    expect(work({}, fresh, kept).parameters.FORGET_ARGS).toBeUndefined()
  })
  test("removes locks on request, first, and only in the first Job of the run", () => {
    const asked: RunPlan.Request = { ...tick, trigger: "unlock", token: "U" }
    expect(operations({ request: asked, later: ["b"] }, fresh, kept)).toBe("preflight unlock-all backup")
    const before = job("cart-u1", { id: "u1", trigger: "unlock" })
    expect(operations({ before }, { ...fresh, active: { ...active("cart-u1"), trigger: "unlock" } }, kept)).toBe(
      "preflight backup"
    )
  })
  test("has the trigger of its request, of its run, or schedule", () => {
    const manual: RunPlan.Request = { ...tick, trigger: "manual" }
    const later = { ...fresh, active: { ...active("cart-1"), trigger: "unlock" as const } }
    expect(work({ request: manual }, later).trigger).toBe("manual")
    const before = job("cart-1", { id: "1" })
    expect(work({ before }, later).trigger).toBe("unlock")
    expect(work({ before }, fresh).trigger).toBe("schedule")
  })
  test("creates a repository only if the Backup has none", () => {
    const init = (status: BackupStatus) => work({}, status).parameters.INIT
    expect(init({})).toBe("1")
    expect(init({ consecutiveFailures: 3 })).toBe("1")
    expect(init({ repositoryID: "ab" })).toBeUndefined()
    // The status of the tutorial's controller, which saved nothing.
    expect(init({ phase: "Completed", lastBackupTime: created })).toBe("1")
  })
  test("gets a stable tag for its snapshots", () => {
    const { parameters } = work({}, fresh, { allowPartial: true, excludes: ["*.tmp", "cache/**"] })
    expect(parameters).toEqual({
      BACKUP_HOST: "shop",
      BACKUP_TAG: "shop/cart",
      RUN_TAG: expect.stringMatching(/^run:[0-9a-f]{8}-29393880$/),
      INIT: undefined,
      REPOSITORY_ID: "ab",
      ALLOW_EMPTY: undefined,
      IS_PART: undefined,
      ALLOW_PARTIAL: "1",
      EXCLUDES: "*.tmp\ncache/**"
    })
    expect(work({}, fresh).parameters).toMatchObject({ ALLOW_PARTIAL: undefined, EXCLUDES: undefined })
  })
  test("has a unique run tag, even if a scheduled time repeats after the clock was set back", () => {
    const tag = (status: BackupStatus) => work({}, status).parameters.RUN_TAG
    const before = { ...fresh, lastRun: { ...lastRun("cart-1", "2026-11-19T02:05:00Z"), uid: "one" } }
    const after = { ...fresh, lastRun: { ...lastRun("cart-1", "2026-11-19T02:05:00Z"), uid: "two" } }
    expect(tag(before)).toBe(tag(before))
    expect(new Set([tag(fresh), tag(before), tag(after)]).size).toBe(3)
  })
  test("is read without forged tags, and with a token that fits into the status", () => {
    const edited = (annotations: { readonly [name: string]: string }): Job => {
      const made = job("cart-1", { token: "t" })
      return { ...made, metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, ...annotations } } }
    }
    const tag = work({}).parameters.RUN_TAG ?? ""
    expect(RunPlan.activeOf(edited({ [Names.tagAnnotation]: tag })).tag).toBe(tag)
    for (const forged of [`${tag} --tag bank/vault`, `${tag}\n--password-command=x`, "", tag.repeat(9)]) {
      expect(RunPlan.activeOf(edited({ [Names.tagAnnotation]: forged })).tag).toBeUndefined()
    }
    const active = RunPlan.activeOf(edited({ [Names.tokenAnnotation]: `${"t".repeat(252)}\u{1F600}${"t".repeat(99)}` }))
    expect(active.token).toBe("t".repeat(252))
    accepted({ active })
  })
  test("mounts its claims read-only, and lists them and the remaining ones in annotations", () => {
    const made = work({ claims: ["a", "b"], later: ["c", "d"] })
    expect(made.claims).toEqual([
      { name: "a", readOnly: true },
      { name: "b", readOnly: true }
    ])
    expect(made.annotations).toEqual({
      [Names.runIdAnnotation]: "29393880",
      [Names.tagAnnotation]: expect.stringMatching(/^run:[0-9a-f]{8}-29393880$/),
      [Names.scheduledAtAnnotation]: "2026-11-20T02:00:00Z",
      [Names.tokenAnnotation]: undefined,
      [Names.afterAnnotation]: "",
      [Names.claimsAnnotation]: "a,b",
      [Names.remainingAnnotation]: "c,d"
    })
  })
  test("that continues a run has the next number in its name", () => {
    const goesOn = (id: string) =>
      work({ before: job("x", { id }) }, { active: { ...active("x"), trigger: "manual", token: "T" } })
    expect(goesOn("29393880")).toMatchObject({ name: "cart-29393880-2", trigger: "manual" })
    expect(goesOn("29393880-2").name).toBe("cart-29393880-3")
    expect(goesOn("m0123abcd-9").name).toBe("cart-m0123abcd-10")
    expect(goesOn("29393880x01234567").name).toBe("cart-29393880x01234567-2")
    expect(goesOn("1").annotations[Names.tokenAnnotation]).toBe("T")
  })
})

describe("RunPlan.abandoned", () => {
  const status: BackupStatus = { lastRun: lastRun("a", "2026-11-20T02:10:00Z", "StartTimeout") }
  const names = (of: BackupStatus, jobs: ReadonlyArray<Job>) =>
    RunPlan.abandoned(of, jobs).map(({ metadata }) => metadata.name)
  test("returns Jobs that timed out, also after a crash", () =>
    expect(names(status, [job("a"), job("b")])).toEqual(["a"]))
  test("excludes Jobs that have ended, are being deleted, or are active", () => {
    expect(names(status, [job("a", { ended: "Failed" })])).toEqual([])
    expect(names(status, [job("a", { deleted: true })])).toEqual([])
    expect(names({ ...status, active: active("a") }, [job("a")])).toEqual([])
  })
})

describe("RunPlan.superfluous", () => {
  const jobs = [..."abcdefgh"].map((name, index) =>
    job(name, {
      made: `2026-11-1${index}T02:00:00Z`,
      ended: name === "b" || name === "d" || name === "f" ? "Failed" : "Complete"
    })
  )
  const reported: BackupStatus = { lastRun: lastRun("h", "2026-11-17T02:05:00Z") }
  const names = (status: BackupStatus, of = jobs, spec = {}) =>
    RunPlan.superfluous(backup(spec), status, of).map(({ metadata }) => metadata.name)

  test("keeps the newest three successful Jobs and the newest failed one by default", () =>
    expect(names(reported)).toEqual(["a", "c", "b", "d"]))
  test("keeps the number of Jobs in the spec, including 0", () => {
    expect(names(reported, jobs, { successfulRunsHistoryLimit: 1, failedRunsHistoryLimit: 3 })).toEqual([
      "a",
      "c",
      "e",
      "g"
    ])
    expect(names(reported, jobs, { successfulRunsHistoryLimit: 0, failedRunsHistoryLimit: 0 }).sort()).toEqual([
      ..."abcdefgh"
    ])
  })
  const none = { successfulRunsHistoryLimit: 0, failedRunsHistoryLimit: 0 }
  test("keeps Jobs whose end is not reported", () => {
    // The newest run is not reported yet.
    expect(names({ lastRun: lastRun("g", "2026-11-16T02:05:00Z") }, jobs, none)).not.toContain("h")
    expect(names({}, jobs, none)).not.toContain("h")
    expect(names({ ...reported, active: active("h") }, jobs, none)).not.toContain("h")
  })
  test("ignores active Jobs and Jobs that are being deleted", () =>
    expect(names(reported, [job("x"), job("y", { ended: "Complete", deleted: true })], none)).toEqual([]))
})

test("RunPlan.superfluous first returns finished Jobs that were created in the future", () => {
  const over = (name: string, made: string) => job(name, { made, ended: "Complete" as const })
  const jobs = [
    over("old", "2026-11-20T02:00:00Z"),
    over("ahead", "2026-11-20T10:01:01Z"),
    over("near", "2026-11-20T10:01:00Z")
  ]
  const names = (limit: number) =>
    RunPlan.superfluous(
      backup({ successfulRunsHistoryLimit: limit }),
      { lastRun: lastRun("near", "2026-11-20T11:00:00Z") },
      jobs,
      now
    ).map(({ metadata }) => metadata.name)
  expect(names(2)).toEqual(["ahead"])
  expect(names(1)).toEqual(["ahead", "old"])
  expect(names(3)).toEqual([])
})
