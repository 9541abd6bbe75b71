/**
 * `bun run pack`: the runtime, observability and the testkit as tarballs in `dist/packages`, for a project that is not in this
 * repository.
 *
 * They hold sources for Bun and declarations for TypeScript, each as `files` of its package says; versions of the catalog and of
 * the workspace stand there as numbers. (Here TypeScript reads the sources: `exports` lead there under the condition
 * `homeostat-source`, which only this repository's `tsconfig.json` sets.) Nothing is published.
 */
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"

const root = join(import.meta.dir, "..")
const destination = join(root, "dist/packages")

// The packages that others depend on come first.
const packages = ["runtime", "observability", "test/cluster"]

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
  process.stdout.write(`${stdout.toString().trim()}\n`)
}
