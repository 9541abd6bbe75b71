import { describe, expect, test } from "bun:test"
import * as Kinds from "../kinds/Kinds.fixture.ts"
import type { Kind } from "../model/Kind.ts"
import * as FieldSelector from "./FieldSelector.ts"

const takes = (text: string, taken: boolean) =>
  test(`${JSON.stringify(text)} ${taken ? "takes" : "leaves"} the pod`, () => {
    const pod = { metadata: { name: "a,b=c", namespace: "n" }, status: { phase: "Running" } }
    expect(FieldSelector.matches(FieldSelector.of(Kinds.pod, text), Kinds.pod, pod)).toBe(taken)
  })

const says = (kind: Kind, text: string, message: string) =>
  test(`${JSON.stringify(text)} of ${kind.plural} is refused as the real server refuses it`, () => {
    expect(() => FieldSelector.of(kind, text)).toThrow(expect.objectContaining({ code: 400, message }))
  })

describe("a field selector", () => {
  for (const text of [
    "",
    ",,",
    "metadata.name=a\\,b\\=c",
    "metadata.name!=x",
    "status.phase==Running,metadata.namespace=n,",
    "spec.host="
  ]) {
    takes(text, true)
  }
  for (const text of ["metadata.name=x", "metadata.namespace!=n", "status.phase=Running,spec.nodeName=x"])
    takes(text, false)

  test("returns the only name that it selects", () => {
    expect(FieldSelector.exactly(FieldSelector.parse("a!=x,metadata.name=w"), "metadata.name")).toBe("w")
    expect(FieldSelector.exactly(FieldSelector.parse("metadata.name!=w"), "metadata.name")).toBeUndefined()
  })

  const { configMap, job, node, pod, webApp } = Kinds
  says(configMap, "spec.x=a", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"')
  says(pod, "spec.x=a", "field label not supported: spec.x")
  says(webApp, "spec.x=a", "field label not supported: spec.x")
  says(job, "x=y", 'field label "x" not supported for Job')
  says(node, "metadata.namespace=x", "field label not supported: metadata.namespace")
  says(pod, "b=1,a=", "field label not supported: a")
  says(pod, "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'")
  says(pod, "metadata.name=a,x", "invalid selector: 'metadata.name=a,x'; can't understand 'x'")
  says(pod, "metadata.name=a=b", "invalid field selector: unescaped character in value: 61")
  says(pod, "metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x")
  says(pod, "metadata.name=a\\", "invalid field selector: invalid escape sequence: \\")
})
