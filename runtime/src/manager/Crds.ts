/** The CustomResourceDefinitions of the controllers' kinds, as the cluster has them. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import type { InvalidObject } from "../resource/Resource.ts"

/** The API server has not begun to serve a kind in time. */
export class NotEstablished extends Data.TaggedError("NotEstablished")<{ readonly name: string }> {
  override get message(): string {
    return `The API server does not serve ${this.name}, ${Duration.toSeconds(patience)} s after its CRD was applied: see kubectl describe crd ${this.name}`
  }
}

/** Establishing takes a moment; one that takes longer has a conflict that waiting won't mend. */
const patience = Duration.seconds(30)

/**
 * Applies the CRD of each kind under the field manager `homeostat`, and waits until the API server serves it: a moment after
 * it says "Established", as its storage has to be set up first.
 *
 * Needs the rights to get, create and patch `customresourcedefinitions` of `apiextensions.k8s.io`.
 *
 * @param namespaces where the kinds are worked on, and may be listed; all if empty
 */
export const install = (
  kinds: ReadonlyArray<CustomResource.Any>,
  namespaces: ReadonlyArray<string> = []
): Effect.Effect<void, ApiError | InvalidObject | NotEstablished, Client.Client> =>
  Effect.forEach(
    kinds,
    (kind) => {
      const crd = Crd.of(kind)
      const name = crd.metadata.name ?? ""
      const established = Effect.map(
        Client.get(BuiltIn.CustomResourceDefinition, { name }),
        ({ status }) =>
          status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") === true
      )
      const namespace = kind.namespaced ? namespaces[0] : undefined
      const listed = Client.page(kind, { namespace, limit: 1, retry: false }).pipe(
        Effect.as(true),
        // A refusal is an answer too: the kind is there.
        Effect.catchAll((error) => Effect.succeed(error._tag === "Forbidden"))
      )
      const served = Effect.if(established, { onTrue: () => listed, onFalse: () => Effect.succeed(false) })
      return Client.apply(BuiltIn.CustomResourceDefinition, crd, { force: true, fieldManager: "homeostat" }).pipe(
        Effect.zipRight(
          served.pipe(
            Effect.repeat({ until: (is) => is, schedule: Schedule.spaced(Duration.millis(100)) }),
            Effect.timeoutFail({ duration: patience, onTimeout: () => new NotEstablished({ name }) })
          )
        ),
        Effect.zipRight(Effect.logInfo(`CRD ${name} is applied`))
      )
    },
    { discard: true }
  )
