/** The log of failed conversions, in simulated time. */
import { describe, expect } from "bun:test"
import * as Test from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Conversion from "../resource/Conversion.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as ConversionReview from "./ConversionReview.ts"

const coordinates = { group: "example.com", kind: "Box" }
const spec = Schema.Struct({ size: Schema.String })
const [v1, v2, v3] = ["v1", "v2", "v3"].map((version) => CustomResource.make({ ...coordinates, version, spec }))
if (v1 === undefined || v2 === undefined || v3 === undefined) throw new Error("missing version")
const refused = ({ spec: { size } }: { readonly spec: { readonly size?: string } }) =>
  Result.fail(`invalid size: ${size}`)
const Box = Conversion.between(
  v3,
  Conversion.spoke(v3, v1, { toHub: refused, fromHub: refused }),
  Conversion.spoke(v3, v2, { toHub: refused, fromHub: refused })
)

const recorded = <A, E>(body: (lines: Array<string>) => Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    return Effect.provide(body(lines), Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
  })

/** Asks an endpoint to convert objects of these sizes to v3. */
const asking = () => {
  const endpoint = ConversionReview.endpoint([Box])
  return (version: string, name: string, size: string) =>
    endpoint({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      request: {
        uid: "1",
        desiredAPIVersion: "example.com/v3",
        objects: [{ apiVersion: `example.com/${version}`, kind: "Box", metadata: { name }, spec: { size } }]
      }
    })
}

const failed = (name: string, size: string, more = "") =>
  `A conversion to example.com/v3 failed: Box "${name}": invalid size: ${size}${more}`

describe("A failed conversion", () => {
  Test.effect("is logged once in a minute, and then with the number of the same errors", () =>
    recorded((lines) =>
      Effect.gen(function* () {
        const ask = asking()
        for (let count = 0; count < 5; count++) {
          const { body } = yield* ask("v1", `box-${count}`, "large")
          expect(body).toMatchObject({
            response: { result: { message: `Box "box-${count}": invalid size: large` } }
          })
        }
        expect(lines).toEqual([failed("box-0", "large")])
        yield* TestClock.adjust("59 seconds")
        yield* ask("v1", "late", "large")
        expect(lines).toHaveLength(1)
        yield* TestClock.adjust("1 second")
        yield* ask("v1", "later", "large")
        expect(lines.slice(1)).toEqual([failed("later", "large", " (and 5 more times)")])
        yield* TestClock.adjust("1 minute")
        yield* ask("v1", "last", "large")
        expect(lines.slice(2)).toEqual([failed("last", "large")])
      })
    )
  )

  Test.effect("is logged at once if its message or version differs", () =>
    recorded((lines) =>
      Effect.gen(function* () {
        const ask = asking()
        yield* ask("v1", "one", "large")
        yield* ask("v1", "two", "small")
        yield* ask("v2", "three", "large")
        expect(lines).toEqual([failed("one", "large"), failed("two", "small"), failed("three", "large")])
      })
    )
  )

  Test.effect("is forgotten after a thousand later ones, so that the memory stays", () =>
    recorded((lines) =>
      Effect.gen(function* () {
        const ask = asking()
        for (let size = 0; size < 1001; size++) yield* ask("v1", "one", `${size}`)
        yield* ask("v1", "one", "1000")
        expect(lines).toHaveLength(1001)
        yield* ask("v1", "one", "0")
        expect(lines).toHaveLength(1002)
      })
    )
  )
})
