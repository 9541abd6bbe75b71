/** `bun run new controller KIND --group GROUP` generates a controller in this repository. The verb is in `new/`. */
import { join } from "node:path"
import * as Program from "@homeostat/runtime/command/Program"
import manifest from "../package.json" with { type: "json" }
import * as ControllerVerb from "./new/ControllerVerb.ts"

const named = { name: "bun run new", version: manifest.version, description: "Writes what something new begins with" }

const existing = async () => (await import("./main.ts")).program.controllers

Program.dispatch(named, [ControllerVerb.verb(join(import.meta.dir, ".."), existing)])
