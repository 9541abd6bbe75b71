/** A folder with a kubeconfig and its files, an environment, and a clock that tests advance; also tokens of service accounts. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as fileSystem } from "@effect/platform-node-shared/NodeFileSystem"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import type { KubeConfigError } from "@homeostat/runtime/client/KubeConfig"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { real } from "@homeostat/testkit/Shared"
import { Clock, ConfigProvider, Duration, Effect, Layer, Logger, Schema, type Scope } from "effect"

/** A cluster entry and a user entry, as kubeconfigs have them. */
export interface Entries {
  readonly cluster: object
  readonly user: object
}

/** Runs an effect with the client and the cache, at the time of the home. */
export type Run = <A, E, R>(
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, Exclude<R, Client.Client | Cache.Cache>>

/** The folder, until the end of the Scope. */
export interface Home {
  readonly path: (name: string) => string
  /** Replaces a file atomically, as a kubelet does. */
  readonly put: (name: string, text: string) => string
  /** Replaces the kubeconfig. */
  readonly configure: (entries: Entries) => void
  /** Creates the client of the kubeconfig and its cache of the namespace. */
  readonly open: (
    namespace: string,
    variables?: Record<string, string>
  ) => Effect.Effect<Run, KubeConfigError, Scope.Scope>
  /** Advances the clock. Sleeps do not end earlier. */
  readonly later: (duration: Duration.Input) => Effect.Effect<void>
  /** The warnings in the log so far. */
  readonly warnings: () => ReadonlyArray<string>
}

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
  const real = yield* Clock.Clock
  const nanos = () => real.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe() + ahead,
    currentTimeMillis: Effect.sync(() => real.currentTimeMillisUnsafe() + ahead),
    currentTimeNanosUnsafe: () => nanos(),
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n,
    monotonicTimeNanos: Effect.sync(() => real.monotonicTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n),
    sleep: (duration) => real.sleep(duration)
  }
  const warnings: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn") warnings.push(String(message))
  })
  const atHome = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.provideService(Clock.Clock, clock), Effect.provide(Logger.layer([logger])))
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
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(variables)),
        atHome,
        Effect.map(
          (context): Run =>
            (effect) =>
              atHome(Effect.provide(effect, context))
        )
      ),
    later: (duration) =>
      Effect.sync(() => {
        ahead += Duration.toMillis(duration)
      }),
    warnings: () => warnings
  }
})

/** The cluster entry of the control plane. */
export const clusterOf = ({ ca, url }: ControlPlane) => ({
  server: url,
  ...(ca !== undefined && { "certificate-authority-data": base64(ca) })
})

export const base64 = (text: string): string => Buffer.from(text).toString("base64")

/** The user entry of the administrator. */
export const userOf = ({ admin }: ControlPlane) => ({
  ...(admin.token !== undefined && { token: admin.token }),
  ...(admin.cert !== undefined && { "client-certificate-data": base64(admin.cert) }),
  ...(admin.key !== undefined && { "client-key-data": base64(admin.key) })
})

const Review = Schema.fromJsonString(
  Schema.Struct({
    status: Schema.Struct({
      userInfo: Schema.Struct({
        username: Schema.String,
        uid: Schema.optional(Schema.String),
        groups: Schema.optional(Schema.Array(Schema.String)),
        extra: Schema.optional(Schema.Record(Schema.String, Schema.Array(Schema.String)))
      })
    })
  })
)

/** The client's user info, as the API server sees it. */
export const whoAmI = Client.raw({
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" })
}).pipe(
  Effect.flatMap(({ body }) => Schema.decodeEffect(Review)(body)),
  Effect.map(({ status }) => status.userInfo)
)

/** The client's user name, as the API server sees it. */
export const name = Effect.map(whoAmI, ({ username }) => username)

/** A new namespace in which every authenticated user has all permissions. */
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

/** A token that a test can revoke. */
export interface Token {
  readonly user: string
  readonly text: string
  /** Revokes the token, and waits until the API server, which caches valid tokens for ten seconds, rejects the token. */
  readonly end: Effect.Effect<void>
}

const TokenRequest = Schema.fromJsonString(Schema.Struct({ status: Schema.Struct({ token: Schema.String }) }))

/** A token of a new service account, bound to a Secret. */
export const token = (cluster: ControlPlane, at: string, account: string): Effect.Effect<Token> =>
  Effect.gen(function* () {
    const of = (kind: string) => `/api/v1/namespaces/${at}/${kind}`
    const metadata = { name: account }
    yield* cluster.request("POST", of("serviceaccounts"), { body: { metadata } })
    yield* cluster.request("POST", of("secrets"), { body: { metadata } })
    const { body } = yield* cluster.request("POST", `${of("serviceaccounts")}/${account}/token`, {
      body: { spec: { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: account } } }
    })
    const text = (yield* Schema.decodeEffect(TokenRequest)(body)).status.token
    const as = { ...cluster.admin, token: text, cert: undefined, key: undefined }
    const refused = Effect.map(cluster.request("GET", of("configmaps"), { as }), ({ status }) => status === 401)
    return {
      user: `system:serviceaccount:${at}:${account}`,
      text,
      end: cluster
        .request("DELETE", `${of("secrets")}/${account}`)
        .pipe(
          Effect.andThen(Effect.repeat(Effect.delay(refused, "200 millis"), { until: (is) => is })),
          Effect.orDie,
          Effect.asVoid
        )
    }
  }).pipe(Effect.orDie)

/** A synced informer of the namespace's ConfigMaps. */
export const watching = Effect.gen(function* () {
  const informer = yield* Cache.informer(ConfigMap)
  yield* informer.synced
  return informer
})

export interface Scene {
  readonly cluster: ControlPlane
  readonly home: Home
  readonly namespace: string
}

/** A test with a home and a namespace. */
export const test = <A, E>(name: string, body: (scene: Scene) => Effect.Effect<A, E, Scope.Scope>) =>
  real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        return yield* body({ cluster, home: yield* make, namespace: yield* namespace(cluster) })
      }),
    Envtest.everything
  )

/** The tokens of two service accounts. */
export const tokens = ({ cluster, namespace }: Pick<Scene, "cluster" | "namespace">) =>
  Effect.all([token(cluster, namespace, "one"), token(cluster, namespace, "two")])
