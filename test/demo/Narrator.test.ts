import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Narrator from "./Narrator.ts"

const linesOf = (live: boolean) =>
  Effect.gen(function* () {
    const written: Array<string> = []
    const narrator = yield* Narrator.make({ live, columns: 24, write: (text) => written.push(text) })
    yield* narrator.part("A part")
    yield* narrator.show("pod/web", "Running")
    yield* TestClock.adjust("1250 millis")
    yield* narrator.report("you", "delete it")
    yield* narrator.show("pod/web", undefined)
    yield* narrator.end(["The end."])
    return written
  })

effect("The narrator writes only lines with the time and the actor into a pipe", () =>
  Effect.gen(function* () {
    expect(yield* linesOf(false)).toEqual(["\nA part\n", "  1.3s  you      delete it\n", "\nThe end.\n"])
  })
)

effect(
  "The narrator shows the objects below the lines on a terminal, cut to its width, and removes them at the end",
  () =>
    Effect.gen(function* () {
      const erase = "\x1b[2A\x1b[J"
      const drawing = `\n\x1b[2m${"  pod/web".padEnd(23)}\x1b[0m\n`
      expect(yield* linesOf(true)).toEqual([
        "\n\x1b[1mA part\x1b[0m\n",
        drawing,
        `${erase}\x1b[90m  1.3s\x1b[0m  \x1b[33myou     \x1b[0m delete it\n${drawing}`,
        erase,
        "",
        "\nThe end.\n"
      ])
    })
)
