/** Installs the CustomResourceDefinitions of the controllers' kinds. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Patch from "../client/Patch.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import * as Narrowing from "../resource/Narrowing.ts"
import { type InvalidObject, nameOf } from "../resource/Resource.ts"

/** The API server does not serve a kind within the timeout. */
export class NotEstablished extends Data.TaggedError("NotEstablished")<{ readonly name: string }> {
  override get message(): string {
    return `The API server does not serve ${this.name}, ${Duration.toSeconds(patience)} s after its CRD was applied: see kubectl describe crd ${this.name}`
  }
}

/** A CRD is established within a moment, unless its names conflict, and then waiting does not help. */
const patience = Duration.seconds(30)

/** Settings of the installation. */
export interface Settings {
  /** The namespaces in which the kinds are listed; empty for all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** The name of the program, which is the field manager, and whose verb `crd` prints these CRDs. Default: `homeostat`. */
  readonly program?: string | undefined
  /** The webhook that converts between versions, for the kinds that have several. */
  readonly conversion?: Crd.ClientConfig | undefined
}

/**
 * Applies the CRD of each kind, and waits until the API server serves the kind, which happens a moment after the condition
 * `Established`.
 *
 * A CRD that the apply would narrow stays unchanged, and one warning names the fields and versions that would be lost. So an older
 * program does not break a newer one beside it. Concurrent installers decide by each other's writes and never overwrite them.
 * If the API server is overloaded, fails or does not answer, the log says so, and the installation is retried.
 *
 * Needs the permissions to get, create and patch `customresourcedefinitions` of `apiextensions.k8s.io`.
 */
export const install = (
  kinds: ReadonlyArray<CustomResource.Any>,
  { conversion, namespaces = [], program = "homeostat" }: Settings = {}
): Effect.Effect<void, ApiError | InvalidObject | NotEstablished, Client.Client> =>
  Effect.forEach(
    kinds,
    (kind) =>
      Effect.gen(function* () {
        const name = nameOf(kind)
        const outcome = yield* write(name, Crd.of(kind, conversion), program)
        // The other owner decides whether our version is served. Each controller waits for its own kind.
        if (outcome._tag === "Left") return yield* Effect.logWarning(refusal(name, outcome.narrowings, program))
        yield* served(kind, kind.namespaced ? namespaces[0] : undefined)
        yield* outcome._tag === "Applied"
          ? Effect.logInfo(`Applied CRD ${name}`)
          : Effect.logDebug(`CRD ${name} needs no change`)
      }).pipe(
        Effect.tapError((error) =>
          isTemporary(error)
            ? Effect.logWarning(`Cannot apply CRD ${nameOf(kind)}, retrying: ${error.message}`)
            : Effect.void
        ),
        Effect.retry({ while: isTemporary, schedule: retries })
      ),
    { discard: true }
  )

/** From a second, because the client has already retried for some, to half a minute. */
const retries = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

/** Whether the API server may accept the same requests later: it is overloaded, does not answer, or has failed. */
const isTemporary = (error: ApiError | InvalidObject | NotEstablished): boolean => {
  switch (error._tag) {
    case "TooManyRequests":
    case "Timeout":
      return true
    case "ServerError":
      return error.code >= 500
    case "Transport":
      return !Disconnect.isFatal(error) && error.code !== "CREDENTIALS"
    default:
      return false
  }
}

/** The outcome for a CRD: written, already up to date, or kept because the apply would narrow it. */
type Outcome =
  | { readonly _tag: "Applied" | "Kept" }
  | { readonly _tag: "Left"; readonly narrowings: ReadonlyArray<Narrowing.Narrowing> }

/**
 * Writes a CRD if it differs, guarded by the resourceVersion of the read. If the CRD appears or changes meanwhile, as when two
 * versions start at once, the manager reads it again.
 */
const write = (
  name: string,
  crd: Crd.Crd,
  fieldManager: string
): Effect.Effect<Outcome, ApiError | InvalidObject, Client.Client> =>
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
    const patch = Patch.merge({
      metadata: { resourceVersion },
      spec: { ...crd.spec, ...conversion(crd), names: names(found, crd) }
    })
    yield* Client.patch(BuiltIn.CustomResourceDefinition, { name }, patch, { fieldManager })
    return { _tag: "Applied" as const }
  }).pipe(
    Effect.retry({
      while: ({ _tag }) => _tag === "AlreadyExists" || _tag === "Conflict" || _tag === "NotFound",
      schedule: Schedule.spaced(Duration.millis(100))
    })
  )

/** Whether the CRD is up to date. Fields of other managers, such as a conversion, do not count. */
const isSame = ({ spec: found }: BuiltIn.CustomResourceDefinition, { spec }: Crd.Crd): boolean =>
  Bun.deepEquals([found.scope, found.names, found.versions], [spec.scope, spec.names, spec.versions], true) &&
  (spec.conversion === undefined || Bun.deepEquals(placeOf(found), placeOf(spec), true))

/** The address of a conversion without its CAs, which change by themselves. */
const placeOf = ({ conversion }: Pick<BuiltIn.CustomResourceDefinition["spec"], "conversion">): unknown => {
  const { service, url } = conversion?.webhook?.clientConfig ?? {}
  return [conversion?.strategy, service, url]
}

/** The conversion for a merge patch, which must list the removed form of the address. */
const conversion = ({ spec: { conversion } }: Crd.Crd): object => {
  const clientConfig = conversion?.webhook?.clientConfig
  return clientConfig === undefined
    ? {}
    : {
        conversion: {
          ...conversion,
          webhook: { ...conversion?.webhook, clientConfig: { url: null, service: null, ...clientConfig } }
        }
      }
}

/** The names for a merge patch, which must list removed fields. */
const names = ({ spec: found }: BuiltIn.CustomResourceDefinition, { spec }: Crd.Crd): object => ({
  ...Object.fromEntries(Object.keys(found.names).map((name) => [name, null])),
  ...spec.names
})

/** Few enough for one readable line. */
const shown = 5

/** One line: what the apply would remove, and how to apply it anyway, if that is possible. */
const refusal = (name: string, narrowings: ReadonlyArray<Narrowing.Narrowing>, program: string): string => {
  const more = narrowings.length - shown
  const all = [...narrowings.slice(0, shown).map(Narrowing.describe), ...(more > 0 ? [`and ${more} more`] : [])]
  const wayOut = narrowings.some(({ isRefused }) => isRefused)
    ? ""
    : `. To overwrite it anyway: ${program} crd | kubectl apply --server-side --force-conflicts -f -`
  return `CRD ${name} was not updated, because this version would remove or tighten: ${all.join("; ")}. This is expected if a newer version of ${program} installed it${wayOut}`
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
    // Forbidden also means that the kind exists.
    Effect.catch((error) => Effect.succeed(error._tag === "Forbidden"))
  )
  return Effect.flatMap(established, (is) => (is ? listed : Effect.succeed(false))).pipe(
    Effect.repeat({ until: (is) => is, schedule: Schedule.spaced(Duration.millis(100)) }),
    Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(new NotEstablished({ name })) })
  )
}
