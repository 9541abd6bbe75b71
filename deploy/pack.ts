/**
 * `bun run pack`: the runtime, observability, the API server, the testkit and kubemem as tarballs in `dist/packages`, for a project outside of this
 * repository.
 *
 * `kubemem` is one file of JavaScript. The others have sources for Bun and declarations for TypeScript, as `files` of their package.json
 * says, and the API server has JavaScript for Node. The tarballs name versions of the catalog and of the workspace by number. (In this repository TypeScript reads the sources:
 * `exports` lead to them under the condition `homeostat-source`, which only `tsconfig.json` sets.) A version between two releases has its
 * commit in the package.json of the tarball, and not in the name of the file. The command publishes nothing.
 */
import { mkdir, rm } from "node:fs/promises"
import { basename, join } from "node:path"
import * as Build from "@homeostat/runtime/command/Build"
import * as Effect from "effect/Effect"
import * as Sources from "./build/Sources.ts"

const root = join(import.meta.dir, "..")
const destination = join(root, "dist/packages")

// The packages that others depend on come first.
const packages = ["runtime", "observability", "test/apiserver", "test/cluster", "test/kubemem"]

const { commit } = await Effect.runPromise(Sources.of(root, undefined))

/** Writes the commit into the version of a tarball. */
const name = async (tarball: string): Promise<void> => {
  const files = Object.fromEntries(await new Bun.Archive(await Bun.file(tarball).bytes()).files())
  const path = "package/package.json"
  const manifest = JSON.parse((await files[path]?.text()) ?? "{}")
  const named = { ...manifest, version: Build.versionOf(manifest.version, commit) }
  const archive = new Bun.Archive(
    { ...files, [path]: `${JSON.stringify(named, undefined, 2)}\n` },
    { compress: "gzip" }
  )
  await Bun.write(tarball, await archive.bytes())
}

await rm(destination, { recursive: true, force: true })
await mkdir(destination, { recursive: true })
for (const folder of packages) {
  // Declarations of a module that is gone would be packed too.
  await rm(join(root, folder, "dist"), { recursive: true, force: true })
}
for (const folder of packages) {
  // Its script `prepack` makes the declarations.
  const { exitCode, stderr, stdout } = Bun.spawnSync(
    [process.execPath, "pm", "pack", "--quiet", "--destination", destination],
    { cwd: join(root, folder), stdin: "ignore" }
  )
  if (exitCode !== 0) {
    process.stderr.write(`pack: ${folder} was not packed (exit code ${exitCode}):\n${stdout}${stderr}`)
    process.exit(1)
  }
  const tarball = stdout.toString().trim()
  await name(join(destination, basename(tarball)))
  process.stdout.write(`${tarball}\n`)
}
