/**
 * The scenes on the embedded server alone, in virtual time: each comes to its end, and two of them tell what a reader of the
 * Events and conditions would see. That all of them are as on a real cluster, `Controllers.real.test.ts` shows.
 */
import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Cluster from "./Cluster.ts"
import * as Scene from "./Scene.ts"
import { scenes, withNode } from "./Scenes.ts"

const played = (script: (typeof scenes)[string]) =>
  Cluster.embedded.pipe(
    Effect.flatMap(withNode),
    Effect.flatMap((cluster) => Scene.play(cluster, script))
  )

for (const [name, script] of Object.entries(scenes)) effect(name, () => played(script))

const scene = (name: string) => scenes[name] ?? (() => Effect.dieMessage(`no scene ${name}`))

effect("A rollout says step by step what it does", () =>
  Effect.gen(function* () {
    const { conditions, events } = yield* played(scene("a Deployment rolls out another image"))
    expect(conditions["Deployment d"]?.Progressing).toEqual([
      'True NewReplicaSetCreated: Created new replica set "d#1"',
      'True ReplicaSetUpdated: ReplicaSet "d#1" is progressing.',
      'True NewReplicaSetAvailable: ReplicaSet "d#1" has successfully progressed.',
      'True ReplicaSetUpdated: ReplicaSet "d#2" is progressing.',
      'True NewReplicaSetAvailable: ReplicaSet "d#2" has successfully progressed.'
    ])
    expect(Object.keys(events).filter((event) => event.startsWith("Deployment"))).toEqual([
      "Deployment d: Normal ScalingReplicaSet: Scaled down replica set d#1 from 1 to 0",
      "Deployment d: Normal ScalingReplicaSet: Scaled down replica set d#1 from 2 to 1",
      "Deployment d: Normal ScalingReplicaSet: Scaled down replica set d#1 from 3 to 2",
      "Deployment d: Normal ScalingReplicaSet: Scaled up replica set d#1 from 0 to 3",
      "Deployment d: Normal ScalingReplicaSet: Scaled up replica set d#2 from 0 to 1",
      "Deployment d: Normal ScalingReplicaSet: Scaled up replica set d#2 from 1 to 2",
      "Deployment d: Normal ScalingReplicaSet: Scaled up replica set d#2 from 2 to 3"
    ])
  })
)

effect("A Job that fails tells first that it will, and then that it has", () =>
  Effect.gen(function* () {
    const { conditions, ends, events } = yield* played(scene("a Job fails too often"))
    const why = "True BackoffLimitExceeded: Job has reached the specified backoff limit"
    expect(conditions).toEqual({ "Job j": { FailureTarget: [why], Failed: [why] } })
    expect(ends["Job j"]).toEqual({ failed: 2, ready: 0, terminating: 0, uncountedTerminatedPods: {} })
    expect(events["Job j: Normal SuccessfulCreate: Created pod: j-*"]).toBe(2)
    expect(events["Job j: Warning BackoffLimitExceeded: Job has reached the specified backoff limit"]).toBe(1)
  })
)
