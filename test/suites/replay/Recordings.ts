/** The recordings of all attempts of a story, in the format of a file. */
import * as RepositoryQueue from "@homeostat/backup/repository/RepositoryQueue"
import * as Needs from "@homeostat/backup/run/Needs"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import * as Document from "@homeostat/runtime/manager/recordings/Document"
import * as Recorded from "@homeostat/runtime/manager/recordings/Recorded"
import * as Replay from "@homeostat/runtime/replay/Replay"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import type { Story } from "@homeostat/testkit/explore/Story"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Context, Effect, Layer, Random, References } from "effect"

/** Returns the document after a round trip through JSON. */
export const filed = (document: Document.Document): Document.Document => {
  const parsed = Document.parse(JSON.stringify(document))
  if (typeof parsed === "string") throw new Error(parsed)
  return parsed
}

/** Observes the attempts of an effect, and adds the recording of each one to `into`, even if the attempt did nothing. */
export const observed = (into: Array<Document.Document>) =>
  Attempt.observedBy((attempt) =>
    Effect.sync(() => {
      const recorded = Recorded.of(attempt)
      if (recorded !== undefined) into.push(filed(Effect.runSync(Document.of(recorded, "embedded"))))
    })
  )

/** Returns the recordings of a story. */
export const ofStory = (story: Story): Effect.Effect<ReadonlyArray<Document.Document>> =>
  Effect.suspend(() => {
    const time = VirtualTime.make(story.begin)
    const recordings: Array<Document.Document> = []
    return Effect.gen(function* () {
      const cluster = yield* EmbeddedCluster.make({ ...story.cluster, seed: 1 })
      const act = (effect: Story["before"]) =>
        Effect.orDie(Effect.provide(Effect.scoped(effect ?? Effect.void), cluster.client))
      yield* act(story.before)
      const manager = story.manager({ instance: "recorded" }).pipe(observed(recordings))
      yield* Effect.forkScoped(Effect.provide(manager, cluster.transport))
      for (const step of story.steps) {
        yield* act(step.act)
        yield* time.pass("1 minute")
        yield* time.pass(step.passes ?? 0)
      }
      return recordings
    }).pipe(Effect.scoped, time.within, Random.withSeed(1), Effect.provideService(References.MinimumLogLevel, "None"))
  })

/** The services of the shipped controllers, with their memory of earlier attempts. */
export const services = () =>
  Context.make(RepositoryQueue.RepositoryQueue, RepositoryQueue.make()).pipe(Context.add(Needs.Needs, Needs.make()))

/** Replays a recording with the services of the shipped controllers, by default without memory of earlier attempts. */
export const replayed = (
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  document: Document.Document,
  memory = services()
): Effect.Effect<Replay.Report, Replay.Unusable> =>
  Effect.provide(Replay.make(controllers, Layer.empty, document), memory)
