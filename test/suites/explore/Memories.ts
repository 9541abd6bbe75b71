/** Mutants that decide by the memory of their process, or by the events that it received. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Explore from "@homeostat/testkit/Explore"
import { Clock, Effect } from "effect"
import {
  apply,
  cached,
  change,
  controller,
  create,
  growth,
  key,
  lifetime,
  type Mutant,
  plain,
  remove,
  resize,
  Volume
} from "./Mutant.ts"

const hasGrown: Mutant = {
  name: "knows only from its memory that the size has changed",
  oracle: "end",
  fault: "Crash",
  mutant: () => {
    const sizes = new Map<string, number>()
    return [
      controller((volume) => {
        const { uid } = volume.metadata
        const before = sizes.get(uid)
        sizes.set(uid, volume.spec.size)
        return before !== undefined && before < volume.spec.size ? apply(volume, "request") : Effect.void
      })
    ]
  },
  twin: () => [
    controller((volume) =>
      Effect.gen(function* () {
        const { size = volume.spec.size } = volume.status ?? {}
        if (size < volume.spec.size) yield* apply(volume, "request")
        yield* Status.update(volume, { size: volume.spec.size })
      })
    )
  ],
  steps: growth
}

const annotate = (value: string) =>
  Client.patch(Volume, key, Patch.merge({ metadata: { annotations: { "example.org/started": value } } }))

const greeting: Mutant = {
  name: "writes to each object when its process starts",
  oracle: "rest",
  fault: "none",
  mutant: () => {
    const seen = new Set<string>()
    return [
      controller(
        ({ metadata: { uid } }) => {
          if (seen.has(uid)) return Effect.void
          seen.add(uid)
          return Effect.flatMap(Clock.currentTimeMillis, (now) => annotate(String(now)))
        },
        [Access.patch(Volume)]
      )
    ]
  },
  twin: () => [
    controller(
      ({ metadata: { annotations } }) =>
        annotations?.["example.org/started"] === "yes" ? Effect.void : annotate("yes"),
      [Access.patch(Volume)]
    )
  ],
  steps: [create()]
}

/** Changes the status as another manager. */
const disturbed = Explore.step(
  "status changed",
  Client.status.patch(Volume, key, Patch.merge({ status: { phase: "Broken" } }))
)

const lastWritten: Mutant = {
  name: "compares the status only with its own last write",
  oracle: "rest",
  fault: "none",
  mutant: () => {
    const written = new Map<string, string>()
    return [
      controller((volume) => {
        const phase = `Size${volume.spec.size}`
        if (written.get(volume.metadata.uid) === phase) return Effect.void
        return Effect.tap(Client.status.patch(Volume, key, Patch.merge({ status: { phase } })), () =>
          Effect.sync(() => written.set(volume.metadata.uid, phase))
        )
      })
    ]
  },
  twin: () => [controller((volume) => Status.update(volume, { phase: `Size${volume.spec.size}` }))],
  steps: [create(), disturbed]
}

const accepted: Mutant = {
  // Defect B4 of Homeostat, from the review of its manager.
  name: "takes everything in the answer to a write for the server's doing",
  oracle: "rest",
  fault: "none",
  mutant: () => {
    const known = new Map<string, string>()
    return [
      controller((volume) =>
        Effect.gen(function* () {
          const wanted = { phase: "Ok", size: volume.spec.size }
          const { phase, size } = volume.status ?? {}
          const missing = {
            ...(phase === wanted.phase ? {} : { phase: wanted.phase }),
            ...(size === wanted.size ? {} : { size: wanted.size })
          }
          const text = JSON.stringify(missing)
          if (text === "{}" || known.get(volume.metadata.uid) === text) return
          const { status } = yield* Client.status.patch(Volume, key, Patch.merge({ status: missing }))
          known.set(volume.metadata.uid, status?.phase === "Ok" ? "" : JSON.stringify({ phase: "Ok" }))
        })
      )
    ]
  },
  twin: () => [controller((volume) => Status.update(volume, { phase: "Ok", size: volume.spec.size }))],
  steps: [create(), Explore.step("resize, and the status changed", Effect.andThen(resize.act, disturbed.act))]
}

const volumes = (isOwn: (version: string) => boolean) =>
  controller((volume) =>
    isOwn(volume.metadata.resourceVersion) ? Effect.void : apply(volume, "data", { note: volume.spec.note ?? "" })
  )

const defaults = (written: (version: string) => void) =>
  Controller.make("defaults", {
    for: Volume,
    access: [Access.patch(Volume)],
    reconcile: (volume) =>
      Effect.gen(function* () {
        if (volume.spec.note !== undefined) return Result.done
        const { metadata } = yield* Client.patch(Volume, key, Patch.merge({ spec: { note: "none" } }))
        written(metadata.resourceVersion)
        return Result.done
      })
  })

const echo: Mutant = {
  // Defects of Homeostat: B2 of the review of its core, and B3 of the review of its manager.
  name: "takes the write of another controller of its process for its own",
  oracle: "rest",
  fault: "none",
  mutant: () => {
    const own = new Set<string>()
    return [volumes((version) => own.has(version)), defaults((version) => own.add(version))]
  },
  twin: () => [volumes(() => false), defaults(() => {})],
  steps: [create()]
}

const transition: Mutant = {
  name: "acts when it sees the transition from one phase to the next",
  oracle: "end",
  fault: "Missed",
  mutant: () => {
    const notes = new Map<string, string | undefined>()
    return [
      controller((volume) => {
        const { uid } = volume.metadata
        const before = notes.get(uid)
        notes.set(uid, volume.spec.note)
        return before === "draft" && volume.spec.note === "final" ? apply(volume, "report") : Effect.void
      })
    ]
  },
  twin: () => [controller((volume) => (volume.spec.note === "final" ? apply(volume, "report") : Effect.void))],
  steps: [
    Explore.step(
      "create and publish",
      Effect.andThen(create({ size: 3, note: "draft" }).act, change("", { note: "final" }).act)
    )
  ]
}

const memorised: Mutant = {
  name: "remembers that it has made a child before the API server has answered",
  oracle: "end",
  fault: "Refused",
  mutant: () => {
    const made = new Set<string>()
    return [
      controller((volume) => {
        const { uid } = volume.metadata
        if (made.has(uid)) return Effect.void
        made.add(uid)
        return apply(volume, "data")
      })
    ]
  },
  twin: plain,
  steps: lifetime
}

const childDeleted = Explore.step("child deleted", Client.delete(ConfigMap, { ...key, name: `${key.name}-data` }))

const once: Mutant = {
  name: "creates its child only once in the life of its process",
  oracle: "lasting",
  fault: "none",
  mutant: () => {
    const made = new Set<string>()
    return [
      controller((volume) =>
        Effect.gen(function* () {
          const { uid } = volume.metadata
          if (made.has(uid) || (yield* cached(volume, "data")) !== undefined) return
          yield* apply(volume, "data")
          made.add(uid)
        })
      )
    ]
  },
  twin: plain,
  steps: [create(), childDeleted]
}

const phased = (volume: Volume) => Status.update(volume, { phase: "Created" })

const named: Mutant = {
  name: "remembers by the name of an object that it has set its phase",
  oracle: "lasting",
  fault: "none",
  mutant: () => {
    const names = new Set<string>()
    return [
      controller((volume) => {
        const { name } = volume.metadata
        return names.has(name) || volume.status?.phase !== undefined
          ? apply(volume, "data")
          : Effect.tap(phased(volume), () => Effect.sync(() => names.add(name)))
      })
    ]
  },
  twin: () => [controller((volume) => Effect.andThen(apply(volume, "data"), phased(volume)))],
  steps: [create(), remove, { ...create(), name: "create again", faults: false }]
}

/** Applies the child once more after a failure, and never again if `isOnce`. */
const retrying = (isOnce: boolean) => () => {
  const failed = new Map<string, "open" | "done">()
  return [
    controller((volume) => {
      const { uid } = volume.metadata
      if (isOnce && failed.get(uid) === "done") return Effect.void
      return apply(volume, "data").pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            if (failed.has(uid)) failed.set(uid, "done")
          })
        ),
        Effect.tapError(() => Effect.sync(() => failed.set(uid, "open")))
      )
    })
  ]
}

const retired: Mutant = {
  name: "remembers a failure after its success, and leaves the object alone in later steps",
  oracle: "recovery",
  fault: "none",
  mutant: retrying(true),
  twin: retrying(false),
  steps: growth
}

/** The mutants. */
export const memories: ReadonlyArray<Mutant> = [
  hasGrown,
  greeting,
  lastWritten,
  accepted,
  echo,
  transition,
  memorised,
  once,
  named,
  retired
]
