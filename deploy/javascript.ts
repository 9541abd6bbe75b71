/**
 * Writes the modules of a package as JavaScript to its folder `dist`, for Node. Its script `prepack` runs this in its folder. The modules
 * share code in `dist/chunks`, and contain the JSON that they import.
 */
import { rm } from "node:fs/promises"
import { Glob } from "bun"

const isModule = (file: string): boolean => !/\.(test|fixture)\.ts$|(^|\/)fixtures\/|^(dist|node_modules)\//.test(file)

await rm("dist/chunks", { recursive: true, force: true })
const { logs, success } = await Bun.build({
  entrypoints: Array.from(new Glob("**/*.ts").scanSync(".")).filter(isModule).sort(),
  root: ".",
  outdir: "dist",
  naming: { entry: "[dir]/[name].[ext]", chunk: "chunks/[hash].[ext]" },
  target: "node",
  packages: "external",
  splitting: true,
  throw: false
})
if (!success) {
  for (const log of logs) process.stderr.write(`${log}\n`)
  process.exit(1)
}
