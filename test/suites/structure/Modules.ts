/** The modules of the project as text: what the structure's tests look at. */
import { join } from "node:path"
import { Glob } from "bun"

/** The root of the repository. */
export const root = join(import.meta.dir, "../../..")

/** A module: its path from the root, and its text. */
export interface Module {
  readonly file: string
  readonly text: string
}

/** Every module that is no test: the packages of the workspace, and the program. */
export const all: ReadonlyArray<Module> = await Promise.all(
  ["controllers", "runtime", "observability", "test/cluster"]
    .flatMap((folder) => Array.from(new Glob(`${folder}/**/*.ts`).scanSync(root)))
    .filter((file) => !/node_modules|\/dist\/|fixture|\.test(-d)?\.ts$/.test(file))
    .sort()
    .map(async (file) => ({ file, text: await Bun.file(join(root, file)).text() }))
)
