/** A program with a kind that no CustomResourceDefinition can hold. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import * as Running from "./Running.ts"

const impossible = join(import.meta.dir, "fixtures", "impossible.ts")

describe("A kind that no CustomResourceDefinition can hold", () => {
  for (const verb of ["run --install-crds", "crd", "manifests"]) {
    live(`is exit code 1 of ${verb} and one line that names the field, before a cluster is looked for`, () =>
      Effect.gen(function* () {
        const environment = Binary.plain(yield* Directory.make)
        const program = yield* Running.start([process.execPath, impossible, ...verb.split(" ")], environment)
        const end = yield* program.ended("40 seconds")
        expect(end).toMatchObject({ code: 1, stdout: "" })
        expect(end.stderr).toStartWith("impossible: Parcel spec.to: a CRD cannot hold a union of structs.")
        expect(end.stderr.trimEnd()).not.toContain("\n")
      })
    )
  }

  live("does not delay run, which compiles none of its kinds before it looks for a cluster", () =>
    Effect.gen(function* () {
      const environment = Binary.plain(yield* Directory.make)
      const program = yield* Running.start([process.execPath, impossible, "run"], environment)
      const end = yield* program.ended("40 seconds")
      expect(end).toMatchObject({ code: 1, stdout: "" })
      expect(end.stderr.trimEnd().split("\n").at(-1)).toStartWith("impossible: no cluster: ")
    })
  )
})
