/** Dockerfiles, parsed as an image builder parses them, and the manager's Dockerfile. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DockerfileParser } from "dockerfile-ast"

/** The arguments of each instruction of a Dockerfile with a keyword, without flags. */
export const of = (file: string) => {
  const instructions = DockerfileParser.parse(file)
    .getInstructions()
    .map((one) => ({ keyword: one.getKeyword(), rest: one.getRawArgumentsContent() ?? "" }))
  return (keyword: string): ReadonlyArray<string> =>
    instructions.filter((one) => one.keyword === keyword).map(({ rest }) => rest)
}

/** The text of the manager's Dockerfile. */
export const text = readFileSync(join(import.meta.dir, "../../../deploy/Dockerfile"), "utf8")

/** The arguments of each instruction of the manager's Dockerfile with a keyword. */
export const all = of(text)

/** The source and the target of each COPY. */
export const copied = all("COPY").map((rest) => rest.split(/\s+/).filter((word) => !word.startsWith("--")))
