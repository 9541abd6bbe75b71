/** Mutants that damage the writes of other clients, or do not expect them. */
import * as Cache from "@homeostat/runtime/cache/Cache"
import type { ApiError } from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { InvalidObject } from "@homeostat/runtime/resource/Resource"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect, Option } from "effect"
import {
  apply,
  cached,
  change,
  controller,
  create,
  growth,
  isOwned,
  key,
  keyOf,
  lifetime,
  type Mutant,
  owner,
  plain,
  Volume
} from "./Mutant.ts"

const owned = (volume: Volume) => ({
  metadata: { ...keyOf(volume, "data"), ownerReferences: [owner(volume)] },
  data: { size: String(volume.spec.size) }
})

/** Whether the cached child has the size of the spec. */
const isCurrent = (volume: Volume) =>
  Effect.map(cached(volume, "data"), (child) => child?.data?.size === String(volume.spec.size))

const unless = <E, R, E2, R2>(condition: Effect.Effect<boolean, E, R>, act: Effect.Effect<unknown, E2, R2>) =>
  Effect.flatMap(condition, (holds) => (holds ? Effect.void : Effect.asVoid(act)))

const forced: Mutant = {
  // Defect B7 of Homeostat, from the review of its manager.
  name: "applies a child by force that its cache does not have",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: () => [
    controller((volume) => unless(isCurrent(volume), Client.apply(ConfigMap, owned(volume), { force: true })))
  ],
  twin: plain,
  steps: lifetime
}

const adopted: Mutant = {
  name: "takes AlreadyExists for success and adopts the object",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: () => [
    controller((volume) =>
      unless(
        isCurrent(volume),
        Effect.catchTag(Client.create(ConfigMap, owned(volume)), "AlreadyExists", () =>
          Client.patch(ConfigMap, keyOf(volume, "data"), Patch.merge(owned(volume)))
        )
      )
    )
  ],
  twin: plain,
  steps: lifetime
}

const put = (isGuarded: boolean) => () => [
  controller(
    (volume) =>
      Effect.gen(function* () {
        const child = yield* cached(volume, "data")
        if (child === undefined || !isOwned(child, volume)) return void (yield* apply(volume, "data"))
        const size = String(volume.spec.size)
        if (child.data?.size === size) return
        const { resourceVersion, ...metadata } = child.metadata
        const guard = isGuarded ? { resourceVersion } : {}
        yield* Client.replace(ConfigMap, {
          ...child,
          metadata: { ...metadata, ...guard },
          data: { ...child.data, size }
        })
      }),
    [Access.update(ConfigMap)]
  )
]

const overwritten: Mutant = {
  name: "replaces an object without the resourceVersion that it read",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: put(false),
  twin: put(true),
  steps: growth
}

const annotation = "example.org/size"

const annotated = (patch: (size: string) => Patch.Patch) => () => [
  controller(
    ({ metadata: { annotations }, spec }) =>
      annotations?.[annotation] === String(spec.size)
        ? Effect.void
        : Client.patch(Volume, key, patch(String(spec.size))),
    [Access.patch(Volume)]
  )
]

const emptied: Mutant = {
  name: "replaces the map of annotations to set one of them",
  oracle: "others",
  fault: "ForeignWrite",
  mutant: annotated((size) =>
    Patch.json([{ op: "add", path: "/metadata/annotations", value: { [annotation]: size } }])
  ),
  twin: annotated((size) => Patch.merge({ metadata: { annotations: { [annotation]: size } } })),
  steps: growth
}

const fighter = (name: string, data: Readonly<Record<string, string>>) =>
  Controller.make(name, {
    for: Volume,
    watches: [Trigger.on(ConfigMap, { map: () => [key] })],
    access: [Access.apply(ConfigMap)],
    reconcile: () =>
      Effect.gen(function* () {
        const found = Option.getOrUndefined(yield* Cache.get(ConfigMap, key))
        if (found === undefined) return Result.done
        const now: Readonly<Record<string, string>> = found.data ?? {}
        if (Object.entries(data).every(([name, value]) => now[name] === value)) return Result.done
        yield* Client.apply(ConfigMap, { metadata: key, data }, { force: true })
        return Result.done
      })
  })

const fight: Mutant = {
  name: "fights with another controller over a field",
  oracle: "rest",
  fault: "none",
  mutant: () => [fighter("blue", { color: "blue" }), fighter("green", { color: "green" })],
  twin: () => [fighter("blue", { color: "blue" }), fighter("green", { shape: "round" })],
  steps: [
    Explore.step("create both", Effect.andThen(Client.create(ConfigMap, { metadata: key, data: {} }), create().act))
  ]
}

const elsewhere = { namespace: "kube-system", name: "v-data" }

const abroad: Mutant = {
  // Defect B6 of Homeostat, from the review of its manager.
  name: "owns a child in another namespace, which the garbage collector deletes",
  oracle: "rest",
  fault: "none",
  mutant: () => [
    Controller.make("volumes", {
      for: Volume,
      watches: [Trigger.on(ConfigMap, { map: () => [key] })],
      access: [Access.create(ConfigMap)],
      reconcile: (volume) =>
        Effect.as(
          unless(
            Effect.map(Cache.get(ConfigMap, elsewhere), Option.isSome),
            Client.create(ConfigMap, { metadata: { ...elsewhere, ownerReferences: [owner(volume)] } })
          ),
          Result.done
        )
    })
  ],
  twin: plain,
  steps: lifetime
}

const unexpected: Mutant = {
  name: "dies if another client has deleted the child",
  oracle: "defect",
  fault: "ForeignWrite",
  mutant: () => [
    controller((volume) =>
      Effect.gen(function* () {
        if ((yield* cached(volume, "data")) === undefined) return void (yield* apply(volume, "data"))
        const data = { size: String(volume.spec.size) }
        if (!(yield* isCurrent(volume)))
          yield* Effect.orDie(Client.patch(ConfigMap, keyOf(volume, "data"), Patch.merge({ data })))
      })
    )
  ],
  twin: plain,
  steps: growth
}

const sweeper = (
  isGone: (name: string) => Effect.Effect<boolean, ApiError | InvalidObject, Client.Client | Cache.Cache>
) =>
  Controller.make("sweeper", {
    for: Volume,
    watches: [Trigger.on(ConfigMap, { map: () => [key] })],
    access: [Access.delete(ConfigMap), Access.get(Volume)],
    reconcile: () =>
      Effect.gen(function* () {
        const { items } = yield* Cache.list(ConfigMap)
        for (const { data = {}, metadata } of items) {
          if (data.volume !== undefined && (yield* isGone(data.volume))) yield* Client.delete(ConfigMap, metadata)
        }
        return Result.done
      })
  })

const other = { namespace: "default", name: "w" }

const swept: Mutant = {
  name: "deletes what belongs to an object that its cache does not have yet",
  oracle: "end",
  fault: "Lag",
  mutant: () => [sweeper((name) => Effect.map(Cache.get(Volume, { ...other, name }), Option.isNone))],
  twin: () => [
    sweeper((name) =>
      Effect.catchTag(Effect.as(Client.get(Volume, { ...other, name }), false), "NotFound", () => Effect.succeed(true))
    )
  ],
  steps: [
    create(),
    Explore.step(
      "create another one and its data",
      Effect.andThen(
        Client.create(Volume, { metadata: other, spec: { size: 3 } }),
        Client.create(ConfigMap, { metadata: { ...other, name: "contents" }, data: { volume: "w" } })
      )
    )
  ]
}

const removed: Mutant = {
  name: "keeps a field in the child that the spec no longer has",
  oracle: "past",
  fault: "none",
  mutant: () => [
    controller((volume) =>
      Effect.gen(function* () {
        const child = yield* cached(volume, "data")
        if (child === undefined)
          yield* apply(volume, "data", volume.spec.note === undefined ? {} : { note: volume.spec.note })
        else if (volume.spec.note !== undefined && child.data?.note !== volume.spec.note)
          yield* Client.patch(ConfigMap, keyOf(volume, "data"), Patch.merge({ data: { note: volume.spec.note } }))
      })
    )
  ],
  twin: () => [
    controller((volume) => apply(volume, "data", volume.spec.note === undefined ? {} : { note: volume.spec.note }))
  ],
  steps: [create({ size: 3, note: "blue" }), change("note removed", { note: null })],
  fromSpecs: true
}

const renamed = (isSwept: boolean) => () => [
  controller(
    (volume) =>
      Effect.gen(function* () {
        const child = yield* apply(volume, volume.spec.alias ?? "data")
        const { items } = yield* Cache.byOwner(ConfigMap, volume)
        for (const { metadata } of isSwept ? items : [])
          if (metadata.name !== child.metadata.name) yield* Client.delete(ConfigMap, metadata)
      }),
    [Access.delete(ConfigMap)]
  )
]

const left: Mutant = {
  name: "leaves the old child after a rename",
  oracle: "past",
  fault: "none",
  mutant: renamed(false),
  twin: renamed(true),
  steps: [create({ size: 3, alias: "one" }), change("rename", { alias: "two" })],
  fromSpecs: true
}

/** The mutants. */
export const others: ReadonlyArray<Mutant> = [
  forced,
  adopted,
  overwritten,
  emptied,
  fight,
  abroad,
  unexpected,
  swept,
  removed,
  left
]
