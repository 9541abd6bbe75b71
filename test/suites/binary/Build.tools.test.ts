/** The build: its targets, its contents, and its reproducibility. */
import { describe, expect } from "bun:test"
import { appendFile, copyFile, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import * as Build from "@homeostat/runtime/command/Build"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Sources from "../../../deploy/build/Sources.ts"
import * as Target from "../../../deploy/build/Target.ts"
import manifest from "../../../package.json" with { type: "json" }
import * as Release from "./Release.ts"

const root = join(import.meta.dir, "../../..")

const sumOf = (file: string) => Release.run(["sha256sum", file]).pipe(Effect.map((line) => line.split(" ")[0]))

/** Machines by the number in the header of an ELF file. */
const machines: { readonly [number: number]: string } = { 62: "x64", 183: "arm64" }

/** The header of a program, and whether the program contains its target and paths of this machine. */
const looked = (file: string, target: string) =>
  Effect.promise(async () => {
    const bytes = Buffer.from(await Bun.file(file).arrayBuffer())
    return {
      isElf: bytes.subarray(0, 4).toString("latin1") === "\u007fELF",
      machine: machines[bytes.readUInt16LE(18)],
      linker: /\/lib(?:64)?\/ld-[a-z0-9_.-]+/.exec(bytes.subarray(0, 4096).toString("latin1"))?.[0],
      saysItsTarget: bytes.includes(`target:"${target}"`),
      hasPaths: bytes.includes(join(file, "../../node_modules"))
    }
  })

/** The command that runs a program for arm64: none on this architecture, or an emulator with Debian's C library. */
const arm64: ReadonlyArray<string> =
  process.arch === "arm64" ? [] : ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]

describe("A build", () => {
  live(
    "is for Linux on x64 and arm64, with glibc and with musl, and has checksums",
    () =>
      Effect.gen(function* () {
        const { dist } = yield* Release.get
        const linkers: { readonly [target: string]: string } = {
          "linux-x64": "/lib64/ld-linux-x86-64.so.2",
          "linux-x64-musl": "/lib/ld-musl-x86_64.so.1",
          "linux-arm64": "/lib/ld-linux-aarch64.so.1",
          "linux-arm64-musl": "/lib/ld-musl-aarch64.so.1"
        }
        for (const target of Target.released) {
          expect([target, yield* looked(join(dist, `homeostat-${target}`), target)]).toEqual([
            target,
            {
              isElf: true,
              machine: target.includes("arm64") ? "arm64" : "x64",
              linker: linkers[target],
              saysItsTarget: true,
              hasPaths: false
            }
          ])
        }
        const checked = yield* Release.run(["sh", "-c", 'cd "$0" && sha256sum --check --strict SHA256SUMS', dist])
        expect(checked.split("\n").sort()).toEqual(
          [...Target.released.map((target) => `homeostat-${target}: OK`), "homeostat.cdx.json: OK"].sort()
        )
      }),
    Release.millis
  )

  live(
    "is reproducible in any folder and environment, and leaves nothing of an earlier one",
    () =>
      Effect.gen(function* () {
        const { dist, repository } = yield* Release.get
        const folder = yield* Directory.make
        const [elsewhere, out] = [join(folder, "some", "folder", "else"), join(folder, "out")]
        yield* Release.clone(repository, elsewhere)
        const environment = { ...process.env, NODE_ENV: "development", TZ: "Asia/Tokyo", LANG: "C" }
        yield* Effect.promise(async () => {
          for (const earlier of ["homeostat-linux-arm64-musl", "SHA256SUMS", "packages/runtime.tgz"]) {
            await Bun.write(join(out, earlier), "earlier")
          }
        })
        yield* Release.build(elsewhere, ["--outdir", out], environment)
        const target = yield* Target.host
        expect(yield* sumOf(join(out, "homeostat"))).toBe(yield* sumOf(join(dist, `homeostat-${target}`)))
        expect(yield* sumOf(join(out, "homeostat.cdx.json"))).toBe(yield* sumOf(join(dist, "homeostat.cdx.json")))
        expect((yield* Effect.promise(() => readdir(out))).sort()).toEqual([
          "SHA256SUMS",
          "homeostat",
          "homeostat.cdx.json",
          "packages"
        ])
        yield* Release.run(["sh", "-c", 'cd "$0" && sha256sum --check --strict SHA256SUMS', out])
      }),
    Release.millis
  )

  live(
    "contains its commit, time, target, runtime and settings",
    () =>
      Effect.gen(function* () {
        const { commit, dist, repository } = yield* Release.get
        const target = yield* Target.host
        const seconds = yield* Release.run(["git", "-C", repository, "log", "-1", "--format=%ct"])
        const ended = yield* Release.run([join(dist, `homeostat-${target}`), "version", "--output=json"])
        expect(JSON.parse(ended)).toEqual({
          name: "homeostat",
          version: Build.versionOf(manifest.version, commit),
          commit,
          date: new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z"),
          target,
          runtime: `bun ${Bun.version}`,
          settings: ["bytecode", "minify", "sourcemap=linked", "splitting", "jitPolicy=30"]
        })
      }),
    Release.millis
  )

  live(
    "for arm64 starts there",
    () =>
      Effect.gen(function* () {
        const { commit, dist } = yield* Release.get
        const [executable, ...args] = [...arm64, join(dist, "homeostat-linux-arm64"), "version"] as const
        const ended = yield* Process.run(executable ?? "", args)
        // Exit code 127: the emulator is missing.
        if (ended.exitCode === 127)
          return yield* Effect.die(new Error("apt-get install qemu-user-static libc6-arm64-cross"))
        expect(ended).toMatchObject({ exitCode: 0, stderr: "" })
        expect(ended.stdout).toStartWith(
          `homeostat ${Build.versionOf(manifest.version, commit)}\ncommit:   ${commit}\n`
        )
        expect(ended.stdout).toContain("target:   linux-arm64\n")
      }),
    Release.millis
  )
})

describe("Bun's executable", () => {
  live("that is not of the release is not built into a program", () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const other = join(folder, "bun")
      yield* Effect.promise(async () => {
        await copyFile(process.execPath, other)
        await appendFile(other, "changed")
      })
      const { exitCode, stderr } = yield* Process.run(other, [join(root, "deploy/build.ts"), "--outdir", folder])
      expect(stderr).toMatch(
        /^build: Bun's executable for linux-\S+ differs from the release: \/\S+\/bun has the SHA-256 [0-9a-f]{64} \(must be [0-9a-f]{64}: run npx --yes bun@\S+ in its place\)\n$/
      )
      expect(exitCode).toBe(1)
    })
  )

  live("that cannot be downloaded is named", () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const { exitCode, stderr } = yield* Process.run(
        process.execPath,
        [join(root, "deploy/build.ts"), "--target", "darwin-arm64", "--outdir", folder],
        { env: { ...process.env, BUN_INSTALL_CACHE_DIR: folder, HTTPS_PROXY: "http://127.0.0.1:9", https_proxy: "" } }
      )
      expect(stderr).toMatch(
        /^build: Bun for darwin-arm64 can't be downloaded: .* \(or put bun-darwin-aarch64-v.* into .*\)\n$/
      )
      expect(exitCode).toBe(1)
    })
  )
})

describe("A source tree", () => {
  live(
    "that differs from its commit is dirty, and without a repository it is unknown",
    () =>
      Effect.gen(function* () {
        const { commit, repository } = yield* Release.get
        const folder = join(yield* Directory.make, "clone")
        yield* Release.run(["git", "clone", "--quiet", repository, folder])
        const { date, ...clean } = yield* Sources.of(folder, undefined)
        expect(clean).toEqual({ commit })
        expect(date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        // Here, the sources come from an archive that a user unpacked into a repository.
        expect(yield* Sources.of(join(folder, "controllers"), undefined)).toEqual({
          commit: "unknown",
          date: undefined
        })
        yield* Effect.promise(() => Bun.write(join(folder, "controllers/new.ts"), "export {}\n"))
        expect(yield* Sources.of(folder, undefined)).toEqual({ commit: `${commit}-dirty`, date })
        expect(yield* Sources.of(folder, "")).toEqual({ commit: `${commit}-dirty`, date })
        expect(yield* Sources.of(folder, "86400")).toEqual({ commit: `${commit}-dirty`, date: "1970-01-02T00:00:00Z" })
        yield* Effect.promise(() => rm(join(folder, ".git"), { recursive: true }))
        expect(yield* Sources.of(folder, "0")).toEqual({ commit: "unknown", date: "1970-01-01T00:00:00Z" })
        expect(yield* Sources.of(folder, "")).toEqual({ commit: "unknown", date: undefined })
      }),
    Release.millis
  )
})
