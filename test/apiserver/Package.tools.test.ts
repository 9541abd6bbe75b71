/** The package, packed and imported under Node. */
import { expect } from "bun:test"
import { cp, mkdir, readdir, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Node from "../suites/binary/Node.ts"

const root = join(import.meta.dir, "../..")

const done = (command: ReadonlyArray<string>, cwd: string) =>
  Effect.promise(async () => {
    const program = Bun.spawn([...command], { cwd, stdout: "pipe", stderr: "pipe" })
    const [output, errors] = await Promise.all([
      new Response(program.stdout).text(),
      new Response(program.stderr).text()
    ])
    const code = await program.exited
    expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" })
    return output
  })

live(
  "The packed API server answers under Node",
  () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      yield* done([process.execPath, "pm", "pack", "--quiet", "--destination", folder], import.meta.dir)
      const [tarball = ""] = (yield* Effect.promise(() => readdir(folder))).filter((name) => name.endsWith(".tgz"))
      const modules = join(folder, "node_modules")
      const installed = join(modules, "@homeostat/apiserver")
      yield* Effect.promise(() => mkdir(installed, { recursive: true }))
      yield* done(["tar", "xzf", join(folder, tarball), "--strip-components=1", "-C", installed], folder)
      yield* Effect.promise(async () => {
        const manifest: {
          readonly dependencies: { readonly [name: string]: string }
          readonly peerDependencies: { readonly [name: string]: string }
        } = await Bun.file(join(installed, "package.json")).json()
        for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
          await mkdir(dirname(join(modules, name)), { recursive: true })
          await symlink(join(root, "node_modules", name), join(modules, name))
        }
        await cp(join(import.meta.dir, "http/fixtures/node.mjs"), join(folder, "program.mjs"))
      })
      const answers = JSON.parse(yield* done([yield* Node.path, "program.mjs"], folder))
      const pattern = "^([a-z]+-?)+$"
      expect(answers).toEqual([
        { status: 201, data: { b: "c" } },
        { status: 200, data: { b: "c" } },
        { status: 201 },
        { status: 201, host: "home" },
        {
          status: 422,
          message: `Site.example.com "b" is invalid: spec.host: Invalid value: "LONG_": spec.host in body should match '${pattern}'`
        }
      ])
    }),
  120_000
)
