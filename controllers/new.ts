/** `bun run new` generates a controller in this repository, or the webhooks of one. The verbs are in `new/`. */
import { join } from "node:path"
import * as Dispatch from "@homeostat/runtime/command/Dispatch"
import manifest from "../package.json" with { type: "json" }
import * as ControllerVerb from "./new/ControllerVerb.ts"
import * as WebhookVerb from "./new/WebhookVerb.ts"

const named = {
  name: "bun run new",
  version: manifest.version,
  description: "Add a controller to this repository, or webhooks to a controller"
}

const existing = async () => (await import("./main.ts")).program.controllers

const root = join(import.meta.dir, "..")

Dispatch.run(named, [ControllerVerb.verb(root, existing), WebhookVerb.verb(root, existing)])
