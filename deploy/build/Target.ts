/** The systems that the program is compiled for. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** A system, as Bun calls it: `linux-x64-musl`. */
export type Target = `${"linux" | "darwin"}-${"x64" | "arm64"}` | `linux-${"x64" | "arm64"}-musl`

/** Those that a release has. */
export const released: ReadonlyArray<Target> = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"]

/** All that it can be compiled for. */
export const all: ReadonlyArray<Target> = [...released, "darwin-x64", "darwin-arm64"]

/** There is no such target. */
export class UnknownTarget extends Data.TaggedError("UnknownTarget")<{ readonly name: string }> {
  override get message(): string {
    return `unknown target: ${JSON.stringify(this.name)} (must be one of ${all.join(", ")})`
  }
}

/** One of them by its name. */
export const named = (name: string): Effect.Effect<Target, UnknownTarget> => {
  const target = all.find((one) => one === name)
  return target === undefined ? new UnknownTarget({ name }) : Effect.succeed(target)
}

/** Where a program on Linux names the dynamic linker that it wants. */
const headerBytes = 4096

/** This machine, and the C library that Bun itself is linked to. */
export const host: Effect.Effect<Target, UnknownTarget> = Effect.gen(function* () {
  const header = yield* Effect.promise(() => Bun.file(process.execPath).slice(0, headerBytes).text())
  return yield* named(`${process.platform}-${process.arch}${header.includes("/ld-musl-") ? "-musl" : ""}`)
})
