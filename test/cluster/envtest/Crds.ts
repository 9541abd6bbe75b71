/**
 * Custom resource definitions, installed so that the kind is served when the install returns.
 */
import { Effect, Schedule, Schema } from "effect"
import * as Api from "./Api.ts"
import type { User } from "./User.ts"

/** As much of a CustomResourceDefinition as is read here; all of it is sent. */
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

/** Applies a definition and waits until each of its versions is served. True: it was not there before. */
export const install = (admin: User, crd: CustomResourceDefinition): Effect.Effect<boolean, Api.RequestFailed> =>
  Effect.gen(function* () {
    const own = `${path}/${crd.metadata.name ?? ""}`
    const before = yield* Api.request(admin, "GET", own)
    const applied = yield* Api.expect(admin, "PATCH", `${own}?fieldManager=envtest&force=true`, {
      body: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...crd },
      contentType: "application/apply-patch+yaml"
    })
    // The server's answer to a definition that it has accepted.
    const { spec } = yield* Effect.orDie(Schema.decodeUnknown(Installed)(applied))
    const served = spec.versions.filter((version) => version.served)
    yield* Effect.forEach(served, ({ name }) => {
      const list = `/apis/${spec.group}/${name}/${spec.names.plural}`
      return Api.answers(admin, `${list}?limit=1`).pipe(
        Effect.repeat({ until: (is) => is, schedule: Schedule.spaced("50 millis") }),
        Effect.timeoutFail({
          duration: "30 seconds",
          onTimeout: () =>
            new Api.RequestFailed({ method: "GET", path: list, status: undefined, reason: "the kind is not served" })
        })
      )
    })
    return before.status === 404
  })
