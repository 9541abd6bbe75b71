/** The clients of the webhooks that `--webhook-client-ca` allows. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Certificate from "../manager/Certificate.ts"
import * as Contents from "../webhook/Contents.ts"
import type * as Listener from "../webhook/Listener.ts"
import type { Settings } from "./Webhooks.ts"

/** The file has no CA. */
export class NoClientCa extends Data.TaggedError("NoClientCa")<{ readonly message: string }> {}

/**
 * The allowed clients, and their CAs after each change of the file; undefined without the flag. Later, a file without a CA changes nothing,
 * and the log says so once.
 */
export const make = ({
  webhookClientCa: file,
  webhookClientName: name
}: Pick<Settings, "webhookClientCa" | "webhookClientName">): Effect.Effect<
  Listener.Clients | undefined,
  NoClientCa,
  FileSystem
> =>
  Effect.gen(function* () {
    if (file === undefined) return undefined
    const files = yield* FileSystem
    const read = files.readFileString(file).pipe(
      Effect.map(Contents.casOf),
      Effect.filterOrFail((cas) => cas.length > 0),
      Effect.map(Contents.bundleOf),
      Effect.mapError(
        () =>
          new NoClientCa({
            message: `--webhook-client-ca: cannot read a CA: ${file} (the CA of the API servers, as PEM)`
          })
      )
    )
    const cas = yield* read
    let warned = false
    const look = Effect.catch(read, ({ message }) =>
      Effect.suspend(() => {
        const isKnown = warned
        warned = true
        return isKnown ? Effect.succeed(undefined) : Effect.as(Effect.logWarning(message), undefined)
      })
    )
    const after = (last: string): Effect.Effect<string> =>
      Effect.gen(function* () {
        while (true) {
          yield* Effect.sleep(Certificate.lookEvery)
          const found = yield* look
          if (found === undefined) continue
          warned = false
          if (found !== last) return found
        }
      })
    return { cas, name, after }
  })
