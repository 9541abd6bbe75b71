/** The mover's result for any output of restic: short, readable by the controller, and without secrets. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import * as Outcome from "@homeostat/backup/run/Outcome"
import * as Test from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"

const scope = Effect.runSync(Scope.make())
/** A mover with a volume. Its restic opens its repository, and `backup` prints WORDS and exits with CODE. */
let mover: Mover.Mover

beforeAll(async () => {
  const restic = `case $1 in
    cat) echo '{"id": "0123456789abcdef"}' ;;
    backup) printf "$WORDS" >&2; exit "$CODE" ;;
  esac`
  mover = await Mover.make({ AWS_SECRET_ACCESS_KEY: "s3cr3t-key" }, restic).pipe(
    Scope.provide(scope),
    Effect.runPromise
  )
  await Bun.write(`${mover.volume("data")}/file`, "")
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Runs the mover with a restic that prints these words. */
const printing = (WORDS: string, options: Mover.Run = {}) =>
  mover.run("preflight backup forget prune", { WORDS, CODE: "1", FORGET_ARGS: "--keep-last 1", ...options })

const fatal = (words: string): string => `Fatal: ${words}\\n`

const retry = (words: string): string => `Save(<data/12>) returned error, retrying after 1.5s: ${words}\\n`

const cases: { readonly [name: string]: readonly [words: string, message: string] } = {
  "the last error of restic": [`${fatal("first")}${fatal("last")}`, "Fatal: last"],
  "the error that restic prints as JSON": [
    '{"message_type":"exit_error","code":1,"message":"Fatal: a \\\\"b\\\\" c\\\\nmain.init"}\\n',
    'Fatal: a "b" c'
  ],
  "the reason of its retries if it was cancelled": [
    `${retry("early")}${retry("dial tcp: refused")}${fatal("unable to save: context canceled")}`,
    "dial tcp: refused"
  ],
  "the error and the reason of its retries": [
    `${retry("timeout")}${fatal("no more tries")}`,
    "Fatal: no more tries; timeout"
  ],
  "the last line without an error": ["panic: this\\n\\ngoroutine 1\\n\\n", "goroutine 1"],
  "the exit code without any output": ["", "restic ended with code 1 and without a message"],
  "no user and password of a URL": [fatal("Get https://joe:hidden@host/x"), "Fatal: Get https://<redacted>@host/x"],
  "no secret of its settings": [
    fatal(`${Mover.password} and s3cr3t-key and ${Mover.password}`),
    "Fatal: <redacted> and <redacted> and <redacted>"
  ],
  "no control characters": [fatal('a\\001b\\tc\\033[1m \\302\\205 "d" \\\\\\\\e\\177'), 'Fatal: a b c [1m "d" \\\\e'],
  "no invalid UTF-8": [
    fatal("\\377 \\303\\244 \\303 \\342\\202 \\342\\202\\254 \\360\\237\\214\\261 \\355\\240\\200 \\300\\257"),
    "Fatal: � ä � � € 🌱 ��� ��"
  ]
}

describe("The message of a mover has", () => {
  for (const [name, [words, message]] of Object.entries(cases)) {
    Test.live(name, () =>
      Effect.gen(function* () {
        const ended = yield* printing(words, {})
        expect(ended.exitCode).toBe(44)
        // The mover's message, before the controller cleans it.
        expect(JSON.parse(ended.message)).toMatchObject({ reason: "ResticFailed", message, operation: "backup" })
        for (const text of [ended.message, ended.stdout, ended.stderr]) {
          expect(text).not.toContain(Mover.password)
          expect(text).not.toContain("s3cr3t-key")
          expect(text).not.toContain("hidden")
        }
        expect(ended.stdout.endsWith(ended.message)).toBe(true)
      })
    )
  }

  Test.live("at most 900 bytes, and no split character", () =>
    Effect.gen(function* () {
      const { message } = JSON.parse((yield* printing(fatal("🌱".repeat(1000)), {})).message)
      expect(message).toMatch(/^…🌱+$/u)
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(900)
      expect(Buffer.byteLength(message)).toBeGreaterThan(890)
    })
  )

  Test.live("space for its volumes, of which it lists the first if there are many", () =>
    Effect.gen(function* () {
      const many = yield* Mover.make(
        {},
        `case $1 in
            cat) echo '{"id": "${"0123456789abcdef".repeat(4)}"}' ;;
            backup)
              echo '{"message_type":"summary","files_new":7,"data_added":12,"data_added_packed":9,"total_files_processed":3,"total_bytes_processed":34,"snapshot_id":"${"fedcba9876543210".repeat(4)}"}'
              ;;
            prune) printf '${fatal("ä".repeat(1000))}' >&2; exit 1 ;;
          esac`
      )
      for (let index = 10; index < 50; index += 1) {
        yield* Effect.promise(() => Bun.write(`${many.volume(`volume-${index}`)}/file`, ""))
      }
      const ended = yield* many.run("preflight backup", {})
      expect(ended).toMatchObject({ exitCode: 0, result: { complete: true, cut: true } })
      expect(Buffer.byteLength(ended.message)).toBeLessThanOrEqual(3800)
      expect(ended.result.snapshots.length).toBeGreaterThan(20)
      expect(ended.result.snapshots[0]).toEqual({
        pvc: "volume-10",
        id: "fedcba9876543210".repeat(4),
        bytes: 34,
        added: 9,
        files: 3
      })
      const failed = yield* many.run("preflight backup prune", {})
      expect(failed).toMatchObject({ exitCode: 44, result: { complete: true, cut: true, operation: "prune" } })
      expect(Buffer.byteLength(failed.message)).toBeLessThanOrEqual(3800)
    })
  )
})

describe("A restic that ends unexpectedly fails the run:", () => {
  for (const code of [1, 2, 4, 100, 130, 255]) {
    Test.live(`with exit code ${code}`, () =>
      Effect.gen(function* () {
        const ended = yield* printing(fatal("who knows"), { CODE: `${code}` })
        expect(ended).toMatchObject({ exitCode: 44, result: { removed: undefined, pruned: false } })
        const { exitCode, message } = ended
        expect(Outcome.judge({ _tag: "Exited", exitCode, text: message })).toMatchObject({
          reason: "ResticFailed",
          message: "restic failed. Fatal: who knows. The run is retried"
        })
      })
    )
  }

  Test.live("with exit code 0, but without a snapshot", () =>
    Effect.gen(function* () {
      expect(yield* printing("", { CODE: "0" })).toMatchObject({
        exitCode: 44,
        result: { message: "restic reported no snapshot of volume data" }
      })
    })
  )
})

describe("A mover with a missing setting changes nothing:", () => {
  for (const [name, run, operations] of [
    ["a tag", { BACKUP_TAG: "" }, "preflight delete"],
    ["a host", { BACKUP_HOST: undefined }, "preflight backup"],
    ["a valid tag", { BACKUP_TAG: "a,b" }, "preflight delete"],
    ["a known operation", {}, "forge"]
  ] as const) {
    Test.live(`without ${name}`, () =>
      Effect.gen(function* () {
        const pretended = yield* Mover.make({}, "echo it was run >&2")
        const ended = yield* pretended.run(operations, run)
        expect(ended).toMatchObject({ exitCode: 44, result: { reason: "ResticFailed", complete: true } })
        expect(ended.stderr).not.toContain("it was run")
      })
    )
  }

  Test.live("without volumes", () =>
    Effect.gen(function* () {
      const ended = yield* printing("", { DATA_DIR: mover.folder.concat("/bin") })
      expect(ended).toMatchObject({ exitCode: 44, result: { operation: "backup" } })
      expect(ended.result.message).toStartWith("no volume found: ")
    })
  )
})
