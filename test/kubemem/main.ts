#!/usr/bin/env node
/** `kubemem`: a Kubernetes cluster in memory, and the commands that control it. */
import * as Dispatch from "@homeostat/runtime/command/Dispatch"
import * as Envtest from "./Envtest.ts"
import manifest from "./package.json" with { type: "json" }
import * as Remote from "./Remote.ts"
import * as Start from "./Start.ts"

if (process.versions.bun === undefined && Number.parseInt(process.versions.node, 10) < 22) {
  process.stderr.write(
    `kubemem: unsupported version of Node: ${process.versions.node} (use Node 22 or newer, or Bun)\n`
  )
  process.exit(1)
}

const named = { name: manifest.name, version: manifest.version, description: manifest.description }

Dispatch.run(named, [Start.verb, ...Remote.verbs, Envtest.verb, ...Envtest.programs])
