/** Every command of the documentation is tested, most of them by `Commands.real.test.ts`. */
import { describe, expect, test } from "bun:test"
import manifest from "../../../package.json" with { type: "json" }
import * as Commands from "./Commands.ts"

const scripts: Readonly<Record<string, string>> = manifest.scripts

const blocks = Commands.pages.flatMap(({ commands }) => commands)

const count = (form: Commands.Commands["form"]): number => blocks.filter((block) => block.form === form).length

describe("A block of commands in the documentation", () => {
  test("runs in a test or has a reason why it does not", () => {
    expect(Commands.pages.flatMap(({ wrong }) => wrong)).toEqual([])
    expect(count("run")).toBeGreaterThan(7)
  })

  test("with a named file or short form is run by it", async () => {
    const unproven = await Promise.all(
      blocks.map(async (block) =>
        (await Commands.unproven(block, scripts)).map((command) => `${block.place}: ${command}`)
      )
    )
    expect(unproven.flat()).toEqual([])
    expect(count("elsewhere")).toBeGreaterThan(3)
  })

  test("that needs a container runtime contains only docker, kind, and kubectl into a pod", () => {
    const others = blocks
      .filter(({ form }) => form === "container")
      .flatMap(({ place, text }) => Commands.linesOf(text).map((line) => ({ place, line })))
      .filter(({ line }) => !/^(docker|kind|export \w+=)|^kubectl .*(port-forward|exec|logs) /.test(line))
    expect(others).toEqual([])
    process.stdout.write(`  ${count("container")} of ${blocks.length} blocks need a container runtime and do not run\n`)
  })
})

describe("The form of a block", () => {
  const of = (attributes: Readonly<Record<string, string>>, text = "a\n") => Commands.formOf({ attributes, text })

  test("is one of five", () => {
    expect(of({})).toEqual({ form: "run" })
    expect(of({ container: "" })).toEqual({ form: "container" })
    expect(of({ background: "" })).toEqual({ form: "background" })
    expect(of({ elsewhere: ".ci/run" })).toEqual({ form: "elsewhere", file: ".ci/run" })
    expect(of({ short: "a --help" })).toEqual({ form: "short", command: "a --help" })
  })

  test("has one attribute, with its value", () => {
    expect(of({ skip: "" })).toBe("unknown attribute: skip")
    expect(of({ elsewhere: "" })).toBe("unknown attribute: elsewhere")
    expect(of({ container: "", background: "" })).toBe("several attributes: container, background")
    expect(of({ background: "" }, "a\nb\n")).toBe("a background block must have one command")
  })

  test("requires the language sh", () => {
    expect(Commands.read("a.md", "```bash\nls\n```\n").wrong).toEqual(["a.md:1: invalid language: bash (must be sh)"])
  })
})

describe("The file or short form of a block", () => {
  const block = { place: "a.md:1", text: "bun run bogus\nbun run check   # types\n" }

  test("must run each command", async () => {
    expect(await Commands.unproven({ ...block, form: "elsewhere", file: ".ci/run" }, scripts)).toEqual([
      "bun run bogus"
    ])
  })

  test("must use the flags of each command", async () => {
    const built = { place: "a.md:1", text: "bun run build --all\nbun run build --bogus\n" }
    const file = "test/suites/binary/Build.tools.test.ts"
    expect(await Commands.unproven({ ...built, form: "elsewhere", file }, scripts)).toEqual(["bun run build --bogus"])
  })

  test("must exist", async () => {
    expect(await Commands.unproven({ ...block, form: "elsewhere", file: "gone" }, scripts)).toEqual([
      "file not found: gone"
    ])
  })

  test("must run the same program", async () => {
    const bench = { place: "a.md:1", text: "bun run bench\nbun run soak\n" }
    const short = { ...bench, form: "short", command: "bun test/bench/bench.ts --help" } as const
    expect(await Commands.unproven(short, scripts)).toEqual(["bun run soak"])
  })
})
