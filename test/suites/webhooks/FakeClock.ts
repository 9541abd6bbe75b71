/** A wall clock of one process that differs from that of the machine, by libfaketime. Timers keep their pace. */
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Glob } from "bun"
import { Data, Effect } from "effect"

/** The library is missing. */
export class NoLibrary extends Data.TaggedError("NoLibrary")<{ readonly message: string }> {}

/** A clock. */
export interface FakeClock {
  /** The variables of the process. */
  readonly environment: Readonly<Record<string, string>>
  /** Changes the offset from the clock of the machine, in hours. The process follows within a second. */
  readonly set: (hours: number) => Effect.Effect<void>
}

const library = Effect.suspend(() => {
  const [found] = new Glob("*/faketime/libfaketime.so.1").scanSync("/usr/lib")
  return found !== undefined && existsSync(join("/usr/lib", found))
    ? Effect.succeed(join("/usr/lib", found))
    : new NoLibrary({ message: "libfaketime not found: /usr/lib/*/faketime (apt-get install libfaketime)" })
})

/** A clock that is these hours ahead, with a file in an existing folder. */
export const make = (folder: string, name: string, hours: number): Effect.Effect<FakeClock, NoLibrary> =>
  Effect.gen(function* () {
    const file = join(folder, `${name}.clock`)
    const set = (offset: number) =>
      Effect.promise(() => writeFile(file, `${offset < 0 ? "-" : "+"}${Math.abs(offset) * 3600}\n`))
    yield* set(hours)
    const environment = {
      LD_PRELOAD: yield* library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1"
    }
    return { environment, set }
  })
