/** The image of the manager, as far as it can be known without a builder: what its Dockerfile says, and whether that is there. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { live } from "@homeostat/testkit/Test"
import { DockerfileParser } from "dockerfile-ast"
import { validate } from "dockerfile-utils"
import { Effect } from "effect"
import manifest from "../../../package.json" with { type: "json" }
import * as Root from "../../Root.ts"
import * as Release from "./Release.ts"

const root = join(import.meta.dir, "../../..")
const read = (file: string): string => readFileSync(join(root, file), "utf8")

const [text, ignored] = [read("deploy/Dockerfile"), read("deploy/Dockerfile.dockerignore")]

/** The instructions by keyword: what follows each, its flags not counted. */
const instructions = DockerfileParser.parse(text)
  .getInstructions()
  .map((one) => ({ keyword: one.getKeyword(), rest: one.getRawArgumentsContent() ?? "" }))

const all = (keyword: string): ReadonlyArray<string> =>
  instructions.filter((one) => one.keyword === keyword).map(({ rest }) => rest)

/** Where a COPY takes its file, and where it puts it. */
const copied = all("COPY").map((rest) => rest.split(/\s+/).filter((word) => !word.startsWith("--")))

describe("The image of the manager", () => {
  for (const file of ["deploy/Dockerfile", "deploy/mover/Dockerfile"]) {
    test(`has no fault that a linter knows in ${file}`, () => {
      expect(validate(read(file)).map(({ message, range }) => `${range.start.line + 1}: ${message}`)).toEqual([])
    })
  }

  test("is distroless, of nobody, by number, and runs the program and no shell", () => {
    expect(all("ARG")[0]).toMatch(/^BASE=gcr\.io\/distroless\/base-nossl-debian\d+:nonroot$/)
    expect(all("USER")).toEqual([`${Root.user}:${Root.user}`])
    expect(all("ENTRYPOINT").map((rest) => JSON.parse(rest))).toEqual([["/usr/local/bin/homeostat"]])
    expect(all("CMD").map((rest) => JSON.parse(rest))).toEqual([["run"]])
    for (const keyword of ["RUN", "ADD", "ENV", "SHELL"]) expect(all(keyword)).toEqual([])
  })

  test("says its version and licence", () => {
    const [labels = ""] = all("LABEL")
    for (const [label, value] of Object.entries({
      title: manifest.name,
      description: manifest.description,
      version: manifest.version,
      licenses: manifest.license
    })) {
      expect(labels).toContain(`org.opencontainers.image.${label}="${value}"`)
    }
  })

  test("is made of files that are sent to the builder, and of all of them", () => {
    const sent = ignored.split("\n").flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []))
    expect(copied.map(([from]) => from)).toEqual(sent)
    expect(ignored.split("\n")).toContain("*")
  })

  live(
    "is made of what a build leaves, and has for each system the program that is for it, which anybody can run",
    () =>
      Effect.gen(function* () {
        const { repository } = yield* Release.get
        for (const [from = "", to] of copied) {
          const file = Bun.file(join(repository, from))
          expect([from, yield* Effect.promise(() => file.exists())]).toEqual([from, true])
          if (to !== "/usr/local/bin/homeostat") continue
          const header = Buffer.from(yield* Effect.promise(() => file.slice(0, 20).arrayBuffer()))
          // As Docker and the Linux kernel call the machine of a program.
          const machine = { 62: "amd64", 183: "arm64" }[header.readUInt16LE(18)]
          const stage = text
            .slice(0, text.indexOf(from))
            .match(/AS (\S+)/g)
            ?.at(-1)
          expect([from, stage]).toEqual([from, `AS ${machine}`])
        }
        expect(all("FROM").map((rest) => rest.replace(/[${}]/g, ""))).toEqual([
          "BASE AS amd64",
          "BASE AS arm64",
          "TARGETARCH"
        ])
        expect(text.match(/^COPY --chmod=0555 .* \/usr\/local\/bin\/homeostat$/gm)).toHaveLength(2)
      }),
    Release.millis
  )
})
