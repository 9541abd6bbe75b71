/** The Dockerfile of the manager's image, checked without an image builder and without a release. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Settings from "@homeostat/backup/Settings"
import { validate } from "dockerfile-utils"
import manifest from "../../../package.json" with { type: "json" }
import * as Root from "../../Root.ts"
import * as Dockerfile from "./Dockerfile.ts"

const root = join(import.meta.dir, "../../..")
const read = (file: string): string => readFileSync(join(root, file), "utf8")

describe("The image of the manager", () => {
  for (const file of ["deploy/Dockerfile", "deploy/mover/Dockerfile"]) {
    test(`passes the linter in ${file}`, () => {
      expect(validate(read(file)).map(({ message, range }) => `${range.start.line + 1}: ${message}`)).toEqual([])
    })
  }

  test("is distroless, runs as a numeric user without privileges, and starts the program without a shell", () => {
    expect(Dockerfile.all("ARG")[0]).toMatch(/^BASE=gcr\.io\/distroless\/base-nossl-debian\d+:nonroot$/)
    expect(Dockerfile.all("USER")).toEqual([`${Root.user}:${Root.user}`])
    expect(Dockerfile.all("ENTRYPOINT").map((rest) => JSON.parse(rest))).toEqual([["/usr/local/bin/homeostat"]])
    expect(Dockerfile.all("CMD").map((rest) => JSON.parse(rest))).toEqual([["run"]])
    for (const keyword of ["RUN", "ADD", "SHELL"]) expect(Dockerfile.all(keyword)).toEqual([])
  })

  test("turns off Bun's crash reports and last compiler, lets Bun collect an idle heap every five minutes, and sets no other variable", () => {
    expect(Dockerfile.all("ENV")).toEqual([
      "DO_NOT_TRACK=1 BUN_ENABLE_CRASH_REPORTING=0 BUN_JSC_useFTLJIT=0 BUN_GC_TIMER_INTERVAL=300000"
    ])
  })

  test("has a version whose mover is the default", () =>
    expect(Settings.defaults.moverImage).toBe(`homeostat-mover:${manifest.version}`))

  test("has labels for its version and licence", () => {
    const [labels = ""] = Dockerfile.all("LABEL")
    for (const [label, value] of Object.entries({
      title: manifest.name,
      description: manifest.description,
      version: manifest.version,
      licenses: manifest.license
    })) {
      expect(labels).toContain(`org.opencontainers.image.${label}="${value}"`)
    }
  })

  test("is made from exactly the files that are sent to the builder", () => {
    const ignored = read("deploy/Dockerfile.dockerignore")
    const sent = ignored.split("\n").flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []))
    expect(Dockerfile.copied.map(([from]) => from)).toEqual(sent)
    expect(ignored.split("\n")).toContain("*")
  })

  test("has a stage for each architecture, with a program that every user can execute", () => {
    expect(Dockerfile.all("FROM").map((rest) => rest.replace(/[${}]/g, ""))).toEqual([
      "BASE AS amd64",
      "BASE AS arm64",
      "TARGETARCH"
    ])
    expect(Dockerfile.text.match(/^COPY --chmod=0555 .* \/usr\/local\/bin\/homeostat$/gm)).toHaveLength(2)
  })
})
