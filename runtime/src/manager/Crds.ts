/** The CustomResourceDefinitions of the controllers' kinds, as the cluster has them. */
import { isDeepStrictEqual } from "node:util"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import * as Narrowing from "../resource/Narrowing.ts"
import { type InvalidObject, nameOf } from "../resource/Resource.ts"

/** The API server has not begun to serve a kind in time. */
export class NotEstablished extends Data.TaggedError("NotEstablished")<{ readonly name: string }> {
  override get message(): string {
    return `The API server does not serve ${this.name}, ${Duration.toSeconds(patience)} s after its CRD was applied: see kubectl describe crd ${this.name}`
  }
}

/** Establishing takes a moment; one that takes longer has a conflict that waiting won't mend. */
const patience = Duration.seconds(30)

/** Who installs, and where the kinds are worked on. */
export interface Settings {
  /** Where the kinds may be listed; all if empty. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** Whose verb `crd` prints what is installed here. */
  readonly program?: string | undefined
}

/**
 * Sees to it that the cluster has the CRD of each kind, and waits until the API server serves it: a moment after it says
 * "Established", as its storage has to be set up first. What is written is written by the field manager `homeostat`.
 *
 * A CRD of the cluster that ours would narrow is left as it is, with one warning that names what would be taken away: an older
 * program that is started beside a newer one must not cut off what that one stores. Of several that install at once each
 * decides by what the others wrote, never past it.
 *
 * Needs the rights to get, create and patch `customresourcedefinitions` of `apiextensions.k8s.io`.
 */
export const install = (
  kinds: ReadonlyArray<CustomResource.Any>,
  { namespaces = [], program = fieldManager }: Settings = {}
): Effect.Effect<void, ApiError | InvalidObject | NotEstablished, Client.Client> =>
  Effect.forEach(
    kinds,
    (kind) =>
      Effect.gen(function* () {
        const name = nameOf(kind)
        const outcome = yield* write(name, Crd.of(kind))
        // Whether our version is served is another's decision then, and each controller waits for its kind by itself.
        if (outcome._tag === "Left") return yield* Effect.logWarning(refusal(name, outcome.narrowings, program))
        yield* served(kind, kind.namespaced ? namespaces[0] : undefined)
        yield* outcome._tag === "Applied"
          ? Effect.logInfo(`CRD ${name} is applied`)
          : Effect.logDebug(`CRD ${name} needs no change`)
      }),
    { discard: true }
  )

const fieldManager = "homeostat"

/** What becomes of a CRD: it is written, is as it is to be, or is left as somebody else wants it. */
type Outcome =
  | { readonly _tag: "Applied" | "Kept" }
  | { readonly _tag: "Left"; readonly narrowings: ReadonlyArray<Narrowing.Narrowing> }

/**
 * Writes a CRD if it is to be written, and only over what was looked at: one that appears or changes meanwhile, as when two
 * versions start at once, is looked at again.
 */
const write = (name: string, crd: Crd.Crd): Effect.Effect<Outcome, ApiError | InvalidObject, Client.Client> =>
  Effect.gen(function* () {
    const found = yield* Client.get(BuiltIn.CustomResourceDefinition, { name }).pipe(
      Effect.catchTag("NotFound", () => Effect.succeed(undefined))
    )
    if (found === undefined) {
      yield* Client.create(BuiltIn.CustomResourceDefinition, crd, { fieldManager })
      return { _tag: "Applied" as const }
    }
    if (isSame(found, crd)) return { _tag: "Kept" as const }
    const narrowings = Narrowing.of(found, crd)
    if (narrowings.length > 0) return { _tag: "Left" as const, narrowings }
    const { resourceVersion } = found.metadata
    const patch = Patch.merge({ metadata: { resourceVersion }, spec: { ...crd.spec, names: names(found, crd) } })
    yield* Client.patch(BuiltIn.CustomResourceDefinition, { name }, patch, { fieldManager })
    return { _tag: "Applied" as const }
  }).pipe(
    Effect.retry({
      while: ({ _tag }) => _tag === "AlreadyExists" || _tag === "Conflict" || _tag === "NotFound",
      schedule: Schedule.spaced(Duration.millis(100))
    })
  )

/** Whether there is nothing to write. What others may add, such as a conversion, is theirs. */
const isSame = ({ spec: found }: BuiltIn.CustomResourceDefinition, { spec }: Crd.Crd): boolean =>
  isDeepStrictEqual([found.scope, found.names, found.versions], [spec.scope, spec.names, spec.versions])

/** The names for a merge patch, in which those that are no more have to be said. */
const names = ({ spec: found }: BuiltIn.CustomResourceDefinition, { spec }: Crd.Crd): object => ({
  ...Object.fromEntries(Object.keys(found.names).map((name) => [name, null])),
  ...spec.names
})

/** Few enough for a line that is read. */
const shown = 5

/** One line: what ours would take away, and how to have it so nevertheless, where that is possible. */
const refusal = (name: string, narrowings: ReadonlyArray<Narrowing.Narrowing>, program: string): string => {
  const more = narrowings.length - shown
  const all = [...narrowings.slice(0, shown).map(Narrowing.describe), ...(more > 0 ? [`and ${more} more`] : [])]
  const wayOut = narrowings.some(({ isRefused }) => isRefused)
    ? ""
    : `; to have ours nevertheless: ${program} crd | kubectl apply --server-side --force-conflicts -f -`
  return `CRD ${name} is left as it is in the cluster, for ours would narrow it: ${all.join("; ")}. If a newer version of ${program} applied it, all is well${wayOut}`
}

/** Waits until the API server serves a kind. */
const served = (kind: CustomResource.Any, namespace: string | undefined) => {
  const name = nameOf(kind)
  const established = Effect.map(
    Client.get(BuiltIn.CustomResourceDefinition, { name }),
    ({ status }) => status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") === true
  )
  const listed = Client.page(kind, { namespace, limit: 1, retry: false }).pipe(
    Effect.as(true),
    // A refusal is an answer too: the kind is there.
    Effect.catchAll((error) => Effect.succeed(error._tag === "Forbidden"))
  )
  return Effect.if(established, { onTrue: () => listed, onFalse: () => Effect.succeed(false) }).pipe(
    Effect.repeat({ until: (is) => is, schedule: Schedule.spaced(Duration.millis(100)) }),
    Effect.timeoutFail({ duration: patience, onTimeout: () => new NotEstablished({ name }) })
  )
}
