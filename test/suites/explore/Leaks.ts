/** Mutants that leave objects, lose what others wrote, or hide an error. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Clock, Data, Effect } from "effect"
import {
  apply,
  change,
  controller,
  create,
  growth,
  key,
  keyOf,
  lifetime,
  type Mutant,
  plain,
  Volume
} from "./Mutant.ts"

const access = [Access.apply(ConfigMap), Access.list(ConfigMap)]

const leaked: Mutant = {
  name: "leaves a child without an owner reference",
  oracle: "left",
  fault: "none",
  mutant: () => [
    controller(
      (volume) =>
        Client.apply(ConfigMap, { metadata: keyOf(volume, "data"), data: { size: String(volume.spec.size) } }),
      access
    )
  ],
  twin: plain,
  steps: lifetime
}

const generated: Mutant = {
  name: "leaves a child with a generated name and without an owner reference",
  oracle: "left",
  fault: "none",
  mutant: () => [
    controller(
      (volume) =>
        volume.status?.child === undefined
          ? Effect.flatMap(
              Client.create(ConfigMap, { metadata: { namespace: "default", generateName: "v-" }, data: {} }),
              ({ metadata }) => Status.update(volume, { child: metadata.name })
            )
          : Effect.void,
      [Access.create(ConfigMap)]
    )
  ],
  twin: plain,
  steps: lifetime
}

const listed = Client.list(ConfigMap, { namespace: key.namespace })

const counted = Effect.map(listed, ({ items }) => items.length)

/** Reports once whether there are ConfigMaps. */
const reporting = <E>(count: Effect.Effect<number, E, Client.Client>) => [
  controller(
    (volume) =>
      volume.status?.phase === undefined
        ? Effect.flatMap(count, (found) => Status.update(volume, { phase: found > 0 ? "Shared" : "Alone" }))
        : Effect.void,
    access
  )
]

const blind: Mutant = {
  name: "takes the error of a list for an empty list",
  oracle: "end",
  fault: "Refused",
  mutant: () => reporting(Effect.orElseSucceed(counted, () => 0)),
  twin: () => reporting(counted),
  before: Client.create(ConfigMap, { metadata: { namespace: key.namespace, name: "other" }, data: {} }),
  steps: [create()]
}

const users = { namespace: key.namespace, name: "users" }

/** Applies its child, and acts after an error of that. */
const afterError = <E>(act: Effect.Effect<unknown, E, Client.Client>, access: Access.Access) => [
  controller(
    (volume) => Effect.catch(apply(volume, "data"), (error) => Effect.andThen(act, Effect.fail(error))),
    [access]
  )
]

const emptied: Mutant = {
  name: "deletes all objects with a label after an error",
  oracle: "end",
  fault: "Refused",
  mutant: () =>
    afterError(
      Client.deleteAll(ConfigMap, { namespace: key.namespace, labelSelector: "app=v" }),
      Access.of(ConfigMap, ["deletecollection"])
    ),
  twin: plain,
  before: Client.create(ConfigMap, { metadata: { ...users, labels: { app: "v" } }, data: {} }),
  steps: growth
}

const strayed: Mutant = {
  name: "writes an object of another kind after an error",
  oracle: "end",
  fault: "Refused",
  mutant: () =>
    afterError(Client.patch(Secret, users, Patch.merge({ stringData: { failed: "yes" } })), Access.patch(Secret)),
  twin: plain,
  before: Client.create(Secret, { metadata: users, stringData: { a: "b" } }),
  steps: growth
}

const stuck: Mutant = {
  name: "leaves a deleted child with a finalizer that nothing removes",
  oracle: "end",
  fault: "ForeignWrite",
  mutant: () => [
    controller((volume) =>
      Owned.apply(volume, ConfigMap, {
        metadata: { name: keyOf(volume, "data").name, finalizers: ["explore.example.org/guard"] },
        data: { size: String(volume.spec.size) }
      })
    )
  ],
  twin: plain,
  steps: growth
}

const healthy = {
  type: "Degraded",
  status: "False",
  reason: "AsExpected",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z"
} as const

const silent: Mutant = {
  name: "reports a condition Degraded with status False for a rejected spec",
  oracle: "refusal",
  fault: "none",
  mutant: () => [
    controller((volume) =>
      Effect.andThen(
        Effect.catchTag(apply(volume, "data", { [volume.spec.note ?? "note"]: "" }), "Invalid", () => Effect.void),
        Status.update(volume, { conditions: [healthy] })
      )
    )
  ],
  twin: () => [
    controller((volume) =>
      Effect.catchTag(apply(volume, "data", { [volume.spec.note ?? "note"]: "" }), "Invalid", () =>
        Status.update(volume, { conditions: [{ ...healthy, status: "True" }] })
      )
    )
  ],
  steps: [create({ size: 3, note: "a/b" })]
}

const guard = "explore.example.org/own"

const alone: Mutant = {
  name: "replaces the finalizers of others by its own",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: () => [
    controller(
      ({ metadata: { finalizers } }) =>
        finalizers?.includes(guard) === true
          ? Effect.void
          : Client.patch(Volume, key, Patch.merge({ metadata: { finalizers: [guard] } })),
      [Access.patch(Volume)]
    )
  ],
  twin: () => [
    controller(
      ({ metadata: { finalizers = [], resourceVersion } }) =>
        finalizers.includes(guard)
          ? Effect.void
          : Client.patch(
              Volume,
              key,
              Patch.merge({ metadata: { resourceVersion, finalizers: [...finalizers, guard] } })
            ),
      [Access.patch(Volume)]
    )
  ],
  steps: [create()]
}

const labelled = (patch: (size: string) => Patch.Patch) => () => [
  controller(
    ({ metadata: { labels }, spec }) =>
      labels?.size === String(spec.size) ? Effect.void : Client.patch(Volume, key, patch(String(spec.size))),
    [Access.patch(Volume)]
  )
]

const relabelled: Mutant = {
  name: "replaces the labels of others by its own",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: labelled((size) => Patch.json([{ op: "add", path: "/metadata/labels", value: { size } }])),
  twin: labelled((size) => Patch.merge({ metadata: { labels: { size } } })),
  steps: growth
}

const unowned = (volume: Volume) => {
  const { name } = keyOf(volume, volume.spec.alias ?? "data")
  return Client.apply(ConfigMap, { metadata: { namespace: key.namespace, name } }, { force: true })
}

const renamed: Mutant = {
  name: "leaves the old object without an owner after a rename",
  oracle: "past",
  fault: "none",
  mutant: () => [controller(unowned, access)],
  twin: plain,
  steps: [create({ size: 3, alias: "one" }), change("rename", { alias: "two" })],
  fromSpecs: true
}

const failing = (fails: boolean) => () => [
  Controller.make("volumes", {
    for: Volume,
    owns: [ConfigMap],
    finalizer: {
      name: "explore.example.org/cleanup",
      cleanup: () => (fails ? Effect.fail(new CleanupFailed()) : Effect.void)
    },
    reconcile: (volume) => Effect.as(apply(volume, "data"), Result.done)
  })
]

class CleanupFailed extends Data.TaggedError("CleanupFailed") {}

const undeleted: Mutant = {
  name: "never finishes its clean-up",
  oracle: "deletion",
  fault: "none",
  mutant: failing(true),
  twin: failing(false),
  steps: lifetime
}

const delayMillis = 30_000

/** Creates a child 30 seconds after it has seen the Volume, if the time since then is at most `patience`. */
const delayed = (patience: number) => () => [
  Controller.make("volumes", {
    for: Volume,
    owns: [ConfigMap],
    reconcile: (volume) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const { seenAt } = volume.status ?? {}
        if (seenAt === undefined) {
          yield* Status.update(volume, { seenAt: new Date(now).toISOString() })
          return Result.requeueAfter(delayMillis)
        }
        const due = Date.parse(seenAt) + delayMillis
        if (now < due) return Result.requeueAfter(due - now)
        if (now <= due + patience) yield* apply(volume, "data")
        return Result.done
      })
  })
]

const missed: Mutant = {
  name: "does not make up for work that was due while no process ran",
  oracle: "end",
  fault: "Crash",
  mutant: delayed(2_000),
  twin: delayed(Number.POSITIVE_INFINITY),
  steps: [{ ...create(), passes: "1 minute" }]
}

const ready = (volume: Volume) => Status.ready(volume, { reason: "Available", message: "" })

/** Records the size in an annotation of the child. */
const recorded = (volume: Volume) =>
  Client.patch(
    ConfigMap,
    keyOf(volume, "data"),
    Patch.merge({ metadata: { annotations: { "example.org/size": String(volume.spec.size) } } })
  )

const hasty: Mutant = {
  name: "is Ready before it changes its child",
  oracle: "early",
  fault: "none",
  mutant: () => [controller((volume) => Effect.andThen(ready(volume), apply(volume, "data")))],
  twin: () => [
    controller(
      (volume) => Effect.all([apply(volume, "data"), ready(volume), recorded(volume)], { discard: true }),
      [Access.patch(ConfigMap)]
    )
  ],
  steps: [create()]
}

/** The mutants. */
export const leaks: ReadonlyArray<Mutant> = [
  hasty,
  renamed,
  undeleted,
  missed,
  leaked,
  generated,
  blind,
  emptied,
  strayed,
  stuck,
  silent,
  alone,
  relabelled
]
