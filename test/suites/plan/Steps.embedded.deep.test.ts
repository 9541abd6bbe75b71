/**
 * Tests that a plan after each step of the shipped controllers' stories equals the writes of a manager. The plan has the permissions of
 * `homeostat rbac --plan`.
 */
import { describe, expect } from "bun:test"
import { backup, restore } from "@homeostat/backup"
import * as RepositoryQueue from "@homeostat/backup/repository/RepositoryQueue"
import * as Needs from "@homeostat/backup/run/Needs"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Plan from "@homeostat/runtime/plan/Plan"
import * as Reads from "@homeostat/runtime/plan/Reads"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import type { Story } from "@homeostat/testkit/explore/Story"
import * as Simulation from "@homeostat/testkit/Simulation"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller as webapp } from "@homeostat/webapp"
import { Effect, Exit, Layer, Random, References, Scope } from "effect"
import * as Stories from "../explore/Stories.ts"
import * as Recorded from "./Recorded.ts"
import * as WebAppStory from "./WebAppStory.ts"

/** Returns the state after the manager has finished the earlier steps, and the user has done this step. */
const momentAfter = (story: Story, index: number): Effect.Effect<WebAppStory.Moment> =>
  Effect.suspend(() => {
    const time = VirtualTime.make(story.begin)
    return Effect.gen(function* () {
      const cluster = yield* EmbeddedCluster.make({ ...story.cluster, seed: 1 })
      const act = (effect: Story["before"]) =>
        Effect.orDie(Effect.provide(Effect.scoped(effect ?? Effect.void), cluster.client))
      yield* act(story.before)
      const scope = yield* Scope.make()
      const manager = story
        .manager({ instance: "before" })
        .pipe(Effect.provide(cluster.transport), Scope.provide(scope))
      yield* Effect.forkIn(manager, scope)
      for (const step of story.steps.slice(0, index)) {
        yield* act(step.act)
        yield* time.pass("1 minute")
        yield* time.pass(step.passes ?? 0)
      }
      yield* time.during(Scope.close(scope, Exit.void))
      yield* act(story.steps[index]?.act)
      yield* time.pass("10 seconds")
      return { saved: cluster.server.saved(), at: time.clock.currentTimeMillisUnsafe(), actions: [] }
    }).pipe(Effect.scoped, time.within, Random.withSeed(1), Effect.provideService(References.MinimumLogLevel, "None"))
  })

const planned = (controllers: ReadonlyArray<Controller<Manager.Runtime>>, moment: WebAppStory.Moment) =>
  WebAppStory.frozen(moment, (cluster, time) =>
    Effect.gen(function* () {
      const { transport } = yield* cluster.bind(Rbac.of(Reads.of(controllers, [])))
      const recorded = Recorded.over({ ...cluster, transport })
      const simulation = yield* Simulation.make
      const kinds = Kinds.of({ controllers })
      const plan = yield* time.during(
        Plan.make(controllers, Layer.empty, { simulation, kinds }).pipe(
          Effect.provideService(RepositoryQueue.RepositoryQueue, RepositoryQueue.make()),
          Effect.provideService(Needs.Needs, Needs.make()),
          Effect.provide(recorded.transport)
        )
      )
      expect(recorded.requests).toEqual([])
      return plan
    })
  )

const written = (story: Story, moment: WebAppStory.Moment) =>
  WebAppStory.frozen(moment, (cluster, time) =>
    Effect.gen(function* () {
      const recorded = Recorded.over(cluster)
      yield* Effect.forkScoped(story.manager({ instance: "after" }).pipe(Effect.provide(recorded.transport)))
      // The time is less than the period of any schedule, because a plan is about the present.
      yield* time.pass("1 second")
      return recorded.writes
    })
  )

describe.each([
  ["a WebApp", Stories.webapp, [webapp]],
  ["a Backup", Stories.backupStory, [backup, restore]],
  ["a Restore", Stories.restoreStory, [backup, restore]]
] as const)("The plan of %s", (_, story, controllers) => {
  for (const [index, { name }] of story.steps.entries()) {
    live(
      `after "${name}"`,
      () =>
        Effect.gen(function* () {
          const moment = yield* momentAfter(story, index)
          const plan = yield* planned(controllers, moment)
          const real = yield* written(story, moment)
          expect(plan.unknown).toEqual([])
          expect(plan.writes.map(Recorded.plain).toSorted()).toEqual(real.map(Recorded.plain).toSorted())
          process.stdout.write(`  ${real.map(({ action, target }) => `${action} ${target.kind}`).join(", ")}\n`)
        }),
      120_000
    )
  }
})
