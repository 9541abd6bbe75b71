/** The embedded server responds to kubectl's requests as the recorded kube-apiserver did. */
import { expect, test } from "bun:test"
import * as Recording from "../comparison/Recording.ts"
import * as Replay from "../comparison/Replay.ts"
import * as Requests from "./Requests.ts"

const catalogue = Requests.catalogue()

test("the requests are those of the commands of the walks", () => {
  const commands = Requests.withoutControllers.map((walk) => [walk.name, Requests.digest(walk)])
  const taken = Array.from(catalogue, ([name, { commands }]) => [name, commands])
  if (!Bun.deepEquals(commands, taken)) {
    throw new Recording.Stale({ suite: "kubectl/requests", reason: "the walks have other commands" })
  }
  expect(taken.length).toBeGreaterThan(10)
})

Replay.tests(Requests.suiteOf(catalogue))
