/** Mutants that a crash or a lost response between two writes reveals. */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import type * as Finalizer from "@homeostat/runtime/controller/Finalizer"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect } from "effect"
import {
  apply,
  cached,
  controller,
  growth,
  key,
  keyOf,
  lifetime,
  type Mutant,
  owner,
  plain,
  remove,
  Volume
} from "./Mutant.ts"

const both = (volume: Volume) => Effect.andThen(apply(volume, "current"), apply(volume, "request"))

const guarded: Mutant = {
  // rabbitmq/cluster-operator#782
  name: "makes the second of two writes only if the first was necessary",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    controller((volume) =>
      Effect.flatMap(cached(volume, "current"), (current) =>
        Number(current?.data?.size ?? 0) < volume.spec.size ? both(volume) : Effect.void
      )
    )
  ],
  twin: () => [controller(both)],
  steps: growth
}

const named = (volume: Volume) => Client.create(ConfigMap, { metadata: generated(volume), data: {} })

const generated = (volume: Volume) => ({
  namespace: volume.metadata.namespace ?? "",
  generateName: `${volume.metadata.name}-`,
  ownerReferences: [owner(volume)]
})

const forgotten: Mutant = {
  name: "remembers the generated name of a child only in the status",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    controller((volume) =>
      volume.status?.child === undefined
        ? Effect.flatMap(named(volume), ({ metadata }) => Status.update(volume, { child: metadata.name }))
        : Effect.void
    )
  ],
  twin: plain,
  steps: lifetime
}

const repeated: Mutant = {
  name: "repeats a create after its answer was lost",
  oracle: "end",
  fault: "LostAnswer",
  mutant: () => [
    controller((volume) =>
      Effect.flatMap(Cache.byOwner(ConfigMap, volume), ({ items }) =>
        items.length > 0
          ? Effect.void
          : Effect.asVoid(Effect.retry(named(volume), { times: 2, while: ({ _tag }) => _tag === "Transport" }))
      )
    )
  ],
  twin: plain,
  steps: lifetime
}

const premature: Mutant = {
  name: "reports in the status that the child exists before it creates the child",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    controller((volume) =>
      volume.status?.phase === "Created"
        ? Effect.void
        : Effect.andThen(Status.update(volume, { phase: "Created" }), apply(volume, "data"))
    )
  ],
  twin: () => [
    controller((volume) => Effect.andThen(apply(volume, "data"), Status.update(volume, { phase: "Created" })))
  ],
  steps: lifetime
}

const bucket = { namespace: "default", name: "bucket" }

const withBucket = Explore.step(
  "create",
  Effect.andThen(
    Client.create(ConfigMap, { metadata: bucket, data: {} }),
    Client.create(Volume, { metadata: key, spec: { size: 3 } })
  )
)

const emptied = Effect.asVoid(Client.delete(ConfigMap, bucket))

const cleaned = <E, R>(cleanup: Finalizer.Finalizer<Volume, E, R>["cleanup"]) =>
  Controller.make("volumes", {
    for: Volume,
    finalizer: { name: "explore.example.org/bucket", cleanup },
    access: [Access.delete(ConfigMap)],
    reconcile: () => Effect.succeed(Result.done)
  })

const cleaning = () => [cleaned(() => Effect.catchTag(emptied, "NotFound", () => Effect.void))]

const leaking: Mutant = {
  name: "removes its finalizer before the clean-up",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    cleaned(() => Effect.andThen(Client.patch(Volume, key, Patch.merge({ metadata: { finalizers: null } })), emptied))
  ],
  twin: cleaning,
  steps: [withBucket, remove]
}

const stuck: Mutant = {
  name: "fails in its clean-up if there is nothing left to clean up",
  oracle: "end",
  fault: "Crash",
  mutant: () => [cleaned(() => emptied)],
  twin: cleaning,
  steps: [withBucket, remove]
}

const replaced: Mutant = {
  name: "deletes the child and creates another one with the state of the first",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    controller(
      (volume) =>
        Effect.gen(function* () {
          const old = yield* cached(volume, "data")
          const size = String(volume.spec.size)
          if (old?.data?.size === size) return
          if (old !== undefined) yield* Client.delete(ConfigMap, keyOf(volume, "data"))
          const metadata = { ...keyOf(volume, "data"), ownerReferences: [owner(volume)] }
          yield* Client.create(ConfigMap, { metadata, data: { size, token: old?.data?.token ?? `token-${size}` } })
        }),
      [Access.delete(ConfigMap)]
    )
  ],
  twin: () => [
    controller((volume) =>
      Effect.flatMap(cached(volume, "data"), (old) =>
        apply(volume, "data", { token: old?.data?.token ?? `token-${volume.spec.size}` })
      )
    )
  ],
  steps: growth
}

const counted: Mutant = {
  name: "counts the resizes in one object and remembers the size in another",
  oracle: "end",
  fault: "Crash",
  mutant: () => [
    controller((volume) =>
      Effect.gen(function* () {
        if (volume.status?.size === volume.spec.size) return
        const child = yield* cached(volume, "data")
        yield* apply(volume, "data", { resizes: String(Number(child?.data?.resizes ?? 0) + 1) })
        yield* Status.update(volume, { size: volume.spec.size })
      })
    )
  ],
  twin: () => [
    controller((volume) =>
      Effect.gen(function* () {
        const child = yield* cached(volume, "data")
        const isSame = child?.data?.size === String(volume.spec.size)
        yield* apply(volume, "data", { resizes: String(Number(child?.data?.resizes ?? 0) + (isSame ? 0 : 1)) })
      })
    )
  ],
  steps: growth
}

/** The mutants. */
export const crashes: ReadonlyArray<Mutant> = [
  guarded,
  forgotten,
  repeated,
  premature,
  leaking,
  stuck,
  replaced,
  counted
]
