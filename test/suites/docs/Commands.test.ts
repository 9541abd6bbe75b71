/** No command of the documentation is left out of the tests: see `Commands.real.test.ts` for those that are run. */
import { describe, expect, test } from "bun:test"
import manifest from "../../../package.json" with { type: "json" }
import * as Commands from "./Commands.ts"

const scripts: Readonly<Record<string, string>> = manifest.scripts

const blocks = Commands.pages.flatMap(({ commands }) => commands)

const count = (form: Commands.Commands["form"]): number => blocks.filter((block) => block.form === form).length

describe("A block of commands in the documentation", () => {
  test("is run, or says why not", () => {
    expect(Commands.pages.flatMap(({ wrong }) => wrong)).toEqual([])
    expect(count("run")).toBeGreaterThan(7)
  })

  test("that is run elsewhere, or in a shorter form, is so", async () => {
    const unproven = await Promise.all(
      blocks.map(async (block) =>
        (await Commands.unproven(block, scripts)).map((command) => `${block.place}: ${command}`)
      )
    )
    expect(unproven.flat()).toEqual([])
    expect(count("elsewhere")).toBeGreaterThan(3)
  })

  test("that needs a container runtime has nothing in it but docker, kind, and kubectl into a pod", () => {
    const strange = blocks
      .filter(({ form }) => form === "container")
      .flatMap(({ place, text }) => Commands.linesOf(text).map((line) => ({ place, line })))
      .filter(({ line }) => !/^(docker|kind|export \w+=)|^kubectl .*(port-forward|exec|logs) /.test(line))
    expect(strange).toEqual([])
    process.stdout.write(
      `  ${count("container")} of ${blocks.length} blocks need a container runtime, and are not run\n`
    )
  })
})

describe("What is done with a block", () => {
  const of = (attributes: Readonly<Record<string, string>>, text = "a\n") => Commands.formOf({ attributes, text })

  test("is one of five things", () => {
    expect(of({})).toEqual({ form: "run" })
    expect(of({ container: "" })).toEqual({ form: "container" })
    expect(of({ background: "" })).toEqual({ form: "background" })
    expect(of({ elsewhere: ".ci/run" })).toEqual({ form: "elsewhere", file: ".ci/run" })
    expect(of({ short: "a --help" })).toEqual({ form: "short", command: "a --help" })
  })

  test("is nothing else", () => {
    expect(of({ skip: "" })).toBe("no such attribute: skip")
    expect(of({ elsewhere: "" })).toBe("no such attribute: elsewhere")
    expect(of({ container: "", background: "" })).toBe("several attributes: container, background")
    expect(of({ background: "" }, "a\nb\n")).toBe("what runs in the background is one command")
  })

  test("is not asked of commands in another language's block: that is a mistake", () => {
    expect(Commands.read("a.md", "```bash\nls\n```\n").wrong).toEqual(["a.md:1: commands are `sh`, not `bash`"])
  })
})

describe("What a block names as running it", () => {
  const block = { place: "a.md:1", text: "bun run bogus\nbun run check   # types\n" }

  test("is asked for each command", async () => {
    expect(await Commands.unproven({ ...block, form: "elsewhere", file: ".ci/run" }, scripts)).toEqual([
      "bun run bogus"
    ])
  })

  test("is asked for its flags too", async () => {
    const built = { place: "a.md:1", text: "bun run build --all\nbun run build --bogus\n" }
    const file = "test/suites/binary/Build.tools.test.ts"
    expect(await Commands.unproven({ ...built, form: "elsewhere", file }, scripts)).toEqual(["bun run build --bogus"])
  })

  test("has to be there", async () => {
    expect(await Commands.unproven({ ...block, form: "elsewhere", file: "gone" }, scripts)).toEqual([
      "there is no gone"
    ])
  })

  test("is the same program, if it is a shorter form", async () => {
    const bench = { place: "a.md:1", text: "bun run bench\nbun run soak\n" }
    const short = { ...bench, form: "short", command: "bun test/bench/bench.ts --help" } as const
    expect(await Commands.unproven(short, scripts)).toEqual(["bun run soak"])
  })
})
