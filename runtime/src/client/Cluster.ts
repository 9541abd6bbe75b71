/** An API server and its credentials, from a kubeconfig, from the environment of a pod, or from a test. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** TLS material, as PEM. */
export interface Tls {
  /** The authorities that sign the server's certificate; absent for those of the system. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** The host name in the server's certificate, if it differs from the host of the URL. */
  readonly serverName?: string | undefined
  /** Accepts any server certificate. Then others can read and change the traffic. */
  readonly insecure?: boolean | undefined
}

/** The credentials of requests. The `tls` value stays the same until it rotates, because connections depend on its identity. */
export interface Credentials {
  readonly tls: Tls
  /** `authorization` and other headers, with lower-case names. */
  readonly headers: { readonly [name: string]: string }
}

/** The credentials are not available: a file is missing, or a plugin fails. The message names it and its setting. */
export class CredentialsError extends Data.TaggedError("CredentialsError")<{ readonly message: string }> {}

/** The API server and its credentials. */
export interface Cluster {
  /** The server's URL without a final slash; may have a path. */
  readonly server: string
  /** The default namespace: that of the context, or of the pod. */
  readonly namespace: string | undefined
  /** The source of the settings, for messages: `context "kind" of ~/.kube/config`, `in-cluster service account`. */
  readonly source: string
  /** The proxy of the kubeconfig, for all requests. Without one the environment decides. */
  readonly proxy: string | undefined
  /** The current credentials. They are cached and read again from time to time, because each request asks for them. */
  readonly credentials: Effect.Effect<Credentials, CredentialsError>
  /** The current credentials, synchronously; `undefined` if they must be read first. */
  readonly current?: (() => Credentials | undefined) | undefined
  /** Reads the credentials again after the server rejected them. */
  readonly renew: Effect.Effect<Credentials, CredentialsError>
}

/**
 * A cluster with fixed credentials, for tests and for programs with their own credentials.
 *
 * @example
 * ```ts
 * const cluster = Cluster.make({ server: "http://127.0.0.1:8001", namespace: "default" })
 * const client = Layer.provide(Client.layer(), Transport.layer(cluster))
 * ```
 */
export const make = (options: {
  readonly server: string
  readonly tls?: Tls | undefined
  readonly token?: string | undefined
  readonly namespace?: string | undefined
  readonly source?: string | undefined
  readonly proxy?: string | undefined
}): Cluster => {
  const fixed: Credentials = {
    tls: options.tls ?? {},
    headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
  }
  const credentials = Effect.succeed(fixed)
  return {
    server: options.server.replace(/(?<!\/)\/+$/, ""),
    namespace: options.namespace,
    source: options.source ?? "given by the program",
    proxy: options.proxy,
    credentials,
    current: () => fixed,
    renew: credentials
  }
}
