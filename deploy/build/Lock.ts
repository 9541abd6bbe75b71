/** The packages in `bun.lock`: the checksums that Bun compares when it installs them, and the patches of this repository. */
import { join } from "node:path"
import * as Effect from "effect/Effect"

/** By name and version, such as `effect@4.1.0`. */
export interface Lock {
  /** SHA-512 of the package as published, in hexadecimal digits. */
  readonly sums: ReadonlyMap<string, string>
  /** The files of the patches that change packages after their installation. */
  readonly patches: ReadonlyMap<string, string>
}

/** A package of a registry with its checksum, and a patch. */
const entry = /^ {4}"[^"]+": (?:\["((?:@[^/"]+\/)?[^@"]+@[^"]+)", .*"sha512-([^"]+)"\],?)$/gm
const patched = /^ {4}"((?:@[^/"]+\/)?[^@"]+@[^"]+)": "([^"]+\.patch)",?$/gm

/** Reads the lock file in a folder. */
export const read = (root: string): Effect.Effect<Lock> =>
  Effect.promise(async () => {
    const text = await Bun.file(join(root, "bun.lock")).text()
    return {
      sums: new Map(
        Array.from(text.matchAll(entry), ([, name = "", sum = ""]) => [
          name,
          Buffer.from(sum, "base64").toString("hex")
        ])
      ),
      patches: new Map(Array.from(text.matchAll(patched), ([, name = "", file = ""]) => [name, file]))
    }
  })
