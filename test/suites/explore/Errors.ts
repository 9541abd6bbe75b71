/** Mutants that misinterpret an error, never come to rest, or write without being the leader. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Fence from "@homeostat/runtime/client/Fence"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Clock, Effect } from "effect"
import {
  apply,
  cached,
  change,
  controller,
  create,
  growth,
  isOwned,
  key,
  lifetime,
  type Mutant,
  plain,
  Volume
} from "./Mutant.ts"

const sized = (volume: Volume) => Status.update(volume, { size: volume.spec.size })

/** Makes a controller that acts until the status has the size of the spec. */
const once =
  <E, R>(act: (volume: Volume) => Effect.Effect<unknown, E, R>, access?: ReadonlyArray<Access.Access>) =>
  () => [
    controller(
      (volume) => (volume.status?.size === volume.spec.size ? Effect.void : Effect.andThen(act(volume), sized(volume))),
      access
    )
  ]

const ignored: Mutant = {
  name: "ignores every error of a write",
  oracle: "end",
  fault: "Refused",
  mutant: once((volume) => Effect.ignore(apply(volume, "data"))),
  twin: () => [controller((volume) => Effect.andThen(apply(volume, "data"), sized(volume)))],
  steps: lifetime
}

const replace = (volume: Volume) =>
  Effect.flatMap(cached(volume, "data"), (child) =>
    child === undefined || !isOwned(child, volume)
      ? Effect.asVoid(apply(volume, "data"))
      : Effect.asVoid(Client.replace(ConfigMap, { ...child, data: { size: String(volume.spec.size) } }))
  )

const conflicting: Mutant = {
  name: "takes a conflict for success",
  oracle: "end",
  fault: "Refused",
  mutant: once((volume) => Effect.catchTag(replace(volume), "Conflict", () => Effect.void), [Access.update(ConfigMap)]),
  twin: once(replace, [Access.update(ConfigMap)]),
  steps: growth
}

const resigned: Mutant = {
  name: "takes an error that passes for a permanent one",
  oracle: "end",
  fault: "Refused",
  mutant: () => [
    controller((volume) => Effect.mapError(apply(volume, "data"), ({ message }) => new TerminalError({ message })))
  ],
  twin: plain,
  steps: lifetime
}

/** The API server rejects keys with a slash. */
const noted = (volume: Volume) => apply(volume, "data", { [volume.spec.note ?? "note"]: "" })

const reporting = () => [controller(noted)]

const rejected = [create({ size: 3, note: "a/b" }), change("mend", { note: "ab" })]

const silent: Mutant = {
  name: "does not report that the API server rejects the spec",
  oracle: "refusal",
  fault: "none",
  mutant: () => [controller((volume) => Effect.catchTag(noted(volume), "Invalid", () => Effect.void))],
  twin: reporting,
  steps: rejected,
  fromSpecs: true
}

const broken: Mutant = {
  name: "never recovers from a rejected spec",
  oracle: "past",
  fault: "none",
  mutant: () => [
    controller((volume) =>
      volume.status?.phase === "Invalid"
        ? Effect.void
        : Effect.catchTag(noted(volume), "Invalid", () => Status.update(volume, { phase: "Invalid" }))
    )
  ],
  twin: reporting,
  steps: rejected,
  fromSpecs: true
}

const restless: Mutant = {
  name: "writes the time into the status at each reconcile",
  oracle: "rest",
  fault: "none",
  mutant: () => [
    controller((volume) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Status.update(volume, { seenAt: new Date(now).toISOString() }))
    )
  ],
  twin: () => [
    controller((volume) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Status.update(volume, { seenAt: volume.status?.seenAt ?? new Date(now).toISOString() })
      )
    )
  ],
  steps: lifetime
}

const beatMillis = 60_000

/** Writes the time into the status if the last time is older than a minute. */
const beating = (isRepeated: boolean) => () => [
  Controller.make("volumes", {
    for: Volume,
    reconcile: (volume) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const { seenAt } = volume.status ?? {}
        const due = seenAt === undefined ? now : isRepeated ? Date.parse(seenAt) + beatMillis : Number.POSITIVE_INFINITY
        if (now >= due) yield* Status.update(volume, { seenAt: new Date(now).toISOString() })
        return Result.requeueAfter(beatMillis)
      })
  })
]

const heartbeat: Mutant = {
  name: "writes the time into the status each minute",
  oracle: "rest",
  fault: "none",
  mutant: beating(true),
  twin: beating(false),
  steps: lifetime
}

const both = (volume: Volume) => Effect.andThen(apply(volume, "one"), apply(volume, "two"))

const written = () => [controller(both)]

const unled: Mutant = {
  name: "writes in every replica",
  oracle: "leader",
  fault: "SecondLeader",
  mutant: () => [
    Controller.make("volumes", {
      for: Volume,
      owns: [ConfigMap],
      leaderElected: false,
      reconcile: (volume) => Effect.as(both(volume), Result.done)
    })
  ],
  twin: written,
  steps: [create()]
}

/** Sets both annotations, in two requests that nothing interrupts. */
const marked = ({ metadata: { annotations } }: Volume) =>
  Effect.uninterruptible(
    Effect.forEach(
      ["example.org/one", "example.org/two"].filter((name) => annotations?.[name] === undefined),
      (name) => Client.patch(Volume, key, Patch.merge({ metadata: { annotations: { [name]: "yes" } } }))
    )
  )

const unfenced: Mutant = {
  name: "goes on to write after the end of its leadership",
  oracle: "leader",
  fault: "SecondLeader",
  mutant: () => [controller((volume) => Fence.within(marked(volume), Fence.open), [Access.patch(Volume)])],
  twin: () => [controller(marked, [Access.patch(Volume)])],
  steps: [create()]
}

const leaking: Mutant = {
  name: "starts a fiber that nothing ends",
  oracle: "fiber",
  fault: "none",
  mutant: () => [controller((volume) => Effect.andThen(Effect.forkDetach(Effect.never), apply(volume, "data")))],
  twin: () => [controller((volume) => Effect.andThen(Effect.forkScoped(Effect.never), apply(volume, "data")))],
  steps: [create()]
}

/** The mutants. */
export const errors: ReadonlyArray<Mutant> = [
  ignored,
  conflicting,
  resigned,
  silent,
  broken,
  restless,
  heartbeat,
  unled,
  unfenced,
  leaking
]
