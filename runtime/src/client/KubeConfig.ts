/**
 * Finds the API server and the credentials for it, in this order:
 *
 * 1. the file of `--kubeconfig`
 * 2. the files of `KUBECONFIG`, separated by colons and merged
 * 3. the service account of the pod that we run in (not when a `--context` is asked for, which only a file has)
 * 4. `~/.kube/config`
 *
 * A place that is named but wrong is an error; nothing falls through to the next one silently.
 */
import * as path from "node:path"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as AuthPlugin from "./AuthPlugin.ts"
import { type Cluster, CredentialsError } from "./Cluster.ts"
import * as Credentials from "./Credentials.ts"
import { type Entry, KubeConfigError, type Selected, select } from "./KubeConfigFile.ts"

export { KubeConfigError } from "./KubeConfigFile.ts"

/** What to use instead of what the environment says. */
export interface Options {
  /** One file, `--kubeconfig`. */
  readonly kubeconfig?: string | undefined
  /** What named that file, for messages. Default `--kubeconfig`. */
  readonly origin?: string | undefined
  /** The context of the file to use, `--context`. */
  readonly context?: string | undefined
  /** Where a pod has its service account; elsewhere only in tests. */
  readonly serviceAccount?: string | undefined
}

/** Where the kubelet puts a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Strings with a default: there is nothing to fail on.
const variable = (name: string): Effect.Effect<string> => Effect.orDie(Config.withDefault(Config.string(name), ""))

const asKubeConfigError = (error: CredentialsError) => new KubeConfigError({ message: error.message })

/** What a kubeconfig says in line (`…-data`, base64) or names as a file; the former wins, as with kubectl. */
const material = (
  what: string,
  file: string,
  data: string | undefined,
  name: string | undefined
): Credentials.Material | undefined =>
  data
    ? { text: Buffer.from(data, "base64").toString("utf8"), what: `${what}-data of ${file}` }
    : name
      ? { file: path.resolve(path.dirname(file), name), what: `${what} of ${file}` }
      : undefined

const tokenOf = ({ file, raw, value }: NonNullable<Selected["user"]>): Credentials.Material | undefined => {
  const name = raw.tokenFile
  if (typeof name === "string" && name !== "") {
    return {
      file: path.resolve(path.dirname(file), name),
      what: `tokenFile of user ${JSON.stringify(value.name)} of ${file}`
    }
  }
  return value.token ? { text: value.token, what: `token of user ${JSON.stringify(value.name)} of ${file}` } : undefined
}

const sourceOf = (selected: Selected): Effect.Effect<Credentials.Source, CredentialsError> =>
  Effect.gen(function* () {
    const cluster = selected.cluster
    const user = selected.user
    if (user !== undefined) {
      // Acting with fewer groups or another identity than the file says would be wrong in silence.
      const unsupported = ["as-uid", "as-groups", "as-user-extra"].find((key) => user.raw[key] !== undefined)
      if (unsupported !== undefined) {
        return yield* new CredentialsError({
          message: `user ${JSON.stringify(user.value.name)} of ${user.file}: ${unsupported} is not supported`
        })
      }
    }
    const source: Credentials.Source = {
      ca: material("certificate-authority", cluster.file, cluster.value.caData, cluster.value.caFile),
      cert: user && material("client-certificate", user.file, user.value.certData, user.value.certFile),
      key: user && material("client-key", user.file, user.value.keyData, user.value.keyFile),
      token: user && tokenOf(user),
      basic: user?.value.username ? { username: user.value.username, password: user.value.password ?? "" } : undefined,
      plugin: yield* AuthPlugin.of(selected),
      serverName: cluster.value.tlsServerName || undefined,
      insecure: cluster.value.skipTLSVerify,
      impersonate: user?.value.impersonateUser || undefined
    }
    return source
  })

/** kubectl takes `host:port` too. */
const serverOf = ({ file, value }: Entry<{ readonly name: string; readonly server: string }>) => {
  const written = /^[a-z]+:\/\//i.test(value.server) ? value.server : `https://${value.server}`
  const url = URL.parse(written)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:")
    ? Effect.succeed(written.replace(/\/+$/, ""))
    : Effect.fail(
        new KubeConfigError({
          message: `cluster ${JSON.stringify(value.name)} of ${file}: server ${JSON.stringify(value.server)} is not a URL`
        })
      )
}

const fromFiles = (
  files: ReadonlyArray<string>,
  origin: string,
  wanted: string | undefined
): Effect.Effect<Cluster, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const selected = yield* select(files, origin, wanted)
    const server = yield* serverOf(selected.cluster)
    // Certificates in the file itself are replaced by rewriting it, so a renewal reads it again.
    const source = select(files, origin, selected.context).pipe(
      Effect.mapError((error) => new CredentialsError({ message: error.message })),
      Effect.flatMap(sourceOf)
    )
    const rotating = yield* Effect.mapError(Credentials.rotating(source), asKubeConfigError)
    return {
      server,
      namespace: selected.namespace,
      source: `context ${JSON.stringify(selected.context)} of ${files.join(", ")} (${origin})`,
      proxy: selected.cluster.value.proxyUrl || undefined,
      ...rotating
    }
  })

const fromPod = (folder: string, host: string, port: string): Effect.Effect<Cluster, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const what = "the pod's service account"
    const source: Credentials.Source = {
      ca: { file: path.join(folder, "ca.crt"), what },
      cert: undefined,
      key: undefined,
      token: { file: path.join(folder, "token"), what },
      basic: undefined,
      plugin: undefined,
      serverName: undefined,
      insecure: false,
      impersonate: undefined
    }
    const rotating = yield* Effect.mapError(Credentials.rotating(Effect.succeed(source)), asKubeConfigError)
    const namespace = yield* Effect.orElseSucceed(fs.readFileString(path.join(folder, "namespace")), () => "")
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port === "" ? "443" : port}`,
      namespace: namespace.trim() || undefined,
      source: "the pod's service account",
      proxy: undefined,
      ...rotating
    }
  })

/** The cluster that the options, or else the environment, lead to. The credentials have been read once. */
export const load = (options: Options = {}): Effect.Effect<Cluster, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const { context, kubeconfig, origin = "--kubeconfig" } = options
    if (kubeconfig !== undefined && kubeconfig !== "") return yield* fromFiles([kubeconfig], origin, context)

    const files = (yield* variable("KUBECONFIG")).split(path.delimiter).filter((file) => file !== "")
    if (files.length > 0) return yield* fromFiles(files, "KUBECONFIG", context)

    const folder = options.serviceAccount ?? serviceAccountFolder
    const host = yield* variable("KUBERNETES_SERVICE_HOST")
    const exists = (file: string) => Effect.orElseSucceed(fs.exists(file), () => false)
    const inPod = host !== "" && (yield* exists(path.join(folder, "token")))
    if (inPod && context === undefined) return yield* fromPod(folder, host, yield* variable("KUBERNETES_SERVICE_PORT"))

    const home = yield* variable("HOME")
    const standard = path.join(home, ".kube", "config")
    if (home !== "" && (yield* exists(standard))) return yield* fromFiles([standard], "the default", context)

    const pod =
      host === ""
        ? "this is not a pod (KUBERNETES_SERVICE_HOST is not set)"
        : inPod
          ? "a pod's service account has no contexts"
          : `the pod has no service account token (${path.join(folder, "token")})`
    return yield* new KubeConfigError({
      message: `no cluster: neither --kubeconfig nor KUBECONFIG is set, ${pod}, and ${standard} does not exist`
    })
  })
