/** The declarations of webhooks. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Admission from "./Admission.ts"
import * as AdmissionReview from "./AdmissionReview.ts"

test("two webhooks of a kind for the same writes are an error", () => {
  const checks = Admission.validate(BuiltIn.ConfigMap, { write: () => [], delete: () => [] })
  const created = Admission.default(BuiltIn.ConfigMap, () => undefined, { operations: ["CREATE"] })
  const updated = Admission.default(BuiltIn.ConfigMap, () => undefined, { operations: ["UPDATE"] })
  expect(Admission.duplicate([checks, created])).toBeUndefined()
  expect(Admission.duplicate([created, updated])).toBe("duplicate webhook: mutate of configmaps (declare it once)")
  expect(Admission.duplicate([checks, checks])).toBe("duplicate webhook: validate of configmaps (declare it once)")
})

test("an invalid setting is an error at the start", () => {
  const rule = { expression: "true", message: "" }
  expect(() => Admission.validate(BuiltIn.ConfigMap, { timeout: "31 seconds" })).toThrow(
    'invalid timeout of an admission webhook: "31 seconds" (must be whole seconds from 1 to 30)'
  )
  expect(() => Admission.validate(BuiltIn.ConfigMap, { cel: [{ ...rule, name: "A" }] })).toThrow("invalid rule name")
  const twice = [
    { ...rule, name: "a" },
    { ...rule, name: "a" }
  ]
  expect(() => Admission.validate(BuiltIn.ConfigMap, { cel: twice })).toThrow("must be unique for the kind")
})

const Box = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Box",
  spec: Schema.Struct({
    sides: Schema.Record(Schema.String, Schema.Struct({ size: Schema.Number })),
    serials: Schema.optional(Schema.Array(Schema.Number))
  })
})

/** The response to the creation of an object in JSON. */
const created = ({ hooks: [hook] }: Admission.Admission<never>, object: string) => {
  if (hook === undefined) throw new Error("no webhook")
  const request = { operation: "CREATE", name: "one", dryRun: false, userInfo: { username: "ann" }, oldObject: null }
  const answer = hook.answer({ ...request, object: JSON.parse(object) } as Admission.Wire)
  return Effect.runSync(answer as Effect.Effect<Admission.Answer>)
}

const box = (spec: string): string =>
  `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"one","namespace":"default"},"spec":${spec}}`

test("a field that a check cannot see is denied", () => {
  const seen: Array<string> = []
  const checks = Admission.validate(Box, {
    write: ({ spec }) => {
      seen.push(...Object.keys(spec.sides))
      return []
    }
  })
  expect(created(checks, box('{"sides":{"a":{"size":1}}}')).findings).toEqual([])
  expect(seen).toEqual(["a"])
  expect(created(checks, box('{"sides":{"__proto__":{"size":1}}}')).findings).toEqual([
    Admission.forbidden("field name not supported (choose another)", "spec.sides.__proto__")
  ])
  expect(seen).toEqual(["a"])
})

test("a default denies an object whose large integers it would round", () => {
  const defaults = Admission.default(Box, ({ spec: { serials = [] } }) => ({ spec: { serials: [...serials, 1] } }))
  expect(created(defaults, box('{"sides":{},"serials":[9007199254740991]}'))).toEqual({
    findings: [],
    patch: [{ op: "replace", path: "/spec/serials", value: [9007199254740991, 1] }]
  })
  expect(created(defaults, box('{"sides":{},"serials":[9007199254740993]}'))).toEqual({
    findings: [
      Admission.forbidden(
        "a default cannot write an integer beyond 9007199254740991 exactly (write a smaller one)",
        "spec.serials"
      )
    ],
    patch: []
  })
})

test("a denial reads only the members of a list that it shows", async () => {
  let read = 0
  const member = { toJSON: () => `m${++read}` }
  const list = Array.from({ length: 20_000 }, () => member)
  const checks = Admission.validate(BuiltIn.ConfigMap, {
    write: () => [Admission.invalid("data", list, "must be short")]
  })
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } }
  const body = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "7", operation: "CREATE", object }
  }
  const reply = await Effect.runPromise(AdmissionReview.endpoint(BuiltIn.ConfigMap, checks.hooks)(body))
  expect(reply.body).toMatchObject({ response: { status: { message: expect.stringContaining('["m') } } })
  expect(read).toBeLessThan(1000)
})
