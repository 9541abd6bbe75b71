import { expect, test } from "bun:test"
import * as Volumes from "./PodVolumes.ts"

test.each([
  ["key", "/v/key"],
  ["a/b", "/v/a/b"],
  ["/data", "/v/data"],
  ["a/../b", "/v/b"],
  ["..", "/v/"],
  ["../../etc/passwd", "/v/etc/passwd"],
  ["a/../../../b", "/v/b"]
])("No path leads out of a volume: %p", (path, inside) => {
  expect(Volumes.inside("/v", path)).toBe(inside)
})
