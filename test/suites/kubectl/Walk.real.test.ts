/**
 * kubectl has the same output on the embedded cluster as on the recorded real one. These tests run the walks about controllers and a
 * random sample of the others. The unit lane compares the requests of all others.
 */
import { describe, expect, test } from "bun:test"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as FastCheck from "fast-check"
import * as Comparable from "../comparison/Comparable.ts"
import * as Dialogues from "../comparison/Dialogues.ts"
import * as Recording from "../comparison/Recording.ts"
import * as Captured from "./Captured.ts"
import * as Requests from "./Requests.ts"
import * as Walk from "./Walk.ts"
import { walks } from "./Walks.ts"

const recording = Recording.read("kubectl")

test("the recording has every walk with its commands", () => {
  Recording.complete(
    "kubectl",
    recording,
    walks.map(({ name }) => name)
  )
  for (const walk of walks) {
    if (Requests.digest(walk) !== recording.get(walk.name)?.asked) {
      throw new Recording.Stale({ suite: "kubectl", reason: `"${walk.name}" has other commands` })
    }
  }
})

/** Walks whose requests the unit lane compares. */
const isCompared = ({ name, steps }: Walk.Walk): boolean =>
  Requests.withoutControllers.some((walk) => walk.name === name && walk.steps.length > 0.9 * steps.length)

const sample = FastCheck.sample(FastCheck.shuffledSubarray(walks.filter(isCompared), { minLength: 2, maxLength: 2 }), {
  seed: Seed.current(),
  numRuns: 1
}).flat()

for (const walk of walks.filter((one) => !isCompared(one) || sample.includes(one))) {
  Shared.embedded(
    walk.name,
    (cluster) =>
      Effect.gen(function* () {
        const texts = yield* Walk.take(cluster, walk)
        expect(texts.join("\n\n")).toBe((recording.get(walk.name)?.answers ?? []).join("\n\n"))
      }),
    Envtest.everything
  )
}

describe("A walk of the recorded requests", () => {
  // Without controllers, as for the recording.
  Shared.real("gets the recorded requests of kubectl and answers of a kube-apiserver", (cluster) =>
    Effect.gen(function* () {
      const { name, files } = sample[0] ?? expect.unreachable()
      const walk = Requests.withoutControllers.find((one) => one.name === name) ?? expect.unreachable()
      yield* cluster.install(...Requests.definitions)
      const { asked, entry } = yield* Captured.take(cluster, { ...walk, files })
      const recorded = Recording.read("kubectl/requests").get(name) ?? expect.unreachable()
      const ofRequests = (requests: Requests.Asked["requests"] = []) =>
        requests.map(Comparable.withoutTimes).map(withSelector)
      expect(ofRequests(asked.requests)).toEqual(ofRequests(Requests.catalogue().get(name)?.requests))
      expect(Dialogues.answersOf(entry).map(withoutAges)).toEqual(Dialogues.answersOf(recorded).map(withoutAges))
    })
  )
})

/** The response without the ages in its tables. */
const withoutAges = (answer: Json): Json =>
  JSON.parse(JSON.stringify(Comparable.withoutTimes(answer)).replaceAll(/"\d+s"/g, '"AGE"'))

/**
 * The request without uids in its selector, and with sorted selector parts, because kubectl writes the parts in any order.
 */
const withSelector = (request: Json): Json =>
  JSON.parse(
    JSON.stringify(request)
      .replaceAll(/(?<=uid%3D)[0-9a-f-]{36}/g, "UID")
      .replaceAll(/(?<=[?&]fieldSelector=)[^&"]+/g, (selector) => selector.split("%2C").sort().join("%2C"))
  )
