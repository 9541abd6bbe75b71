/**
 * The cluster of the current kubeconfig, for `USE_EXISTING_CLUSTER=true`.
 */
import { Config, Data, Effect, Option, Schedule, Schema, type Scope } from "effect"
import * as Api from "./Api.ts"
import type * as Assets from "./Assets.ts"
import * as Certificates from "./Certificates.ts"
import * as ControlPlane from "./ControlPlane.ts"
import * as Directory from "./Directory.ts"
import * as Kubectl from "./Kubectl.ts"
import * as User from "./User.ts"

/** `USE_EXISTING_CLUSTER=true`, but the tests cannot use the current context of the kubeconfig. */
export class UnusableContext extends Data.TaggedError("UnusableContext")<{ readonly reason: string }> {
  override get message(): string {
    return `USE_EXISTING_CLUSTER=true, but the current context cannot be used: ${this.reason}`
  }
}

/** The reasons why the tests cannot use the existing cluster. */
export type Failure = Assets.MissingAsset | UnusableContext

const Current = Schema.fromJsonString(
  Schema.Struct({
    clusters: Schema.NonEmptyArray(
      Schema.Struct({
        cluster: Schema.Struct({
          server: Schema.String,
          "certificate-authority-data": Schema.optional(Schema.StringFromBase64)
        })
      })
    ),
    users: Schema.NonEmptyArray(
      Schema.Struct({
        name: Schema.String,
        user: Schema.Struct({
          "client-certificate-data": Schema.optional(Schema.StringFromBase64),
          "client-key-data": Schema.optional(Schema.StringFromBase64),
          token: Schema.optional(Schema.String)
        })
      })
    )
  })
)

const viewCurrent = ["config", "view", "--minify", "--flatten", "--raw", "--output=json"]

/** Returns true if `USE_EXISTING_CLUSTER` is `true`. */
export const wanted: Effect.Effect<boolean> = Config.String("USE_EXISTING_CLUSTER").pipe(
  Effect.map((value) => value === "true"),
  Effect.orElseSucceed(() => false)
)

/**
 * Connects to the cluster of the current context, which kubectl reads. The user must be an administrator with a client certificate or a
 * token.
 */
export const connect: Effect.Effect<ControlPlane.ControlPlane, Failure, Scope.Scope> = Effect.gen(function* () {
  const directory = yield* Directory.make
  const kubeconfigPath = Option.getOrUndefined(yield* Effect.option(Config.String("KUBECONFIG")))
  const view = yield* Kubectl.run({ kubeconfigPath, home: directory }, viewCurrent)
  if (view.exitCode !== 0) return yield* new UnusableContext({ reason: view.stderr.trim() })
  const current = yield* Schema.decodeEffect(Current)(view.stdout).pipe(
    Effect.mapError((error) => new UnusableContext({ reason: error.message }))
  )
  const { cluster } = current.clusters[0]
  const { name, user } = current.users[0]
  const access = {
    server: cluster.server,
    ca: cluster["certificate-authority-data"],
    user: name,
    cert: user["client-certificate-data"],
    key: user["client-key-data"],
    token: user.token
  }
  if (access.cert === undefined && access.token === undefined) {
    return yield* new UnusableContext({ reason: `its user ${name} has neither a client certificate nor a token` })
  }
  // The kubeconfig stays as kubectl printed it (JSON is YAML). It may have fields that `Access` lacks, such as tls-server-name.
  const admin = yield* User.make(directory, access, [], view.stdout)
  return ControlPlane.make({
    admin,
    addUser: ({ name, groups = [] }) => certified(admin, directory, name, groups),
    processes: [],
    auditLogPath: undefined,
    directory
  })
})

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

const Signed = Schema.Struct({ status: Schema.Struct({ certificate: Schema.StringFromBase64 }) })

/** Requests a client certificate for the user from the cluster, and approves the request. Administrators have the necessary permissions. */
const certified = (
  admin: User.User,
  directory: string,
  name: string,
  groups: ReadonlyArray<string>
): Effect.Effect<User.User, Api.RequestFailed> =>
  Effect.gen(function* () {
    const { key, request } = yield* Certificates.request(name, groups)
    const path = `${requests}/homeostat-envtest-${crypto.randomUUID()}`
    const object = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: path.slice(requests.length + 1) },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"]
      },
      status: {
        conditions: [{ type: "Approved", status: "True", reason: "Test", message: "a user of a test" }]
      }
    }
    yield* Api.expect(admin, "POST", requests, { body: object })
    yield* Api.expect(admin, "PATCH", `${path}/approval`, {
      body: { status: object.status },
      contentType: "application/merge-patch+json"
    })
    const signed = yield* Api.expect(admin, "GET", path).pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Signed)),
      Effect.retry({ while: (error) => error._tag === "SchemaError", schedule: Schedule.spaced("50 millis") }),
      Effect.timeout("30 seconds"),
      Effect.catchTags({
        SchemaError: () => unsigned(path),
        TimeoutError: () => unsigned(path)
      }),
      Effect.ensuring(Effect.ignore(Api.request(admin, "DELETE", path)))
    )
    const { server, ca } = admin
    return yield* User.make(directory, { server, ca, user: name, cert: signed.status.certificate, key }, groups)
  })

const unsigned = (path: string): Api.RequestFailed =>
  new Api.RequestFailed({ method: "GET", path, status: 200, reason: "the cluster did not sign the certificate" })
