/** `version`: which program this is. */
import * as Console from "effect/Console"
import * as Verb from "./Verb.ts"

/** The verb. */
export const verb = (program: Verb.Named) =>
  Verb.make("version", {
    description: "Print the version",
    flags: {},
    run: () => Console.log(`${program.name} ${program.version}`)
  })
