import { describe, expect, test } from "bun:test"
import * as Version from "effect/Version"
import * as EffectVersion from "./EffectVersion.ts"

describe("The version of Effect", () => {
  test.each(["4.1.0", "4.1.7", "4.10.0", Version.getCurrentVersion()])("%s is accepted", (version) =>
    expect(EffectVersion.refusal(version)).toBeUndefined()
  )
  test.each(["3.22.4", "4.0.6", "5.0.0", "41.0.0"])("%s is refused", (version) =>
    expect(EffectVersion.refusal(version)).toBe(
      `Homeostat needs effect 4.1 or a newer 4.x: found ${version} (bun add effect@4)`
    )
  )
})
