/** Real failures: each failure has its own exit code, and its message quotes the program that knows the cause. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Outcome from "@homeostat/backup/run/Outcome"
import * as Test from "@homeostat/testkit/Test"
import { Duration, Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as RestServer from "./RestServer.ts"
import * as S3Server from "./S3Server.ts"
import * as Tree from "./Tree.ts"

const scope = Effect.runSync(Scope.make())
/** An empty repository. Each test uses a copy. */
let template: string

beforeAll(async () => {
  template = await Effect.gen(function* () {
    const mover = yield* Mover.make()
    const path = join(mover.folder, "repository")
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(path, mover.env)
    return path
  }).pipe(Scope.provide(scope), Effect.runPromise)
}, 60_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const make = (env?: Restic.Environment) =>
  Effect.gen(function* () {
    const mover = yield* Mover.make(env)
    const repository = join(mover.folder, "repository")
    cpSync(template, repository, { recursive: true })
    writeFileSync(join(mover.volume("data"), "file"), "content")
    return { mover, repository }
  })

/** The controller's judgement of a mover's result. */
const judged = ({ exitCode, message }: Mover.Ended) => Outcome.judge({ _tag: "Exited", exitCode, text: message }, {})

describe("A destination that is unusable", () => {
  Test.live("because of its password ends with exit code 42, and no repository is created, even the first time", () =>
    Effect.gen(function* () {
      const { mover, repository } = yield* make()
      for (const INIT of [undefined, "1"]) {
        const ended = yield* mover.run("preflight backup", { RESTIC_PASSWORD: "a wrong one", INIT })
        expect(ended).toMatchObject({
          exitCode: 42,
          result: {
            reason: "WrongPassword",
            operation: "preflight",
            message: expect.stringContaining("wrong password"),
            repository: undefined
          }
        })
        expect(ended.stdout + ended.stderr + ended.message).not.toContain("a wrong one")
      }
      expect(readdirSync(join(repository, "keys"))).toHaveLength(1)
    })
  )

  Test.live("because its repository is gone ends with exit code 40, and no repository is created", () =>
    Effect.gen(function* () {
      const { mover } = yield* make()
      const gone = join(mover.folder, "gone")
      const ended = yield* mover.run("preflight backup", { RESTIC_REPOSITORY: gone })
      expect(ended).toMatchObject({
        exitCode: 40,
        result: { reason: "RepositoryMissing", message: expect.stringContaining("repository does not exist") }
      })
      expect(existsSync(gone)).toBe(false)
    })
  )

  Test.live("because its files belong to another user ends with a message about the user and the fix", () =>
    Effect.gen(function* () {
      const { mover, repository } = yield* make()
      chmodSync(join(repository, "config"), 0o000)
      const { exitCode, result } = yield* mover.run("preflight backup", { user: "nobody" })
      expect([exitCode, result.reason]).toEqual([44, "ResticFailed"])
      expect(result.message).toMatch(
        /^user \d+ with the groups .* lacks a permission for the files of the repository: .*permission denied/
      )
    })
  )

  for (const [name, RESTIC_REPOSITORY, cause] of [
    ["a server that is down", "rest:https://joe:hidden@127.0.0.1:1/x/", "connect: connection refused"],
    ["an unknown host", "rest:https://nowhere.invalid/x/", "lookup nowhere.invalid"]
  ] as const) {
    Test.live(`because of ${name} ends with exit code 43 after the timeout, with the cause`, () =>
      Effect.gen(function* () {
        const { mover } = yield* make()
        const [time, ended] = yield* Effect.timed(
          mover.run("preflight backup", { RESTIC_REPOSITORY, PREFLIGHT_TIMEOUT: "3" })
        )
        expect(ended).toMatchObject({
          exitCode: 43,
          result: { reason: "DestinationUnreachable", operation: "preflight" }
        })
        expect(ended.result.message).toContain(cause)
        expect(ended.result.message).not.toMatch(/context canceled|joe|hidden/)
        expect(Duration.toSeconds(time)).toBeLessThan(15)
      })
    )
  }

  Test.live("because of its key or a missing bucket ends with exit code 43 and the message of the service", () =>
    Effect.gen(function* () {
      const server = yield* S3Server.start
      const { mover } = yield* make(server.environment("missing", "nightly"))
      const brief = { PREFLIGHT_TIMEOUT: "3", INIT: undefined }
      const [wrongKey, missing] = yield* Effect.all(
        [
          mover.run("preflight backup", { ...brief, AWS_ACCESS_KEY_ID: "AKIANOBODY" }),
          mover.run("preflight backup", brief)
        ],
        { concurrency: 2 }
      )
      expect(wrongKey).toMatchObject({
        exitCode: 43,
        result: { message: expect.stringContaining("Access Key Id you provided does not exist") }
      })
      expect(missing).toMatchObject({
        exitCode: 43,
        result: { message: expect.stringContaining("The specified bucket does not exist") }
      })
      expect(readdirSync(server.folder)).toEqual([])
    })
  )

  Test.live("because of the password or the path depth of a REST server ends with exit code 43 and the cause", () =>
    Effect.gen(function* () {
      const server = yield* RestServer.start()
      const { mover } = yield* make(server.environment("nightly"))
      const refused = yield* mover.run("preflight", { RESTIC_REST_PASSWORD: "not the right one" })
      expect(refused).toMatchObject({ exitCode: 43, result: { message: expect.stringContaining("401") } })
      expect(refused.stderr + refused.message).not.toContain("not the right one")
      const deep = yield* mover.run("preflight", { ...server.environment("a/b/c"), INIT: "1" })
      expect(deep).toMatchObject({ exitCode: 43, result: { message: expect.stringContaining("two folders") } })
    })
  )
})

describe("A destination that is full", () => {
  const full = Effect.gen(function* () {
    const server = yield* RestServer.start({ maxSize: 6_000_000 })
    const { mover } = yield* make(server.environment("nightly"))
    const stored = join(server.folder, "nightly")
    cpSync(template, stored, { recursive: true })
    const file = join(mover.volume("data"), "noise")
    for (const seed of ["one", "two"]) {
      writeFileSync(file, Tree.noise(2_000_000, seed))
      expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
    }
    writeFileSync(file, Tree.noise(3_000_000, "three"))
    return { mover, stored }
  })

  Test.live("fails with that reason, and keeps its snapshots", () =>
    Effect.gen(function* () {
      const { mover } = yield* full
      const ended = yield* mover.run("preflight backup forget", { FORGET_ARGS: "--keep-last 1" })
      expect(ended).toMatchObject({
        exitCode: 44,
        result: { reason: "DestinationFull", operation: "backup", removed: undefined, pruned: false }
      })
      expect(ended.result.message).toContain("507 Insufficient Storage")
      expect(judged(ended)).toMatchObject({ reason: "DestinationFull", phase: "Failed", retention: "skipped" })
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(2)
      expect(yield* Restic.locks(mover.env)).toEqual([])
    })
  )

  Test.live("has space after maintenance, so that the next run succeeds", () =>
    Effect.gen(function* () {
      const { mover } = yield* full
      expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 44 })
      expect(yield* mover.run("preflight forget prune", { FORGET_ARGS: "--keep-last 1" })).toMatchObject({
        exitCode: 0,
        result: { kept: 1, removed: 1, pruned: true }
      })
      expect(yield* mover.run("preflight backup check")).toMatchObject({ exitCode: 0, result: { checked: true } })
    })
  )
})

Test.live(
  "A server that forbids deletions stores the backup, and the maintenance reports that it deleted nothing",
  () =>
    Effect.gen(function* () {
      const server = yield* RestServer.start({ appendOnly: true })
      const { mover } = yield* make(server.environment("nightly"))
      cpSync(template, join(server.folder, "nightly"), { recursive: true })
      expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
      expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
      const ended = yield* mover.run("preflight check forget prune", { FORGET_ARGS: "--keep-last 1" })
      expect(ended).toMatchObject({
        exitCode: 47,
        result: {
          reason: "RetentionFailed",
          operation: "forget",
          removed: undefined,
          pruned: false,
          checked: true
        }
      })
      expect(ended.result.message).toBe(
        "failed to remove one or more snapshots; unexpected HTTP response (403): 403 Forbidden"
      )
      expect(judged(ended)).toMatchObject({
        reason: "RetentionFailed",
        phase: "Failed",
        warning: true,
        retention: "failed"
      })
      expect(yield* mover.run("preflight delete")).toMatchObject({ exitCode: 47, result: { operation: "delete" } })
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(2)
      expect(yield* Restic.locks(mover.env)).toEqual([])
    })
)

describe("A repository that lost files", () => {
  const damaged = Effect.gen(function* () {
    const { mover, repository } = yield* make()
    for (const content of ["one", "two"]) {
      writeFileSync(join(mover.volume("data"), "file"), content)
      expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
    }
    const packs = readdirSync(join(repository, "data"), { recursive: true, withFileTypes: true })
    for (const pack of packs.filter((entry) => entry.isFile())) rmSync(join(pack.parentPath, pack.name))
    writeFileSync(join(mover.volume("data"), "file"), "three")
    return mover
  })

  for (const [operations, operation] of [
    ["preflight backup", "backup"],
    ["preflight check forget prune", "check"],
    ["preflight prune", "prune"]
  ] as const) {
    Test.live(`is reported as damaged by ${operation}, and keeps all its snapshots`, () =>
      Effect.gen(function* () {
        const mover = yield* damaged
        const ended = yield* mover.run(operations, { FORGET_ARGS: "--keep-last 1", ALLOW_PARTIAL: "1" })
        expect(ended).toMatchObject({
          exitCode: 48,
          result: { reason: "RepositoryDamaged", operation, removed: undefined, pruned: false, checked: false }
        })
        expect(judged(ended)).toMatchObject({ phase: "Failed", retention: "skipped", damaged: true })
        expect((yield* Restic.snapshots(mover.env)).length).toBeGreaterThanOrEqual(2)
      })
    )
  }
})

Test.live("A partially created repository is reported, and is not changed", () =>
  Effect.gen(function* () {
    const { mover, repository } = yield* make()
    rmSync(join(repository, "config"))
    const ended = yield* mover.run("preflight backup", { INIT: "1" })
    expect(ended).toMatchObject({ exitCode: 51, result: { reason: "RepositoryHalfMade", operation: "preflight" } })
    expect(judged(ended)).toMatchObject({ phase: "Failed", reason: "RepositoryHalfMade" })
    expect(readdirSync(join(repository, "keys"))).toHaveLength(1)
    rmSync(join(repository, "keys"), { recursive: true })
    expect(yield* mover.run("preflight backup", { INIT: "1" })).toMatchObject({ exitCode: 0 })
  })
)

Test.live("Another repository at the location of the known one fails the run, and nothing is saved there", () =>
  Effect.gen(function* () {
    const { mover, repository } = yield* make()
    const { result } = yield* mover.run("preflight backup")
    rmSync(repository, { recursive: true })
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(repository, mover.env)
    const ended = yield* mover.run("preflight backup", { REPOSITORY_ID: result.repository })
    expect(ended).toMatchObject({ exitCode: 49, result: { reason: "RepositoryExchanged", operation: "preflight" } })
    expect(judged(ended)).toMatchObject({ phase: "Failed", reason: "RepositoryExchanged" })
    expect(yield* Restic.snapshots(mover.env)).toEqual([])
  })
)

Test.live("Another repository at the location of the known one fails a Restore, which writes nothing", () =>
  Effect.gen(function* () {
    const { mover, repository } = yield* make()
    const { result } = yield* mover.run("preflight backup")
    rmSync(repository, { recursive: true })
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(repository, mover.env)
    expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
    const target = mover.volume("back")
    const ended = yield* mover.run("preflight restore", {
      RESTORE_VOLUME: "data",
      RESTORE_TARGET: target,
      REPOSITORY_ID: result.repository
    })
    expect(ended).toMatchObject({ exitCode: 49, result: { reason: "RepositoryExchanged", operation: "preflight" } })
    expect(readdirSync(target)).toEqual([])
  })
)

describe("An unreadable file", () => {
  // The root user can read every file.
  const user = "nobody"
  const unreadable = Effect.gen(function* () {
    const { mover, repository } = yield* make()
    Bun.spawnSync(["chmod", "-R", "a+rwX", repository])
    expect(yield* mover.run("preflight backup", { user })).toMatchObject({ exitCode: 0 })
    mkdirSync(join(mover.volume("data"), "kept to itself"))
    writeFileSync(join(mover.volume("data"), "kept to itself/diary"), "")
    chmodSync(join(mover.volume("data"), "kept to itself/diary"), 0o000)
    return mover
  })

  Test.live("makes the backup partial, and no old snapshot is deleted", () =>
    Effect.gen(function* () {
      const mover = yield* unreadable
      const ended = yield* mover.run("preflight backup forget prune", { user, FORGET_ARGS: "--keep-last 1" })
      expect(ended).toMatchObject({
        exitCode: 3,
        result: {
          reason: "PartiallyFailed",
          snapshots: [{ pvc: "data", files: 1 }],
          removed: undefined,
          pruned: false
        }
      })
      expect(ended.result.message).toMatch(/^volume data: 1 could not be read, the last: .*diary.*permission denied$/)
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(2)
    })
  )

  Test.live("is only a warning if spec.allowPartial is set, and the retention is applied", () =>
    Effect.gen(function* () {
      const mover = yield* unreadable
      const ended = yield* mover.run("preflight backup forget", {
        user,
        ALLOW_PARTIAL: "1",
        FORGET_ARGS: "--keep-last 1"
      })
      expect(ended).toMatchObject({ exitCode: 0, result: { reason: "PartiallyFailed", kept: 1, removed: 1 } })
      expect(judged(ended)).toMatchObject({ reason: "PartiallyFailed", phase: "Completed", warning: true })
    })
  )

  Test.live("does not make its volume count as empty, even if it is the only file or the volume itself", () =>
    Effect.gen(function* () {
      const mover = yield* unreadable
      const diary = join(mover.volume("diaries"), "diary")
      writeFileSync(diary, "")
      chmodSync(diary, 0o000)
      const ended = yield* mover.run("preflight backup", { user, ALLOW_PARTIAL: "1" })
      expect(ended).toMatchObject({
        exitCode: 44,
        result: { message: expect.stringContaining("volume diaries: no file could be read") }
      })
      chmodSync(mover.volume("diaries"), 0o311)
      expect(yield* mover.run("preflight backup", { user })).toMatchObject({
        exitCode: 44,
        result: { message: expect.stringMatching(/data\/diaries cannot be read by user 65534/) }
      })
    })
  )
})

describe("A restic that the kernel kills for its memory is reported as OutOfMemory", () => {
  for (const [when, script] of [
    ["while it opens the repository", "kill -9 $$"],
    ["while it saves", `case " $* " in *" backup "*) kill -9 $$ ;; *) echo '{"id": "5e"}' ;; esac`]
  ] as const) {
    Test.live(when, () =>
      Effect.gen(function* () {
        const mover = yield* Mover.make({}, script)
        writeFileSync(join(mover.volume("data"), "file"), "content")
        const ended = yield* mover.run("preflight backup")
        expect(ended).toMatchObject({ exitCode: 44, result: { reason: "OutOfMemory" } })
        expect(judged(ended)).toMatchObject({
          reason: "OutOfMemory",
          message: expect.stringMatching(
            /^The mover exceeded its memory limit\. .*Raise limits\.memory in spec\.resources$/
          )
        })
      })
    )
  }
})
