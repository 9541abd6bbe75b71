/**
 * Installs CustomResourceDefinitions, and waits until the API server serves their kinds.
 */
import { Effect, Schedule, Schema } from "effect"
import * as Api from "./Api.ts"
import type { User } from "./User.ts"

/** The fields of a CustomResourceDefinition that this module reads. It sends all fields. */
export interface CustomResourceDefinition {
  readonly metadata: { readonly name?: string | undefined }
}

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const Installed = Schema.Struct({
  spec: Schema.Struct({
    group: Schema.String,
    names: Schema.Struct({ plural: Schema.String }),
    versions: Schema.Array(Schema.Struct({ name: Schema.String, served: Schema.Boolean }))
  })
})

/** Applies a CustomResourceDefinition and waits until all its served versions are available. Returns true if it is new. */
export const install = (admin: User, crd: CustomResourceDefinition): Effect.Effect<boolean, Api.RequestFailed> =>
  Effect.gen(function* () {
    const own = `${path}/${crd.metadata.name ?? ""}`
    const before = yield* Api.request(admin, "GET", own)
    const applied = yield* Api.expect(admin, "PATCH", `${own}?fieldManager=envtest&force=true`, {
      body: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...crd },
      contentType: "application/apply-patch+yaml"
    })
    // The API server has accepted the definition, so its response has these fields.
    const { spec } = yield* Effect.orDie(Schema.decodeUnknownEffect(Installed)(applied))
    const served = spec.versions.filter((version) => version.served)
    yield* Effect.forEach(served, ({ name }) => {
      const list = `/apis/${spec.group}/${name}/${spec.names.plural}`
      return Api.answers(admin, `${list}?limit=1`).pipe(
        Effect.repeat({ until: (is) => is, schedule: Schedule.spaced("50 millis") }),
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () =>
            Effect.fail(
              new Api.RequestFailed({ method: "GET", path: list, status: undefined, reason: "the kind is not served" })
            )
        })
      )
    })
    return before.status === 404
  })
