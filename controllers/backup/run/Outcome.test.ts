import { describe, expect, test } from "bun:test"
import * as Outcome from "./Outcome.ts"
import type * as Reasons from "./Reasons.ts"

const exited = (exitCode: number, message = "", over: Partial<Extract<Outcome.Ending, { _tag: "Exited" }>> = {}) =>
  Outcome.judge({
    _tag: "Exited",
    exitCode,
    text: JSON.stringify({ reason: "x", message, snapshots: [], pruned: false }),
    ...over
  })

describe("Outcome.judge returns a reason, the message of the mover and advice for exit code", () => {
  const table: ReadonlyArray<readonly [number, string, Reasons.Reason, string]> = [
    [
      3,
      "error: open /data/x: permission denied",
      "PartiallyFailed",
      "Some files could not be read. The other files were saved, and no old snapshot was deleted. error: open /data/x: permission denied. Run the mover as a user who may read them (spec.podSecurityContext), exclude them (spec.excludes), or set spec.allowPartial"
    ],
    [
      40,
      "Fatal: repository does not exist",
      "RepositoryMissing",
      "The repository was not found at the destination. Fatal: repository does not exist. Restore the repository, or correct spec.destination. To start a new repository, delete and create the Backup"
    ],
    [
      41,
      "repo already locked",
      "RepositoryLocked",
      "Another restic process holds a lock on the repository. repo already locked. The run is retried in 30 minutes, when an abandoned lock counts as stale. If no restic uses the repository, remove the lock now with the annotation backup.example.com/unlock"
    ],
    [
      42,
      "",
      "WrongPassword",
      "RESTIC_PASSWORD does not open the repository. Put the password of the repository into the Secret, then start a run with the annotation backup.example.com/run"
    ],
    [
      43,
      "dial tcp 10.0.0.1:443: connection refused",
      "DestinationUnreachable",
      "The destination did not answer, or it refused the request. dial tcp 10.0.0.1:443: connection refused. Check the address, the bucket and the credentials. The run is retried"
    ],
    [
      44,
      "write: no space left on device",
      "DestinationFull",
      "The destination is full. write: no space left on device. Free space there, or keep less with spec.retentionPolicy. The manager still frees the space of deleted snapshots"
    ],
    [
      44,
      "server response unexpected: 413 Request Entity Too Large (413)",
      "DestinationFull",
      "The destination is full. server response unexpected: 413 Request Entity Too Large (413). Free space there, or keep less with spec.retentionPolicy. The manager still frees the space of deleted snapshots"
    ],
    [
      44,
      "Fatal: pack 413abc is damaged",
      "ResticFailed",
      "restic failed. Fatal: pack 413abc is damaged. The run is retried"
    ],
    [
      45,
      "/data/a has 3 entries",
      "TargetNotEmpty",
      "The target volume is not empty. Nothing was written. /data/a has 3 entries. Restore into an empty volume, or set spec.mode in a new Restore"
    ],
    [
      46,
      "",
      "SnapshotNotFound",
      "No snapshot of this Backup matches. Nothing was written. Choose a snapshot from status.lastRun of the Backup, and create a new Restore"
    ],
    [1, "", "ResticFailed", "restic failed. The run is retried"],
    [143, "terminated by signal", "Terminated", "The mover was terminated. terminated by signal. The run is retried"],
    [137, "", "Terminated", "The mover was terminated. The run is retried"]
  ]
  for (const [code, words, reason, message] of table) {
    test(`${code}: ${words || "nothing"}`, () =>
      expect(exited(code, words)).toMatchObject({ reason, message, phase: "Failed", warning: true }))
  }
  test("137 by an out-of-memory kill, distinct from a kill by hand", () =>
    expect(exited(137, "", { reason: "OOMKilled" })).toMatchObject({
      reason: "OutOfMemory",
      message: "The mover exceeded its memory limit. Raise limits.memory in spec.resources"
    }))
  test("Outcome.futile contains the exit codes that a new pod would not change", () =>
    expect(Outcome.futile).toEqual([3, 40, 41, 42, 45, 46, 47, 48, 49, 50, 51, 52, 53]))
  test("42, even if the message suggests another reason", () =>
    expect(exited(42, "", { text: "no space left on device" }).reason).toBe("WrongPassword"))
  test("44 with the snapshots that were saved before", () =>
    expect(
      exited(44, "", {
        text: '{"reason":"ResticFailed","message":"","snapshots":[{"pvc":"a","id":"01234567","bytes":1,"added":1,"files":1}],"pruned":true}'
      })
    ).toMatchObject({ snapshots: [{ pvc: "a", id: "01234567" }], pruned: true }))
})

describe("A successful run", () => {
  const text = (snapshots: string) => ({
    text: `{"reason":"Succeeded","message":"","snapshots":[${snapshots}],"pruned":true}`
  })
  const saved = '{"pvc":"a","id":"01234567","bytes":1,"added":1,"files":1}'
  test("is Completed without a warning", () =>
    expect(exited(0, "", text(`${saved},${saved}`))).toMatchObject({
      reason: "Succeeded",
      phase: "Completed",
      message: "2 volumes saved",
      warning: false,
      pruned: true
    }))
  test("with an empty volume that never had files is Completed with a warning", () =>
    expect(exited(0, "", text(`${saved},{"pvc":"b","empty":true}`))).toMatchObject({
      phase: "Completed",
      message: "1 volume saved; no files found: b",
      warning: true
    }))
  test("with a truncated list of volumes reports at least the listed ones", () =>
    expect(
      exited(0, "", { text: `{"reason":"Succeeded","message":"","snapshots":[${saved}],"cut":true}` }).message
    ).toBe("At least 1 volume saved"))
  test("with a truncated list does not fail if the listed volumes never had files", () => {
    const empty = '{"pvc":"a","empty":true}'
    const of = (cut: string) =>
      exited(0, "", { text: `{"reason":"Succeeded","message":""${cut},"snapshots":[${empty}]}` })
    expect(of(',"cut":true').phase).toBe("Completed")
    expect(of("").reason).toBe("VolumeEmpty")
  })
  test("has the repository id", () =>
    expect(exited(0, "", { text: '{"reason":"Succeeded","repository":"0123456789"}' })).toMatchObject({
      repository: "0123456789"
    }))
  test("with a truncated report is Completed with ResultLost", () =>
    expect(exited(0, "", { text: '{"reason":"Succeeded","message":"","snap' })).toMatchObject({
      reason: "ResultLost",
      phase: "Completed",
      warning: true
    }))
  for (const text of [undefined, "", "some log", '{"message_type":"summary"}']) {
    test(`of a pod that reports ${JSON.stringify(text)} is a failure, because any program can exit with 0`, () =>
      expect(exited(0, "", { text })).toMatchObject({ reason: "ResultLost", phase: "Failed", warning: true }))
  }
  test("with unreadable files is Completed with a warning if spec.allowPartial is set", () =>
    expect(
      Outcome.judge(
        { _tag: "Exited", exitCode: 3, text: '{"reason":"PartiallyFailed","message":"x unreadable"}' },
        { allowPartial: true }
      )
    ).toMatchObject({
      reason: "PartiallyFailed",
      phase: "Completed",
      warning: true,
      message: "Saved, except for files that could not be read (spec.allowPartial). x unreadable."
    }))
})

describe("A volume without files", () => {
  const volume = (pvc: string, files: number | undefined, before?: number) => ({
    pvc,
    ...(files === undefined ? { empty: true } : { id: "01234567", bytes: files * 100, added: 1, files }),
    ...(before !== undefined && { before: { id: "89abcdef", bytes: before * 100, files: before } })
  })
  const judged = (volumes: ReadonlyArray<object>, options: Outcome.Options = {}) =>
    Outcome.judge(
      {
        _tag: "Exited",
        exitCode: 0,
        text: JSON.stringify({ reason: "Succeeded", message: "", snapshots: volumes })
      },
      options
    )
  for (const [name, volumes, options, reason] of [
    ["that had files before fails the run", [volume("a", undefined, 9), volume("b", 3)], {}, "VolumeEmpty"],
    [
      "that never had files is accepted if another volume has files",
      [volume("a", undefined), volume("b", 3)],
      {},
      "Succeeded"
    ],
    ["fails the run if it is the only volume", [volume("a", undefined)], {}, "VolumeEmpty"],
    ["is accepted in one of several Jobs", [volume("a", undefined)], { isPart: true }, "Succeeded"],
    [
      "that had files before fails one of several Jobs, too",
      [volume("a", undefined, 1)],
      { isPart: true },
      "VolumeEmpty"
    ],
    ["is accepted by spec.allowEmpty", [volume("a", undefined, 9)], { allowEmpty: true }, "Succeeded"]
  ] as const) {
    test(name, () =>
      expect(judged(volumes, options)).toMatchObject({
        reason,
        phase: reason === "Succeeded" ? "Completed" : "Failed"
      })
    )
  }
  test("is named with its last snapshot", () =>
    expect(judged([volume("a", undefined, 9)]).message).toBe(
      "No files found: a (9 in snapshot 89abcdef). Restore the volume, or set spec.allowEmpty if it may be empty"
    ))
  test("differs from a volume that shrank to less than half, which is saved with a warning", () => {
    const shrunk = (files: number, before: number) => judged([volume("a", files, before)]).shrunk.length
    expect([shrunk(49, 100), shrunk(50, 100), shrunk(1, 9), shrunk(4, 10)]).toEqual([1, 0, 0, 1])
    expect(judged([volume("a", 49, 100)])).toMatchObject({ phase: "Completed", warning: true })
  })
})

describe("The retention", () => {
  const saved = '{"pvc":"a","id":"01234567","bytes":1,"added":1,"files":1}'
  const judged = (exitCode: number, fields: string, purpose: Reasons.Purpose = "backup") =>
    Outcome.judge(
      { _tag: "Exited", exitCode, text: `{"reason":"x","message":"it was refused","snapshots":[${saved}],${fields}}` },
      { purpose }
    )
  test("is applied by a successful forget, even if it deleted nothing", () =>
    expect(judged(0, '"kept":1,"removed":0')).toMatchObject({ retention: "applied", kept: 1, removed: 0 }))
  test("is skipped without a forget", () =>
    expect(judged(0, '"pruned":false')).toMatchObject({ retention: "skipped", removed: undefined }))
  test("is skipped if the deletion is held", () =>
    expect(judged(0, '"kept":1,"removed":5,"held":"TooMany"', "maintenance")).toMatchObject({
      retention: "skipped",
      held: "TooMany",
      kept: 1,
      removed: 5
    }))
  test("fails if the server rejects the deletion", () =>
    expect(judged(47, '"operation":"forget"', "maintenance")).toMatchObject({
      reason: "RetentionFailed",
      phase: "Failed",
      warning: true,
      retention: "failed",
      message:
        "Old snapshots could not be deleted. it was refused. If the server is append-only, delete snapshots there and remove the retention from the spec. Otherwise give the credentials the permission to delete"
    }))
  test("fails if the repository is locked", () =>
    expect(judged(41, '"operation":"forget"')).toMatchObject({
      reason: "RepositoryLocked",
      phase: "Failed",
      retention: "failed",
      damaged: false
    }))
  test("is applied even if the check fails afterwards", () =>
    expect(judged(44, '"operation":"check","kept":1,"removed":0')).toMatchObject({
      reason: "ResticFailed",
      retention: "applied",
      damaged: true
    }))
  test("of a deleted Backup reports the number of deleted snapshots", () => {
    expect(judged(0, '"removed":3', "delete")).toMatchObject({ message: "3 snapshots deleted", removed: 3 })
    expect(judged(44, '"operation":"delete"', "delete").message).toBe(
      "restic failed. it was refused. Some or all snapshots still exist"
    )
  })
  test("of a deleted Backup fails if the server rejects the deletion", () =>
    expect(judged(47, '"operation":"delete"', "delete")).toMatchObject({ phase: "Failed", retention: "failed" }))
})

describe("A restore", () => {
  const judged = (exitCode: number, message: string, restored = "null") =>
    Outcome.judge(
      { _tag: "Exited", exitCode, text: `{"reason":"x","message":"${message}","restored":${restored}}` },
      { purpose: "restore" }
    )
  test("reports the restored files and bytes", () =>
    expect(judged(0, "", '{"snapshot":"0123456789abcdef","bytes":12,"files":3}')).toMatchObject({
      phase: "Completed",
      warning: false,
      message: "3 files and folders restored from snapshot 01234567, 12 bytes",
      restored: { files: 3, bytes: 12 }
    }))
  test("reports files with a changed owner", () => {
    const restored = (ownership: string) =>
      judged(0, "", `{"snapshot":"0123456789abcdef","bytes":1,"files":1,"ownership":"${ownership}"}`)
    expect(restored("AsMover")).toMatchObject({
      message:
        "1 file or folder restored from snapshot 01234567, 1 byte; the files belong to the user of the mover, because only a privileged mover restores other owners",
      restored: { ownership: "AsMover" }
    })
    expect(restored("Preserved")).toMatchObject({
      message: "1 file or folder restored from snapshot 01234567, 1 byte",
      restored: { ownership: "Preserved" }
    })
  })
  test("that failed does not announce a retry", () => {
    for (const code of [3, 40, 41, 43, 44, 45, 46, 143]) {
      expect(judged(code, "")).toMatchObject({ phase: "Failed", message: expect.not.stringContaining("retried") })
    }
  })
})

test("A mover with spec.allowPartial exits with 0, and the outcome has a warning", () =>
  expect(
    exited(0, "", { text: '{"reason":"PartiallyFailed","message":"volume a: 1 could not be read","removed":1}' })
  ).toMatchObject({ reason: "PartiallyFailed", phase: "Completed", warning: true, retention: "applied" }))

describe("Outcome.judge maps the end of a Job:", () => {
  /** The fields that only a mover's result has. */
  const unknown = {
    warning: true,
    snapshots: [],
    retention: "skipped",
    repository: undefined,
    kept: undefined,
    removed: undefined,
    pruned: false,
    checked: false,
    damaged: false,
    held: undefined,
    shrunk: [],
    restored: undefined
  }
  const table: ReadonlyArray<readonly [Outcome.Ending, Partial<Outcome.Outcome>]> = [
    [
      { _tag: "Lost", succeeded: true },
      { reason: "ResultLost", phase: "Completed" }
    ],
    [
      { _tag: "Lost", succeeded: false },
      { reason: "ResultLost", phase: "Failed" }
    ],
    [
      { _tag: "Evicted", message: "The node was low on resource: memory. " },
      {
        reason: "PodEvicted",
        phase: "Failed",
        message:
          "The pod was evicted, and no attempt is left. The node was low on resource: memory. If the node ran short of a resource, set its request in spec.resources"
      }
    ],
    ...(
      [
        [
          'Usage of EmptyDir volume "cache" exceeds the limit "10Gi"',
          "Raise HOMEOSTAT_BACKUP_CACHE_SIZE of the manager"
        ],
        [
          'Usage of EmptyDir volume "tmp" exceeds the limit "1Gi"',
          "Raise HOMEOSTAT_BACKUP_TEMPORARY_SIZE of the manager"
        ],
        [
          "The node was low on resource: ephemeral-storage",
          "Set requests.ephemeral-storage in spec.resources, so that the pod runs on a node with enough of it"
        ],
        [
          "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi",
          "Raise limits.ephemeral-storage in spec.resources"
        ]
      ] as const
    ).map(([message, advice]): (typeof table)[number] => [
      { _tag: "Evicted", message: `${message}. `, isRepeated: true },
      {
        reason: "PodEvicted",
        phase: "Failed",
        message: `The pod was evicted twice because of its files. ${message}. ${advice}`
      }
    ]),
    [
      { _tag: "ImagePullFailed", image: "restic:x", message: 'Back-off pulling image "restic:x"' },
      {
        reason: "ImagePullFailed",
        phase: "Failed",
        message:
          'The image restic:x could not be pulled. Back-off pulling image "restic:x". Correct spec.image or the manager\'s HOMEOSTAT_BACKUP_MOVER_IMAGE, or give the ServiceAccount the credentials of the registry'
      }
    ],
    [
      { _tag: "DeadlineExceeded", seconds: 86_400 },
      {
        reason: "DeadlineExceeded",
        phase: "Failed",
        message: "The run was stopped after 86400 seconds. Raise spec.activeDeadlineSeconds if the run needs longer"
      }
    ],
    [
      { _tag: "NotStarted", seconds: 600, message: "0/3 nodes are available" },
      {
        reason: "StartTimeout",
        phase: "Failed",
        message:
          "The mover did not start within 600 seconds, and its Job was deleted. 0/3 nodes are available. The run is retried"
      }
    ],
    [
      { _tag: "Replaced" },
      {
        reason: "Replaced",
        phase: "Failed",
        message: "The next run was due and replaced this one (concurrencyPolicy Replace)"
      }
    ],
    [
      { _tag: "JobDeleted", job: "cart-1" },
      {
        reason: "JobDeleted",
        phase: "Failed",
        message:
          "Job cart-1 was deleted before the manager read its result. Start a run with the annotation backup.example.com/run"
      }
    ]
  ]
  for (const [ending, expected] of table) {
    test(`${ending._tag} ${JSON.stringify(ending)}`, () =>
      expect(Outcome.judge(ending)).toEqual({ ...unknown, message: expect.any(String), ...expected } as never))
  }
})

test("The advice for a deleted Job depends on the purpose of the run", () => {
  const message = (purpose: Reasons.Purpose) => Outcome.judge({ _tag: "JobDeleted", job: "a" }, { purpose }).message
  expect(message("restore")).toEndWith(" Delete this Restore and create it again")
  expect(message("delete")).toEndWith(" The snapshots still exist")
})

test("An exit by a signal has the reason Terminated", () => {
  for (const code of [130, 137, 143]) expect(exited(code, "bye").reason).toBe("Terminated")
  expect(exited(260, "bye").reason).toBe("ResticFailed")
})

test("The reason DestinationFull of the mover is accepted, and a lock is stale after half an hour", () => {
  expect(exited(1, "", { text: JSON.stringify({ reason: "DestinationFull", message: "" }) }).reason).toBe(
    "DestinationFull"
  )
  expect(Outcome.staleLock).toBe(1_800_000)
})

describe("A mover that is older than the protocol of its Job", () => {
  const image = "registry.test/mover:1"
  const of = (exitCode: number, result: object, protocol: number, purpose: Reasons.Purpose = "backup") =>
    Outcome.judge({ _tag: "Exited", exitCode, text: JSON.stringify(result), mover: { image, protocol } }, { purpose })
  // As mover.sh of 0.1.0 ends.
  const refused = { reason: "ResticFailed", message: "there is no operation protocol-2" }
  for (const purpose of ["backup", "maintenance", "restore", "delete"] as const) {
    for (const [what, exitCode, result] of [
      ["refuses it", 44, refused],
      ["knows that it is too old", Outcome.exitCodes.MoverTooOld, { reason: "MoverTooOld", protocol: 2, message: "" }],
      ["ignores it", 0, { reason: "Succeeded", message: "" }]
    ] as const) {
      test(`fails the ${purpose}, and the message names the image: a mover that ${what}`, () => {
        const outcome = of(exitCode, result, 3, purpose)
        expect(outcome).toMatchObject({ reason: "MoverTooOld", phase: "Failed", warning: true })
        expect(outcome.message).toStartWith(
          `The mover is older than the manager. The image ${image} has protocol ${"protocol" in result ? 2 : 1} (must be 3). `
        )
        expect(outcome.message).toContain("HOMEOSTAT_BACKUP_MOVER_IMAGE")
      })
    }
  }
  test("is what it is for a Job of a manager of 0.1.0", () =>
    expect(of(0, { reason: "Succeeded", message: "" }, 1).reason).toBe("Succeeded"))
  test("is not the cause of an end without a report", () => {
    expect(Outcome.judge({ _tag: "Exited", exitCode: 137, text: "", mover: { image, protocol: 2 } }).reason).toBe(
      "Terminated"
    )
    expect(Outcome.judge({ _tag: "Exited", exitCode: 0, text: undefined, mover: { image, protocol: 2 } }).reason).toBe(
      "ResultLost"
    )
  })
  test("is not retried by the Job", () => expect(Outcome.futile).toContain(Outcome.exitCodes.MoverTooOld))
})
