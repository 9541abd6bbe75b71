/**
 * `bun deploy/executables.ts` records the checksums of Bun's executables for the version that runs this, in `build/executables.json`. Run
 * it with a new version, after the change of `packageManager` in `package.json`.
 *
 * It takes them from the packages of npm, which npm verifies, and not from Bun's own download.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { $ } from "bun"
import * as Checksum from "./build/Checksum.ts"
import * as Executable from "./build/Executable.ts"
import * as Target from "./build/Target.ts"

const folder = await mkdtemp(join(tmpdir(), "homeostat-executables-"))
const sha256: { [target: string]: string } = {}
for (const target of Target.all) {
  const name = `@oven/${Executable.nameOf(target)}@${Bun.version}`
  const file = (await $`npm pack --silent --pack-destination ${folder} ${name}`.text()).trim()
  await $`tar -xzf ${join(folder, file)} -C ${folder} package/bin/bun`
  sha256[target] = await Checksum.of(join(folder, "package/bin/bun"))
}
await rm(folder, { recursive: true })
const text = JSON.stringify({ version: Bun.version, sha256 }, undefined, 2)
await Bun.write(join(import.meta.dir, "build/executables.json"), `${text}\n`)
process.stdout.write(`${text}\n`)
