/**
 * Runs the commands of each page in order, and applies its YAML. The tests use a copy of the tree with the built program, and a real
 * cluster with kwok.
 */
import { describe } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import type * as Running from "../binary/Running.ts"
import * as Commands from "./Commands.ts"
import { CommandFailed, isReady, kinds, shell, succeed, surroundings, webApp } from "./Surroundings.ts"

/** The pages that install the kinds. Other pages need these pages first. */
const installing = new Set(["README.md", "deploy/README.md"])

/** Pages that query a manager about a WebApp. */
const asking = new Set(["docs/logs.md", "docs/replay.md", "docs/why.md"])

/** Pages that need a manager. */
const managed = new Set([...installing, ...asking, "docs/backup.md", "docs/webapp.md"])

/** A separate control plane, because the pages install cluster-wide objects. The harmless flag makes it separate. */
const alone = { ...Envtest.everything, apiServerFlags: ["--event-ttl=59m"] }

const follow = (page: Commands.Page) => (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const place = yield* surroundings(cluster)
    const before = (text: string) => succeed(place, { place: `before ${page.file}`, text })
    if (!installing.has(page.file)) yield* before(kinds)
    if (asking.has(page.file)) yield* before(webApp)
    if (managed.has(page.file)) yield* shell(place, "exec homeostat run")
    if (asking.has(page.file)) yield* isReady(place.probes)
    const background: Array<{ readonly block: Commands.Commands; readonly running: Running.Running }> = []
    for (const block of page.blocks) {
      switch (block.form) {
        case "run":
          yield* succeed(place, block)
          break
        case "short":
          yield* succeed(place, { place: block.place, text: block.command })
          break
        case "apply":
          yield* succeed(place, { place: block.place, text: `kubectl apply -f - <<'END'\n${block.text}END` })
          break
        case "background":
          background.push({ block, running: yield* shell(place, `exec ${block.text}`) })
          break
        default:
      }
    }
    for (const { block, running } of background) {
      const end = yield* Effect.option(running.ended("1 millis"))
      if (end._tag === "Some") return yield* new CommandFailed({ ...block, end: end.value })
    }
  })

describe("The commands of", () => {
  for (const page of Commands.pages.filter(({ blocks }) =>
    blocks.some(({ form }) => form !== "elsewhere" && form !== "container")
  )) {
    Shared.real(`${page.file} succeed`, follow(page), { ...alone, timeoutMillis: 180_000 })
  }
})
