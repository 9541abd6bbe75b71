import { describe, expect, test } from "bun:test"
import * as Program from "./Program.ts"

const named = (name: string): Program.Program => Program.command([name])

describe("The program of an image", () => {
  const images = { "registry.test:5000/web": named("web"), "registry.test/job:2": named("job") }

  test.each([
    ["registry.test:5000/web", "web"],
    ["registry.test:5000/web:1.27", "web"],
    ["registry.test:5000/web@sha256:0a", "web"],
    ["registry.test:5000/web:1.27@sha256:0a", "web"],
    ["registry.test/job:2", "job"],
    ["registry.test/job:3", undefined],
    ["registry.test/job", undefined],
    ["registry.test", undefined],
    ["constructor", undefined],
    ["", undefined]
  ])("of %p is %p", (image, name) => {
    const invocation = { command: [], args: [], env: {}, root: "/r", host: "", terminationLog: "/r/log" }
    expect(Program.find(images, image)?.(invocation).executable).toBe(name)
  })
})

describe("A command", () => {
  const run = (invocation: Partial<Program.Invocation>) =>
    Program.command(
      ["/data/server", "--listen"],
      ["/data"]
    )({
      command: [],
      args: [],
      env: {},
      root: "/r",
      host: "",
      terminationLog: "/r/log",
      ...invocation
    })

  test("is the entrypoint, on this machine, with the arguments or the command of the container", () => {
    expect(run({ args: ["a"] })).toMatchObject({ executable: "/data/server", args: ["--listen", "a"] })
    expect(run({ command: ["sh", "-c"], args: ["a"] })).toMatchObject({ executable: "sh", args: ["-c", "a"] })
  })

  test.each([
    ["/data", "/r/data"],
    ["/data/file", "/r/data/file"],
    ["/database", "/database"],
    ["--file=/data", "--file=/data"],
    ["/dev/termination-log", "/r/log"]
  ])("sees %p as %p", (path, moved) => {
    const { args, env } = run({ command: ["cat"], args: [path], env: { FILE: path } })
    expect({ args, env }).toEqual({ args: [moved], env: { FILE: moved } })
  })
})
