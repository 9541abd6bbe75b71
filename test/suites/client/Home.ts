/**
 * Where a test's manager would live: a folder with a kubeconfig and the files that it names, which others may replace, an
 * environment, and a clock that can be put forward. And those who hold credentials: service accounts of a namespace.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as fileSystem } from "@effect/platform-bun/BunFileSystem"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import type { KubeConfigError } from "@homeostat/runtime/client/KubeConfig"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Clock, ConfigProvider, Duration, Effect, Layer, Logger, Schema, type Scope } from "effect"

/** A cluster entry and a user entry, as kubeconfigs have them. */
export interface Entries {
  readonly cluster: object
  readonly user: object
}

/** Runs an effect as a program at home would. */
export type Run = <A, E, R>(
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, Exclude<R, Client.Client | Cache.Cache>>

/** The folder, until the end of the Scope. */
export interface Home {
  readonly path: (name: string) => string
  /** Puts a file in place, at once and as a whole, as a kubelet does. */
  readonly put: (name: string, text: string) => string
  /** Puts the kubeconfig in place. */
  readonly configure: (entries: Entries) => void
  /**
   * Makes the client that the kubeconfig leads to, and the cache of a namespace on it. Gives what runs an effect with them, at
   * the time of this home.
   */
  readonly open: (
    namespace: string,
    variables?: Record<string, string>
  ) => Effect.Effect<Run, KubeConfigError, Scope.Scope>
  /** Puts the clock forward. What sleeps goes on sleeping: only those who look at the time notice. */
  readonly later: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** What was logged as a warning so far. */
  readonly warnings: () => ReadonlyArray<string>
}

/** An empty home. */
export const make: Effect.Effect<Home, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "homeostat-home-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  const path = (name: string) => join(folder, name)
  const put = (name: string, text: string): string => {
    writeFileSync(path(`${name}.new`), text, { mode: 0o700 })
    renameSync(path(`${name}.new`), path(name))
    return path(name)
  }
  let ahead = 0
  const real = Clock.make()
  const nanos = () => real.unsafeCurrentTimeNanos() + BigInt(ahead) * 1_000_000n
  const clock: Clock.Clock = {
    ...real,
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis() + ahead,
    currentTimeMillis: Effect.sync(() => real.unsafeCurrentTimeMillis() + ahead),
    sleep: (duration) => real.sleep(duration),
    unsafeCurrentTimeNanos: () => nanos(),
    currentTimeNanos: Effect.sync(nanos)
  }
  const warnings: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel.label === "WARN") warnings.push(String(message))
  })
  const athome = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.withClock(clock), Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  return {
    path,
    put,
    configure: ({ cluster, user }) => {
      put(
        "config",
        JSON.stringify({
          clusters: [{ name: "main", cluster }],
          users: [{ name: "main", user }],
          contexts: [{ name: "main", context: { cluster: "main", user: "main" } }],
          "current-context": "main"
        })
      )
    },
    open: (namespace, variables = {}) =>
      Cache.layer({ namespaces: [namespace] }).pipe(
        Layer.provideMerge(Client.layerKubeConfig({ kubeconfig: path("config") })),
        Layer.provide(fileSystem),
        Layer.build,
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))),
        athome,
        Effect.map(
          (context): Run =>
            (effect) =>
              athome(Effect.provide(effect, context))
        )
      ),
    later: (duration) =>
      Effect.sync(() => {
        ahead += Duration.toMillis(duration)
      }),
    warnings: () => warnings
  }
})

/** The entry of the control plane itself. */
export const clusterOf = ({ ca, url }: ControlPlane) => ({
  server: url,
  ...(ca !== undefined && { "certificate-authority-data": base64(ca) })
})

/** Text as kubeconfigs have it in line. */
export const base64 = (text: string): string => Buffer.from(text).toString("base64")

const Review = Schema.parseJson(
  Schema.Struct({
    status: Schema.Struct({
      userInfo: Schema.Struct({
        username: Schema.String,
        uid: Schema.optional(Schema.String),
        groups: Schema.optional(Schema.Array(Schema.String)),
        extra: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) }))
      })
    })
  })
)

/** Who the API server says that we are. */
export const whoAmI = Client.raw({
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })
}).pipe(
  Effect.flatMap(({ body }) => Schema.decode(Review)(body)),
  Effect.map(({ status }) => status.userInfo)
)

/** The name of who we are. */
export const name = Effect.map(whoAmI, ({ username }) => username)

/** A new namespace in which everybody who has credentials of these tests may do everything. */
export const namespace = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const made = yield* cluster.namespace("client")
    yield* cluster.request("POST", `/apis/rbac.authorization.k8s.io/v1/namespaces/${made}/rolebindings`, {
      body: {
        metadata: { name: "everybody" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" }]
      }
    })
    return made
  })

/** A token that can be made invalid. */
export interface Token {
  readonly user: string
  readonly text: string
  /** Ends it, and waits until the API server, which remembers good tokens for ten seconds, refuses it. */
  readonly end: Effect.Effect<void>
}

const TokenRequest = Schema.parseJson(Schema.Struct({ status: Schema.Struct({ token: Schema.String }) }))

/** A token of a new service account; bound to a Secret, with which it ends. */
export const token = (cluster: ControlPlane, at: string, account: string): Effect.Effect<Token> =>
  Effect.gen(function* () {
    const of = (kind: string) => `/api/v1/namespaces/${at}/${kind}`
    const metadata = { name: account }
    yield* cluster.request("POST", of("serviceaccounts"), { body: { metadata } })
    yield* cluster.request("POST", of("secrets"), { body: { metadata } })
    const { body } = yield* cluster.request("POST", `${of("serviceaccounts")}/${account}/token`, {
      body: { spec: { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: account } } }
    })
    const text = (yield* Schema.decode(TokenRequest)(body)).status.token
    const as = { ...cluster.admin, token: text, cert: undefined, key: undefined }
    const refused = Effect.map(cluster.request("GET", of("configmaps"), { as }), ({ status }) => status === 401)
    return {
      user: `system:serviceaccount:${at}:${account}`,
      text,
      end: cluster
        .request("DELETE", `${of("secrets")}/${account}`)
        .pipe(
          Effect.zipRight(Effect.repeat(Effect.delay(refused, "200 millis"), { until: (is) => is })),
          Effect.orDie,
          Effect.asVoid
        )
    }
  }).pipe(Effect.orDie)

/** A watch of the namespace's ConfigMaps, synced, that knows how often it began anew. */
export const watching = Effect.gen(function* () {
  const informer = yield* Cache.informer(ConfigMap)
  yield* informer.synced
  return informer
})
