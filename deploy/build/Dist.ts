/** The folder that a build leaves: the programs, their bill of materials, and the checksums of all of that. */
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Checksum from "./Checksum.ts"
import * as Target from "./Target.ts"

/** It can't be written to. */
export class NotWritable extends Data.TaggedError("NotWritable")<{
  readonly folder: string
  /** The error of the operating system. */
  readonly reason: string
}> {
  override get message(): string {
    return `${this.folder} can't be written to (${this.reason}): --outdir names another folder`
  }
}

const written = <A>(folder: string, attempt: () => Promise<A>): Effect.Effect<A, NotWritable> =>
  Effect.tryPromise({
    try: attempt,
    catch: (error) => new NotWritable({ folder, reason: error instanceof Error ? error.message : String(error) })
  })

/** The program that is for the machine that it is made on. */
export const own = "homeostat"

/** The program for a system that was asked for. */
export const nameOf = (target: Target.Target): string => `${own}-${target}`

const [bill, sums] = ["homeostat.cdx.json", "SHA256SUMS"]

/** Creates the folder, and removes the files of earlier builds, which the bill and the checksums would not cover. */
export const prepare = (folder: string): Effect.Effect<void, NotWritable> =>
  written(folder, async () => {
    await mkdir(folder, { recursive: true })
    for (const name of [own, ...Target.all.map(nameOf), bill, sums]) await rm(join(folder, name), { force: true })
  })

/** Writes the bill, and the checksums of that and of the programs, by their names. */
export const finish = (
  folder: string,
  programs: ReadonlyArray<string>,
  text: string
): Effect.Effect<void, NotWritable> =>
  written(folder, async () => {
    await Bun.write(join(folder, bill), text)
    const lines = await Promise.all(
      [...programs, bill].map(async (name) => `${await Checksum.of(join(folder, name))}  ${name}\n`)
    )
    await Bun.write(join(folder, sums), lines.join(""))
  })
