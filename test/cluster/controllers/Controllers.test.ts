import { describe, expect, test } from "bun:test"
import * as Controllers from "./Controllers.ts"

describe("The controllers of a cluster", () => {
  test("are all of them by default", () => {
    expect(Controllers.named(undefined).length).toBe(Controllers.all().length)
  })

  test("are the named ones", () => {
    const names = Controllers.named(["scheduler", "deployment-controller"]).map(({ name }) => name)
    expect(names).toEqual(["deployment-controller", "scheduler"])
  })

  test("do not start with an unknown name", () => {
    expect(() => Controllers.named(["deployment-controller", "deployments"])).toThrow(
      /^unknown controller: "deployments" \(must be one of garbage-collector-controller, .*scheduler\)$/
    )
  })
})
