/** A program with a kind that no CustomResourceDefinition can hold. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import * as Running from "./Running.ts"

const impossible = join(import.meta.dir, "fixtures", "impossible.ts")

describe("A kind that a CustomResourceDefinition cannot express", () => {
  for (const verb of ["run --install-crds", "crd", "manifests"]) {
    live(`causes exit code 1 of ${verb} and one line with the field, before a request to a cluster`, () =>
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

  live("does not delay run, which compiles no kind before it connects to a cluster", () =>
    Effect.gen(function* () {
      const environment = Binary.plain(yield* Directory.make)
      const program = yield* Running.start([process.execPath, impossible, "run"], environment)
      const end = yield* program.ended("40 seconds")
      expect(end).toMatchObject({ code: 1, stdout: "" })
      expect(end.stderr.trimEnd().split("\n").at(-1)).toStartWith("impossible: no cluster: ")
    })
  )
})
