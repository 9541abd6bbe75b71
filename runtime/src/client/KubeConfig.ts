/**
 * Finds the API server and its credentials, in this order:
 *
 * 1. the file of `--kubeconfig`
 * 2. the files of `KUBECONFIG`, separated by colons and merged
 * 3. the service account of the pod (not with `--context`, which needs a file)
 * 4. `~/.kube/config`
 *
 * An invalid source is an error; the loader does not continue with the next one.
 */
import * as path from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as AuthPlugin from "./AuthPlugin.ts"
import { type Cluster, CredentialsError } from "./Cluster.ts"
import * as Credentials from "./Credentials.ts"
import { KubeConfigError, mapping, type Named, type Selected, select } from "./KubeConfigFile.ts"
import * as ProxySettings from "./ProxySettings.ts"

export { KubeConfigError } from "./KubeConfigFile.ts"

/** Options that override the environment. */
export interface Options {
  /** One file, `--kubeconfig`. */
  readonly kubeconfig?: string | undefined
  /** The source of that file, for messages. Default `--kubeconfig`. */
  readonly origin?: string | undefined
  /** The context of the file to use, `--context`. */
  readonly context?: string | undefined
  /** The folder of a pod's service account; set only in tests. */
  readonly serviceAccount?: string | undefined
}

/** The folder where the kubelet mounts a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Strings with a default cannot fail.
const variable = (name: string): Effect.Effect<string> => Effect.orDie(Config.withDefault(Config.String(name), ""))

const asKubeConfigError = (error: CredentialsError) => new KubeConfigError({ message: error.message })

/** The inline data (`…-data`, base64) or the file of a kubeconfig; inline data wins, as with kubectl. */
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

/**
 * The user to impersonate. Partial impersonation would be a silent error. For several groups or values of one extra, HTTP needs several
 * headers of the same name, but Bun's fetch joins them to one header. The server would read it as one group. So several are an error.
 */
const impersonationOf = ({
  file,
  raw,
  value
}: NonNullable<Selected["user"]>): Effect.Effect<Credentials.Impersonation | undefined, CredentialsError> => {
  const wrong = (words: string) =>
    new CredentialsError({ message: `user ${JSON.stringify(value.name)} of ${file}: ${words}` })
  const uid = typeof raw["as-uid"] === "string" ? raw["as-uid"] : ""
  const groups: ReadonlyArray<unknown> = Array.isArray(raw["as-groups"]) ? raw["as-groups"] : []
  const extra = Object.entries(mapping(raw["as-user-extra"])).map(
    ([key, values]) => [key, Array.isArray(values) ? values.map(String) : []] as const
  )
  if (!value.impersonateUser) {
    return uid === "" && groups.length === 0 && extra.length === 0
      ? Effect.sync(() => undefined)
      : Effect.fail(wrong("as-uid, as-groups and as-user-extra need an `as`"))
  }
  if (groups.length > 1) return Effect.fail(wrong("more than one entry of as-groups is not supported"))
  const several = extra.find(([, values]) => values.length > 1)
  if (several !== undefined) {
    return Effect.fail(wrong(`more than one value of as-user-extra ${several[0]} is not supported`))
  }
  return Effect.succeed({
    user: value.impersonateUser,
    uid: uid === "" ? undefined : uid,
    group: groups.length === 0 ? undefined : String(groups[0]),
    extra: Object.fromEntries(extra.map(([key, values]) => [key, values[0] ?? ""]))
  })
}

const sourceOf = (
  selected: Selected,
  server: string,
  within: string
): Effect.Effect<Credentials.CredentialSource, CredentialsError> =>
  Effect.gen(function* () {
    const cluster = selected.cluster
    const user = selected.user
    const source: Credentials.CredentialSource = {
      ca: material("certificate-authority", cluster.file, cluster.value.caData, cluster.value.caFile),
      cert: user && material("client-certificate", user.file, user.value.certData, user.value.certFile),
      key: user && material("client-key", user.file, user.value.keyData, user.value.keyFile),
      token: user && tokenOf(user),
      basic: user?.value.username ? { username: user.value.username, password: user.value.password ?? "" } : undefined,
      plugin: yield* AuthPlugin.of(selected),
      serverName: cluster.value.tlsServerName || undefined,
      insecure: cluster.value.skipTLSVerify,
      impersonate: user && (yield* impersonationOf(user))
    }
    return ProxySettings.isExposed(new URL(server)) && (source.token ?? source.basic ?? source.plugin) !== undefined
      ? yield* new CredentialsError({
          message: `${within}: cannot send credentials to ${server} without TLS (use https://, or a user without a token and password)`
        })
      : source
  })

/** kubectl accepts `host:port` too. A password in the URL is an error, because every message that names the server would show it. */
const serverOf = ({ file, value }: Named<{ readonly name: string; readonly server: string }>) => {
  const written = /^[a-z]+:\/\//i.test(value.server) ? value.server : `https://${value.server}`
  const url = URL.parse(written)
  const wrong = (words: string) =>
    Effect.fail(
      new KubeConfigError({
        message: `cluster ${JSON.stringify(value.name)} of ${file}: server ${JSON.stringify(ProxySettings.shown(value.server))} ${words}`
      })
    )
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return wrong("is not a URL")
  return url.username === "" && url.password === ""
    ? Effect.succeed(written.replace(/(?<!\/)\/+$/, ""))
    : wrong("has a user in it: put username and password where the user is")
}

/** The proxy of a cluster in a file. */
const proxyOf = ({ file, value }: Selected["cluster"]): Effect.Effect<string | undefined, KubeConfigError> => {
  if (!value.proxyUrl) return Effect.sync(() => undefined)
  const url = URL.parse(value.proxyUrl)
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return Effect.succeed(value.proxyUrl)
  return Effect.fail(
    new KubeConfigError({
      message: `cluster ${JSON.stringify(value.name)} of ${file}: proxy-url ${JSON.stringify(ProxySettings.shown(value.proxyUrl))} is not an http:// or https:// URL`
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
    const proxy = yield* proxyOf(selected.cluster)
    const within = `context ${JSON.stringify(selected.context)} of ${files.join(", ")} (${origin})`
    if (selected.cluster.value.skipTLSVerify && server.startsWith("https:")) {
      yield* Effect.logWarning(
        `${within} has insecure-skip-tls-verify: an attacker between this machine and ${server} can read and use our credentials`
      )
    }
    // Certificates inside the file rotate by a new file, so a renewal reads it again.
    const source = Effect.gen(function* () {
      const again = yield* select(files, origin, selected.context)
      const other = yield* serverOf(again.cluster)
      // Caches and Leases belong to the first server, and the credentials of another server must not be sent to it.
      if (other === server) return yield* sourceOf(again, server, within)
      return yield* new CredentialsError({
        message: `${within} now leads to ${other} instead of ${server}: start again to go there`
      })
    }).pipe(Effect.mapError((error) => new CredentialsError({ message: error.message })))
    const rotating = yield* Effect.mapError(Credentials.rotating(source), asKubeConfigError)
    return {
      server,
      namespace: selected.namespace,
      source: within,
      proxy,
      ...rotating
    }
  })

const fromPod = (folder: string, host: string, port: string): Effect.Effect<Cluster, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const what = "the pod's service account"
    const source: Credentials.CredentialSource = {
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
    const namespace = yield* podNamespace(folder)
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port === "" ? "443" : port}`,
      namespace,
      source: "the pod's service account",
      proxy: undefined,
      ...rotating
    }
  })

/** The source of the settings. */
type Place =
  | { readonly _tag: "Files"; readonly files: ReadonlyArray<string>; readonly origin: string }
  | { readonly _tag: "Pod"; readonly folder: string; readonly host: string }

const placeOf = (options: Options): Effect.Effect<Place, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const { context, kubeconfig, origin = "--kubeconfig" } = options
    if (kubeconfig !== undefined && kubeconfig !== "") return { _tag: "Files", files: [kubeconfig], origin }

    const files = (yield* variable("KUBECONFIG")).split(path.delimiter).filter((file) => file !== "")
    if (files.length > 0) return { _tag: "Files", files, origin: "KUBECONFIG" }

    const folder = options.serviceAccount ?? serviceAccountFolder
    const host = yield* variable("KUBERNETES_SERVICE_HOST")
    const exists = (file: string) => Effect.orElseSucceed(fs.exists(file), () => false)
    const inPod = host !== "" && (yield* exists(path.join(folder, "token")))
    if (inPod && context === undefined) return { _tag: "Pod", folder, host }

    const home = yield* variable("HOME")
    const standard = path.join(home, ".kube", "config")
    if (home !== "" && (yield* exists(standard))) return { _tag: "Files", files: [standard], origin: "the default" }

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

const podNamespace = (folder: string): Effect.Effect<string | undefined, never, FileSystem> =>
  Effect.flatMap(FileSystem, (fs) =>
    Effect.orElseSucceed(fs.readFileString(path.join(folder, "namespace")), () => "")
  ).pipe(Effect.map((namespace) => namespace.trim() || undefined))

/**
 * The cluster of the options, or else of the environment. Its credentials have been read once.
 *
 * @example
 * ```ts
 * const transport = Layer.unwrap(Effect.map(KubeConfig.load({ context: "staging" }), (cluster) => Transport.layer(cluster)))
 * ```
 */
export const load = (options: Options = {}): Effect.Effect<Cluster, KubeConfigError, FileSystem> =>
  Effect.gen(function* () {
    const place = yield* placeOf(options)
    return place._tag === "Files"
      ? yield* fromFiles(place.files, place.origin, options.context)
      : yield* fromPod(place.folder, place.host, yield* variable("KUBERNETES_SERVICE_PORT"))
  })

/**
 * The namespace of that cluster's context, if it has one. Reads no credentials and runs no plugin.
 *
 * @example
 * ```ts
 * const namespace = Effect.map(KubeConfig.namespaceOf(), (namespace) => namespace ?? "default")
 * ```
 */
export const namespaceOf = (options: Options = {}): Effect.Effect<string | undefined, KubeConfigError, FileSystem> =>
  Effect.flatMap(placeOf(options), (place) =>
    place._tag === "Files"
      ? Effect.map(select(place.files, place.origin, options.context), ({ namespace }) => namespace)
      : podNamespace(place.folder)
  )
