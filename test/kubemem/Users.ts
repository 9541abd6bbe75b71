/** Users with tokens, from a file in the format of kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"` per line. */
import { readFile } from "node:fs/promises"
import type { User } from "@homeostat/apiserver/model/User"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** The file is not readable, or one of its lines is invalid. */
export class UsersError extends Data.TaggedError("UsersError")<{ readonly message: string }> {}

/** A user, and the token that authenticates the user. */
export interface Known {
  readonly token: string
  readonly user: User
}

/** Reads users from a file. Fails if the file is not readable or invalid. */
export const read = (path: string): Effect.Effect<ReadonlyArray<Known>, UsersError> =>
  Effect.flatMap(
    Effect.tryPromise({
      try: () => readFile(path, "utf8"),
      catch: (error) => new UsersError({ message: `--users: cannot read file: ${path} (${error})` })
    }),
    (text) => parse(path, text)
  )

/** Parses the text of a file. Messages contain `path`. */
export const parse = (path: string, text: string): Effect.Effect<ReadonlyArray<Known>, UsersError> =>
  Effect.forEach(
    text.split("\n").flatMap((line, index) => (/^\s*(#|$)/.test(line) ? [] : [{ line: line.trim(), at: index + 1 }])),
    ({ at, line }) => {
      const [token = "", name = "", uid = "", groups = ""] =
        line
          .match(/"(?:[^"]|"")*"|[^,]+|(?<=,)(?=,|$)/g)
          ?.map((field) => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field.trim())) ?? []
      return token === "" || name === "" || uid === ""
        ? new UsersError({ message: `--users: invalid line: ${path}:${at} (must be token,user,uid,"group1,group2")` })
        : Effect.succeed({
            token,
            user: { name, uid, groups: groups.split(",").flatMap((group) => group.trim() || []) }
          })
    }
  )
