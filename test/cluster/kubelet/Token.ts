/**
 * Tokens of ServiceAccounts, which a kubelet requests from the API server. A token is bound to one pod, and invalid when the pod is gone.
 */
import * as Client from "@homeostat/runtime/client/Client"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Entries from "./Entries.ts"

/** A request for a token. */
export interface Wanted {
  /** The audience of the token; default: the API server. */
  readonly audience?: string
  readonly expirationSeconds?: number
}

const Answer = Schema.fromJsonString(Schema.Struct({ status: Schema.Struct({ token: Schema.NonEmptyString }) }))

/** Requests a token for the ServiceAccount of a pod. Fails while the API server rejects the request. */
export const of = (pod: Pod, { audience, expirationSeconds }: Wanted) => {
  const { name, namespace = "default", uid } = pod.metadata
  const account = pod.spec?.serviceAccountName ?? "default"
  return Client.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: audience === undefined ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid }
      }
    })
  }).pipe(
    Effect.flatMap(({ body }) => Schema.decodeEffect(Answer)(body)),
    Effect.mapBoth({
      onSuccess: ({ status }) => new TextEncoder().encode(status.token),
      onFailure: ({ message }) =>
        new Entries.Missing({ message: `failed to fetch token for ServiceAccount ${namespace}/${account}: ${message}` })
    })
  )
}
