/** The Dockerfile of the manager's image, read as a builder reads it. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DockerfileParser } from "dockerfile-ast"

/** The whole file. */
export const text = readFileSync(join(import.meta.dir, "../../../deploy/Dockerfile"), "utf8")

/** The instructions by keyword: what follows each, its flags not counted. */
const instructions = DockerfileParser.parse(text)
  .getInstructions()
  .map((one) => ({ keyword: one.getKeyword(), rest: one.getRawArgumentsContent() ?? "" }))

/** What follows each instruction with this keyword. */
export const all = (keyword: string): ReadonlyArray<string> =>
  instructions.filter((one) => one.keyword === keyword).map(({ rest }) => rest)

/** Where a COPY takes its file, and where it puts it. */
export const copied = all("COPY").map((rest) => rest.split(/\s+/).filter((word) => !word.startsWith("--")))
