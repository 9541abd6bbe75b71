import { describe, expect, test } from "bun:test"
import * as Restic from "./Restic.ts"

const ended = (...stderr: ReadonlyArray<string>): Restic.Ended => ({ code: 1, stdout: "", stderr, unreadable: 0 })

/** A line of restic's JSON about one file. */
const error = (message: string, during: string, item = "/data/a") =>
  JSON.stringify({ message_type: "error", error: { message }, during, item })
const exit = (message: string) => JSON.stringify({ message_type: "exit_error", code: 1, message })

describe("The cause of a failure has restic's last error before its end:", () => {
  // Each operation with its own form: restore, backup and forget with JSON; check and prune with text.
  for (const [operation, lines, cause] of [
    [
      "restore",
      [
        error("open /a: permission denied", "restore"),
        error("lchown /b: no", "restore"),
        exit("Fatal: There were 2 errors")
      ],
      "Fatal: There were 2 errors; lchown /b: no"
    ],
    [
      "backup",
      [error("open x: permission denied", "archival"), exit("Fatal: snapshot is empty")],
      "Fatal: snapshot is empty; open x: permission denied"
    ],
    [
      "check",
      ["error for tree 1234:", "  tree 1234: blob 5 not found", "Fatal: repository contains errors"],
      "Fatal: repository contains errors; error for tree 1234:"
    ],
    [
      "prune",
      ["Error: pack 12 exists twice", "Fatal: prune failed"],
      "Fatal: prune failed; Error: pack 12 exists twice"
    ],
    [
      "ls",
      ["ignoring error for /x: stat failed", "Fatal: no such tree"],
      "Fatal: no such tree; ignoring error for /x: stat failed"
    ],
    ["forget", [exit("Fatal: lock: timeout")], "Fatal: lock: timeout"],
    ["delete", [error("remove failed", "forget")], "remove failed"],
    ["an error that is quoted already", [error("disk", "restore"), exit("Fatal: disk")], "Fatal: disk"]
  ] as const) {
    test(operation, () => expect(Restic.causeOf(ended(...lines))).toBe(cause))
  }
})

describe("A target is full", () => {
  const none = "write /a: no space left on device"
  for (const [what, lines, isFull] of [
    ["if a file of it cannot be written", [error(none, "restore", "/a")], true],
    ["if its quota is used up", [error("write /a: disk quota exceeded", "restore", "/a")], true],
    [
      "but not for a name of a file",
      [error("open /no space left on device: denied", "restore", "/no space left on device")],
      false
    ],
    ["but not if restic cannot lock its repository", [exit(`Fatal: unable to create lock in backend: ${none}`)], false],
    ["but not during a backup", [error(none, "archival", "/a")], false]
  ] as const) {
    test(what, () => expect(Restic.fullTargetOf(ended(...lines)) !== undefined).toBe(isFull))
  }
  test("but not after a success", () =>
    expect(Restic.fullTargetOf({ ...ended(error(none, "restore", "/a")), code: 0 })).toBeUndefined())
  test("because of this file, whatever follows from it", () =>
    expect(
      Restic.fullTargetOf(ended(error(none, "restore", "/a"), error("lchown /a: no such file", "restore", "/a")))
    ).toBe(none))
})
