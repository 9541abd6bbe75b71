/** A mutant is a small controller with one known bug. Each has a twin, the correct controller, which runs the same story. */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Access } from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Explore from "@homeostat/testkit/Explore"
import type { Fault } from "@homeostat/testkit/explore/Fault"
import type { Step, Story } from "@homeostat/testkit/explore/Story"
import type { Violation } from "@homeostat/testkit/explore/Violations"
import { Effect, Option, Schema } from "effect"

/** The kind that the controllers reconcile. */
export const Volume = CustomResource.make({
  group: "explore.example.org",
  version: "v1",
  kind: "Volume",
  spec: Schema.Struct({
    size: Schema.Int,
    alias: Schema.optionalKey(Schema.String),
    note: Schema.optionalKey(Schema.String)
  }),
  status: Schema.Struct({
    child: Schema.optionalKey(Schema.String),
    phase: Schema.optionalKey(Schema.String),
    size: Schema.optionalKey(Schema.Int),
    seenAt: Schema.optionalKey(Schema.String),
    conditions: Schema.optionalKey(Condition.list)
  })
})

/** A Volume. */
export type Volume = typeof Volume.Type

/** Returns the controllers of one process. Each call makes new controllers with their own memory. */
export type Program = () => ReadonlyArray<Controller.Controller<Manager.Runtime>>

/** The promises of the violations, by short names. */
export const oracles = {
  rest: "at rest, nothing is written, also by a restarted manager",
  end: "the end is that of the run without a fault",
  count: "each object is created and deleted as often as in the run without a fault",
  others: "other clients keep what they wrote",
  leader: "only the leader writes",
  defect: "no defect",
  lasting: "a process that keeps running ends each step as a new process does",
  recovery: "a process that recovers from a failed write in each step ends the steps as a new process does",
  deletion: "a deletion ends",
  left: "nothing that the program created outlives the reconciled objects",
  past: "the end follows from the specs, not from the past",
  refusal: "a refused spec is reported on the object",
  fiber: "no fiber is left",
  early: "an attempt that writes Ready no longer changes a child"
} as const

/** A mutant and its twin. */
export interface Mutant {
  /** The bug of the mutant. */
  readonly name: string
  /** The promise that the mutant breaks. */
  readonly oracle: keyof typeof oracles
  /** The fault that reveals the bug; `none` if the story alone does. */
  readonly fault: Fault["_tag"] | "none"
  readonly mutant: Program
  readonly twin: Program
  readonly steps: ReadonlyArray<Step>
  /** Creates objects of users before the program starts. */
  readonly before?: Story["before"]
  /** Whether the state at rest depends on the specs only: see `Story`. */
  readonly fromSpecs?: boolean | undefined
}

/** Returns the faults that reveal a mutant. The failed writes of the promise about recovery belong to no schedule. */
export const faultsOf = ({ fault, oracle }: Mutant): ReadonlyArray<Fault["_tag"]> =>
  oracle === "recovery" ? ["Refused"] : fault === "none" ? [] : [fault]

/** Whether a violation is the expected one. */
export const isBy =
  ({ fault, oracle }: Mutant) =>
  ({ oracle: broken, schedule: { faults } }: Violation): boolean =>
    broken === oracles[oracle] &&
    (fault === "none" ? faults.length === 0 : faults.some((planned) => planned.fault._tag === fault))

/** Makes a controller of Volumes that owns ConfigMaps and returns `Result.done`. */
export const controller = <E, R>(
  reconcile: (volume: Volume) => Effect.Effect<unknown, E, R>,
  access: ReadonlyArray<Access> = []
) =>
  Controller.make("volumes", {
    for: Volume,
    owns: [ConfigMap],
    access,
    reconcile: (volume) => Effect.as(reconcile(volume), Result.done)
  })

/** Returns the story of a program. */
export const storyOf = (program: Program, { before, fromSpecs = false, steps }: Mutant): Story =>
  Explore.story({
    controllers: program(),
    manager: (settings) => Effect.suspend(() => Manager.launch(program(), settings)),
    steps,
    before,
    fromSpecs,
    cluster: { kubelet: false, controllers: ["garbage-collector-controller"] }
  })

/** The key of the Volume in the stories. */
export const key = { namespace: "default", name: "v" }

/** Returns a step that creates the Volume. */
export const create = (spec: Volume["spec"] = { size: 3 }): Step =>
  Explore.step("create", Client.create(Volume, { metadata: key, spec }))

/** Returns a step that changes the spec of the Volume. */
export const change = (name: string, spec: object): Step =>
  Explore.step(name, Client.patch(Volume, key, Patch.merge({ spec })))

/** A step that changes the size. */
export const resize = change("resize", { size: 5 })

/** A step that deletes the Volume. */
export const remove = Explore.step("delete", Client.delete(Volume, key))

/** Returns a key whose name begins with that of the Volume. */
export const keyOf = ({ metadata: { name, namespace = "" } }: KubernetesObject, suffix: string) => ({
  namespace,
  name: `${name}-${suffix}`
})

/** Applies a child with the size of the Volume. */
export const apply = (volume: Volume, suffix: string, data: Readonly<Record<string, string>> = {}) =>
  Owned.apply(volume, ConfigMap, {
    metadata: { name: keyOf(volume, suffix).name },
    data: { size: String(volume.spec.size), ...data }
  })

/** Reads a child from the cache; undefined if the cache does not have it. */
export const cached = (volume: Volume, suffix: string) =>
  Effect.map(Cache.get(ConfigMap, keyOf(volume, suffix)), Option.getOrUndefined)

/** Whether a child belongs to a Volume. */
export const isOwned = (child: ConfigMap, { metadata: { uid } }: Volume): boolean =>
  child.metadata.ownerReferences?.some((reference) => reference.uid === uid) === true

/** Returns an owner reference to a Volume. */
export const owner = ({ metadata: { name, uid } }: Volume) => ({
  apiVersion: "explore.example.org/v1",
  kind: "Volume",
  name,
  uid,
  controller: true
})

/** A correct controller with one child. */
export const plain: Program = () => [controller((volume) => apply(volume, "data"))]

/** The steps that create and delete a Volume. */
export const lifetime: ReadonlyArray<Step> = [create(), remove]

/** The steps that create a Volume and change its size. */
export const growth: ReadonlyArray<Step> = [create(), resize]
