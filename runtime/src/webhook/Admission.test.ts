/** The declarations of webhooks. */
import { expect, test } from "bun:test"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as Admission from "./Admission.ts"

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
