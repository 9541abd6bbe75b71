#!/usr/bin/env node
/** `kubemem`: a Kubernetes cluster in memory, and the commands that control it. */
import * as Dispatch from "@homeostat/runtime/command/Dispatch"
import manifest from "./package.json" with { type: "json" }
import * as Remote from "./Remote.ts"
import * as Start from "./Start.ts"

const named = { name: manifest.name, version: manifest.version, description: manifest.description }

Dispatch.run(named, [Start.verb, ...Remote.verbs])
