/** Incidents of Backups, as in `Incidents.test.ts`. Each row is the end of a mover, or an object that is missing. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as ObjectState from "@homeostat/runtime/resource/ObjectState"
import { Effect } from "effect"
import * as PretendedMover from "../backup/PretendedMover.ts"
import * as Virtual from "../backup/Virtual.ts"

/** An incident with the words that name its cause. */
interface Incident {
  /** The exit code of the mover, and its reason and its message; by default it succeeds. */
  readonly ends?: readonly [exitCode: number, reason: string, message: string]
  readonly spec?: Parameters<typeof Virtual.create>[1]
  readonly words: ReadonlyArray<string>
  readonly state: ObjectState.State
}

const incidents: { readonly [incident: string]: Incident } = {
  "20 a locked repository": {
    ends: [41, "RepositoryLocked", "repository is already locked by PID 4711 on db-0 by root"],
    words: ["Ready False RepositoryLocked", "PID 4711 on db-0", "backup.example.com/unlock"],
    state: "Failed"
  },
  "21 a wrong password": {
    ends: [42, "WrongPassword", "wrong password or no key found"],
    words: ["Ready False WrongPassword", "password"],
    state: "Failed"
  },
  "22 a full destination": {
    ends: [1, "DestinationFull", "no space left on device"],
    words: ["Ready False DestinationFull", "no space left on device"],
    state: "Failed"
  },
  "23 a suspended Backup": { spec: { suspend: true }, words: ["Suspended"], state: "Paused" }
}

describe("A user sees the cause of the incident", () => {
  for (const [name, { ends, spec, state, words }] of Object.entries(incidents)) {
    Virtual.test(name, (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        if (ends !== undefined) {
          const [exitCode, reason, message] = ends
          world.movers(() => PretendedMover.ends(exitCode, { reason, message }))
        }
        yield* Virtual.create("shop", spec)
        yield* world.pass("5 minutes")
        const backup = yield* Virtual.get("shop")
        const conditions = (backup.status?.conditions ?? []).map(
          (each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`
        )
        const text = [...conditions, ...world.eventReasons("shop")].join("\n")
        for (const word of words) expect(text).toContain(word)
        expect(ObjectState.of(Backup, backup)).toBe(state)
      })
    )
  }
})
