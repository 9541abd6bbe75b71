import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../model/Json.ts"
import { volumes } from "./VolumeValidation.ts"

/** The field and the message of each error of a projected volume with one source. */
const errors = (source: JsonObject) =>
  [...volumes("spec", { volumes: [{ name: "v", projected: { sources: [source] } }] }, new Map())].map(
    ({ field, message }) => [field, message]
  )

describe("A projected volume", () => {
  test("reports the field of a token with a short lifetime and without a path", () =>
    expect(errors({ serviceAccountToken: { expirationSeconds: 599 } })).toEqual([
      [
        "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds",
        "Invalid value: 599: may not specify a duration less than 10 minutes"
      ],
      ["spec.volumes[0].projected.sources[0].serviceAccountToken.path", "Required value"]
    ]))

  test("accepts a token of ten minutes", () =>
    expect(errors({ serviceAccountToken: { expirationSeconds: 600, path: "token" } })).toEqual([]))
})
