/** A transport with the responses of a test, and a record of its requests, for the tests of this folder. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type * as ApiError from "./ApiError.ts"
import * as Client from "./Client.ts"
import * as Disconnect from "./Disconnect.ts"
import { infoOf, type Request } from "./Request.ts"
import type { Response, Streaming } from "./Response.ts"
import * as Transport from "./Transport.ts"

/** A built-in kind with a `data` field. */
export interface ConfigMap extends KubernetesObject {
  readonly data?: { readonly [key: string]: string }
}

export const ConfigMap = Resource.make<ConfigMap>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps"
})

export const Deployment = Resource.make<KubernetesObject & { readonly spec: { readonly replicas?: number } }>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments"
})

export const ClusterRole = Resource.make<KubernetesObject>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false
})

/** An object as a server stores it. */
export const configMap = (name: string, rest: object = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    namespace: "a",
    uid: `uid-${name}`,
    resourceVersion: "7",
    creationTimestamp: "2026-11-20T00:00:00Z"
  },
  ...rest
})

/** A response with a JSON body. */
export const answer = (status: number, body: unknown, headers: Record<string, string> = {}): Response => ({
  status,
  headers: new Headers(headers),
  body: typeof body === "string" ? body : JSON.stringify(body)
})

/** A response with a Status. */
export const failure = (code: number, reason: string, details: object = {}): Response =>
  answer(code, { kind: "Status", status: "Failure", code, reason, message: `because ${reason}`, details })

export type Reaction = Response | ApiError.Transport | "silence"

/** No response, with this code. */
export const disconnect = (request: Request, code: string): ApiError.Transport =>
  Disconnect.make(infoOf(request), "https://server", code)

const react = (request: Request, reaction: Reaction): Effect.Effect<Response, ApiError.Transport> =>
  reaction === "silence"
    ? Transport.abortable(request, Effect.never)
    : "status" in reaction
      ? Effect.succeed(reaction)
      : Effect.fail(reaction)

export interface Scripted {
  readonly layer: Layer.Layer<Transport.Transport>
  /** The requests, in order. */
  readonly requests: Array<Request>
  /** Bytes for the open watches; `undefined` ends them. */
  readonly bytes: Queue.Queue<string | undefined>
  /** The number of watches that the client ended. */
  readonly aborted: () => number
}

/**
 * @param script the response to a request; `sent` counts from 1
 * @param opening the response to a watch before its bytes
 */
export const make = (
  script: (request: Request, sent: number) => Reaction,
  opening: Reaction = answer(200, "")
): Effect.Effect<Scripted> =>
  Effect.gen(function* () {
    const requests: Array<Request> = []
    const bytes = yield* Queue.unbounded<string | undefined>()
    let aborted = 0
    const open = (request: Request) =>
      Effect.gen(function* () {
        requests.push(request)
        const first = yield* react(request, opening)
        const ended = yield* Deferred.make<never, ApiError.Transport>()
        const abort = Effect.andThen(
          Effect.sync(() => aborted++),
          Effect.asVoid(Deferred.fail(ended, disconnect(request, "ABORTED")))
        )
        yield* Effect.addFinalizer(() => abort)
        request.abort?.signal.addEventListener("abort", () =>
          Deferred.doneUnsafe(ended, Effect.fail(disconnect(request, "ABORTED")))
        )
        let rest: string | undefined = first.body
        const next = Effect.suspend(() => {
          if (first.status >= 400) {
            const body = rest
            rest = undefined
            return Effect.succeed(body)
          }
          return Effect.raceFirst(Queue.take(bytes), Deferred.await(ended))
        })
        const streaming: Streaming = {
          status: first.status,
          headers: first.headers,
          next: Effect.map(next, (text) => (text === undefined ? undefined : new TextEncoder().encode(text))),
          abort
        }
        return streaming
      })
    return {
      requests,
      bytes,
      aborted: () => aborted,
      layer: Layer.succeed(Transport.Transport, {
        server: "https://server",
        send: (request) =>
          Effect.suspend(() => {
            requests.push(request)
            return react(request, script(request, requests.length))
          }),
        open
      })
    }
  })

/** The client on a script. */
export const client = (scripted: Scripted): Layer.Layer<Client.Client> =>
  Layer.provide(Client.layer({ userAgent: "test/1" }), scripted.layer)
