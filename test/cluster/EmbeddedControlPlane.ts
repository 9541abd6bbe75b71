/**
 * The embedded cluster as a control plane, so that a test can run on either. It runs over HTTP and in real time.
 */

import type * as Http from "@homeostat/apiserver/http/Http"
import * as Authority from "@homeostat/runtime/webhook/Authority"
import { Clock, Data, Effect, Scope } from "effect"
import * as Controllers from "./controllers/Controllers.ts"
import * as EmbeddedCluster from "./EmbeddedCluster.ts"
import * as ControlPlane from "./envtest/ControlPlane.ts"
import * as Directory from "./envtest/Directory.ts"
import type * as Envtest from "./envtest/Envtest.ts"
import * as User from "./envtest/User.ts"

/** A test needs a feature that the embedded cluster lacks. The test belongs to the real lane. */
export class NotEmbedded extends Data.TaggedError("NotEmbedded")<{ readonly wanted: string }> {
  override get message(): string {
    return `${this.wanted} takes a real control plane: name the test file *.real.test.ts`
  }
}

/** The reasons why the embedded cluster does not start. */
export type Failure = NotEmbedded | Http.ListenFailed

/** Starts an embedded cluster with the options of a real control plane. The node simulates all pods, as kwok does. */
export const start = (options: Envtest.Options): Effect.Effect<ControlPlane.ControlPlane, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    if (options.audit === true) return yield* new NotEmbedded({ wanted: "An audit log" })
    if ((options.apiServerFlags ?? []).length > 0) return yield* new NotEmbedded({ wanted: "Choosing flags" })
    const controllers = chosen(options)
    const missing = controllers.find((name) => !names.includes(name))
    if (missing !== undefined) return yield* new NotEmbedded({ wanted: `The controller ${JSON.stringify(missing)}` })
    const directory = yield* Directory.make
    const cluster = yield* EmbeddedCluster.make({
      controllers,
      kubelet: options.kwok === true ? { name: "kwok" } : false
    })
    const server = yield* cluster.serve()
    const admin = yield* User.make(directory, { server, ca: undefined, user: "admin" }, ["system:masters"])
    const scope = yield* Effect.scope
    // Clients send no tokens over plain HTTP.
    const secure = yield* Effect.cached(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const authority = Authority.makeAuthority(now)
        const { certificate, key } = Authority.issue(authority, ["127.0.0.1"], now)
        const server = yield* Scope.provide(cluster.serve({ tls: { cert: certificate, key } }), scope)
        return { server, ca: authority.certificate }
      }).pipe(Effect.orDie)
    )
    const addUser: ControlPlane.ControlPlane["addUser"] = ({ groups = [], name }) =>
      Effect.gen(function* () {
        const token = crypto.randomUUID()
        cluster.server.addToken(token, { name, groups })
        return yield* User.make(directory, { ...(yield* secure), user: name, token }, groups)
      })
    return ControlPlane.make({
      admin,
      addUser,
      processes: [],
      auditLogPath: undefined,
      directory
    })
  })

const names = Controllers.all().map(({ name }) => name)

const chosen = ({ controllers = false, scheduler = false }: Envtest.Options): ReadonlyArray<string> => [
  ...(typeof controllers === "boolean" ? names.filter((name) => controllers && name !== "scheduler") : controllers),
  ...(scheduler ? ["scheduler"] : [])
]
