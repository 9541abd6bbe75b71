/** Which sources are built, as git knows them. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** A commit, and what became of it. */
export interface Sources {
  /** In full, with `-dirty` where files differ from it or are not in it; `unknown` where git or its repository is missing. */
  readonly commit: string
  /** In ISO 8601: of the commit, or what `SOURCE_DATE_EPOCH` says in its place. */
  readonly date: string | undefined
}

/** `SOURCE_DATE_EPOCH` is not a time. */
export class InvalidEpoch extends Data.TaggedError("InvalidEpoch")<{ readonly epoch: string }> {
  override get message(): string {
    return `invalid SOURCE_DATE_EPOCH: ${JSON.stringify(this.epoch)} (must be seconds since 1970, in digits)`
  }
}

const output = (folder: string, args: ReadonlyArray<string>): Effect.Effect<string, unknown> =>
  Effect.tryPromise(async () => {
    const child = Bun.spawn(["git", "-C", folder, ...args], { stdio: ["ignore", "pipe", "ignore"] })
    const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
    if (code !== 0) throw new Error(`git ended with ${code}`)
    return text.trim()
  })

const isoOf = (seconds: string): string => new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z")

/** The date of `SOURCE_DATE_EPOCH`; undefined if it is empty or not set. */
const dateOf = (epoch = ""): Effect.Effect<string | undefined, InvalidEpoch> => {
  if (epoch === "") return Effect.succeed(undefined)
  // With more digits, the year has more than four.
  return /^\d{1,11}$/.test(epoch) ? Effect.succeed(isoOf(epoch)) : new InvalidEpoch({ epoch })
}

/**
 * Those in a folder. Its repository is its own: that of a folder above it, into which an archive was unpacked, says nothing.
 *
 * @param epoch `SOURCE_DATE_EPOCH`, where it is set: https://reproducible-builds.org/specs/source-date-epoch
 */
export const of = (folder: string, epoch: string | undefined): Effect.Effect<Sources, InvalidEpoch> =>
  Effect.flatMap(dateOf(epoch), (date) =>
    Effect.gen(function* () {
      const prefix = yield* output(folder, ["rev-parse", "--show-prefix"])
      if (prefix !== "") return yield* Effect.fail("not its own")
      const [commit = "", seconds = ""] = (yield* output(folder, ["log", "-1", "--format=%H %ct"])).split(" ")
      const changes = yield* output(folder, ["status", "--porcelain"])
      return { commit: changes === "" ? commit : `${commit}-dirty`, date: date ?? isoOf(seconds) }
    }).pipe(Effect.orElseSucceed(() => ({ commit: "unknown", date })))
  )
