/** The modules of the project as text. */
import { join } from "node:path"
import { Glob } from "bun"

export const root = join(import.meta.dir, "../../..")

/** A module with its path from the root. */
export interface Module {
  readonly file: string
  readonly text: string
}

/** Every module of the workspace except tests. */
export const all: ReadonlyArray<Module> = await Promise.all(
  ["controllers", "runtime", "observability", "test/apiserver", "test/cluster"]
    .flatMap((folder) => Array.from(new Glob(`${folder}/**/*.ts`).scanSync(root)))
    .filter((file) => !/node_modules|\/dist\/|fixture|\.test(-d)?\.ts$/.test(file))
    .sort()
    .map(async (file) => ({ file, text: await Bun.file(join(root, file)).text() }))
)
