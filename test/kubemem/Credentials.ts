/**
 * The identity of a cluster: its CA, the administrator's token and the seed of its other keys. A cluster with a data folder stores them.
 * So kubeconfigs and service account tokens stay valid after a restart.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Authority from "@homeostat/runtime/webhook/Authority"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** The data folder is not readable or writable. */
export class DataError extends Data.TaggedError("DataError")<{ readonly message: string }> {}

/** The identity of a cluster. */
export interface Credentials {
  readonly authority: Authority.Authority
  readonly token: string
  readonly seed: number
}

/** Makes new credentials, or reads those in the data folder. `seed` has precedence. */
export const make = (folder: string | undefined, seed: number | undefined): Effect.Effect<Credentials, DataError> =>
  Effect.gen(function* () {
    const path = folder === undefined ? undefined : join(folder, "credentials.json")
    const kept = path === undefined ? undefined : yield* read(path)
    if (kept !== undefined) return { ...kept, seed: seed ?? kept.seed }
    const made: Credentials = {
      authority: Authority.makeAuthority(yield* Clock.currentTimeMillis),
      token: crypto.randomUUID(),
      seed: seed ?? (yield* Random.nextIntBetween(0, 2 ** 31, { halfOpen: true }))
    }
    if (path !== undefined) {
      yield* Effect.tryPromise({
        try: async () => {
          await mkdir(folder ?? "", { recursive: true, mode: 0o700 })
          await writeFile(path, JSON.stringify(made), { flag: "wx", mode: 0o600 })
        },
        catch: (error) => new DataError({ message: `--data: cannot write file: ${path} (${error})` })
      })
    }
    return made
  })

const read = (path: string): Effect.Effect<Credentials | undefined, DataError> =>
  Effect.tryPromise({
    try: async () => {
      const text = await readFile(path, "utf8").catch((error) => (error.code === "ENOENT" ? "" : Promise.reject(error)))
      if (text === "") return undefined
      const value: Json.Json = JSON.parse(text)
      const [certificate, key, token] = [["authority", "certificate"], ["authority", "key"], ["token"]].map((place) =>
        Json.text(Json.at(value, ...place))
      )
      const seed = Json.number(Json.at(value, "seed"))
      if (certificate === undefined || key === undefined || token === undefined || seed === undefined) {
        throw new Error("not the credentials of a cluster")
      }
      return { authority: { certificate, key }, token, seed }
    },
    catch: (error) =>
      new DataError({
        message: `--data: cannot read file: ${path} (${error instanceof Error ? error.message : error})`
      })
  })
