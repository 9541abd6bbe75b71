/** The manager's image and a release: a build creates all files that the Dockerfile copies. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Dockerfile from "./Dockerfile.ts"
import * as Release from "./Release.ts"

describe("The image of the manager", () => {
  live(
    "is made from a build, and has the matching program for each architecture",
    () =>
      Effect.gen(function* () {
        const { repository } = yield* Release.get
        for (const [from = "", to] of Dockerfile.copied) {
          const file = Bun.file(join(repository, from))
          expect([from, yield* Effect.promise(() => file.exists())]).toEqual([from, true])
          if (to !== "/usr/local/bin/homeostat") continue
          const header = Buffer.from(yield* Effect.promise(() => file.slice(0, 20).arrayBuffer()))
          // The architecture's name in Docker and in the Linux kernel.
          const machine = { 62: "amd64", 183: "arm64" }[header.readUInt16LE(18)]
          const stage = Dockerfile.text
            .slice(0, Dockerfile.text.indexOf(from))
            .match(/AS (\S+)/g)
            ?.at(-1)
          expect([from, stage]).toEqual([from, `AS ${machine}`])
        }
      }),
    Release.millis
  )
})
