/**
 * An API server and the credentials for it, from a kubeconfig, the environment inside a pod, or a test.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** TLS material, as PEM. */
export interface Tls {
  /** Certificate authorities that sign the server's certificate; the system's when absent. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** The name the server's certificate must carry, when it is not the host of the URL. */
  readonly serverName?: string | undefined
  /** Accept any server certificate. The connection can be read and changed by others. */
  readonly insecure?: boolean | undefined
}

/** What a request carries to be accepted. The same `tls` value is kept until it rotates: connections hang on it. */
export interface Credentials {
  readonly tls: Tls
  /** `authorization` and the like, lower-case names. */
  readonly headers: { readonly [name: string]: string }
}

/** The credentials cannot be had: a file is gone, a plugin fails. The message names it and where it is configured. */
export class CredentialsError extends Data.TaggedError("CredentialsError")<{ readonly message: string }> {}

/** Where the server is, and what it takes to be let in. */
export interface Cluster {
  /** The server's URL without a slash at its end; may have a path. */
  readonly server: string
  /** The namespace to work in when none is named: of the context, or of the pod. */
  readonly namespace: string | undefined
  /** Where this came from, for messages: `context "kind" of ~/.kube/config`, `in-cluster service account`. */
  readonly source: string
  /** A proxy named in the kubeconfig: all requests go through it. Without one the environment decides. */
  readonly proxy: string | undefined
  /** The credentials of the moment: asked for with every request, so it answers from memory and re-reads now and then. */
  readonly credentials: Effect.Effect<Credentials, CredentialsError>
  /** The same without waiting; `undefined` if they have to be read first. */
  readonly current?: (() => Credentials | undefined) | undefined
  /** The credentials, read again after the server refused the previous ones. */
  readonly renew: Effect.Effect<Credentials, CredentialsError>
}

/** A cluster whose credentials never change: of a test, or of a program that was handed them. */
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
