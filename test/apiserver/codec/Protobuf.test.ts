import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import samples from "../kinds/messages/fixtures/samples.json"
import * as Messages from "../kinds/messages/Messages.ts"
import * as Shape from "../kinds/Shape.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import * as MessageDecoder from "./MessageDecoder.ts"
import * as Protobuf from "./Protobuf.ts"
import { Writer, wire } from "./Wire.ts"

const nameOf = (object: JsonObject, index: number) =>
  `${object.apiVersion} ${object.kind}, ${index % 2 === 0 ? "empty" : "with all fields"}`

/** Returns the Go type of an object. */
const typeOf = ({ apiVersion, kind }: JsonObject): string => {
  const [version = "", group = ""] = String(apiVersion).split("/").reverse()
  const name = Messages.nameOf({ group, version, kind: String(kind) })
  return Messages.find(name) === undefined ? `meta/v1.${kind}` : name
}

describe("an object that Go has written as JSON and protobuf", () => {
  for (const [index, { json, protobuf }] of samples.entries()) {
    const object = json as JsonObject
    test(`has the same bytes: ${nameOf(object, index)}`, () => {
      expect(Protobuf.encode(object).toString("base64")).toBe(protobuf)
    })
    test(`has the same fields: ${nameOf(object, index)}`, () => {
      const draft = J.copy(Protobuf.read(Protobuf.open(Buffer.from(protobuf, "base64"))))
      // The server adds the fields that Go always encodes.
      Shape.canonicalize(Shape.of(typeOf(object)), draft, "null")
      expect(draft).toEqual(J.copy(object))
    })
  }
})

describe("a body in protobuf", () => {
  test("is decoded or rejected with 400, however it is damaged", () => {
    let refused = 0
    const bodies = FastCheck.tuple(
      FastCheck.constantFrom(...samples.map(({ protobuf }) => Buffer.from(protobuf, "base64"))),
      FastCheck.array(FastCheck.tuple(FastCheck.nat(), FastCheck.nat(255)), { maxLength: 8 }),
      FastCheck.double({ min: 0.2, max: 1, noNaN: true })
    )
    for (const [sample, changes, kept] of FastCheck.sample(bodies, { seed: Seed.current(), numRuns: 5000 })) {
      const body = Buffer.from(sample.subarray(0, Math.ceil(sample.length * kept)))
      for (const [at, byte] of changes) body[4 + (at % Math.max(1, body.length - 4))] = byte
      try {
        const opened = Protobuf.open(body)
        if (Protobuf.knows(opened)) Protobuf.read(opened)
      } catch (error) {
        expect(error).toMatchObject({ _tag: "Failure", code: 400 })
        refused++
      }
    }
    expect(refused).toBeGreaterThan(1000)
  })

  test("with 2,000 nested messages is rejected", () => {
    // Each schema contains the next one as its `not`.
    let schema = Buffer.alloc(0)
    const number = Messages.schema().fields.find(({ name }) => name === "not")?.number ?? 0
    for (let level = 0; level < 2000; level++) {
      const outer = new Writer()
      outer.tag(number, wire.part)
      outer.part(schema)
      schema = Buffer.from(outer.finish())
    }
    expect(() => MessageDecoder.read(Messages.schema(), schema)).toThrow("exceeded max depth")
  })

  test("keeps a key such as __proto__ in a map", () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: {}, data: JSON.parse('{"__proto__":"a","b":"c"}') }
    const read = Protobuf.read(Protobuf.open(Protobuf.encode(object)))
    expect(JSON.stringify(read.data)).toBe('{"__proto__":"a","b":"c"}')
  })
})
