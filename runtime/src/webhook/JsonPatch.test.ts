import { expect, test } from "bun:test"
import * as JsonPatch from "./JsonPatch.ts"

test("the field of an operation has the form of field errors", () => {
  const fieldOf = (path: string) => JsonPatch.fieldOf({ op: "remove", path })
  expect(fieldOf("/spec/theme")).toBe("spec.theme")
  expect(fieldOf("/metadata/labels/app.kubernetes.io~1name")).toBe("metadata.labels[app.kubernetes.io/name]")
  expect(fieldOf("/data/a~01/0")).toBe("data[a~1].0")
  expect(fieldOf("")).toBe("")
})
