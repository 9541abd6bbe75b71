/**
 * Replicas that share a webhook certificate, over an API server in memory with one Secret and two webhook configurations. After each
 * change it checks that every replica's certificate verifies against every configuration.
 */
import { X509Certificate } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as CertificateSource from "./CertificateSource.ts"
import * as Der from "./Der.ts"
import * as SharedCertificate from "./SharedCertificate.ts"

/** The stored Secret. */
export interface Stored {
  readonly metadata: { readonly [field: string]: unknown }
  readonly type?: string
  readonly immutable?: boolean
  readonly data?: { readonly [key: string]: string }
}

/** A running replica. */
export interface Replica {
  served: CertificateSource.Pair | undefined
  /** Ends it before this many more calls; its certificate no longer counts then. */
  callsLeft: number
  /** The status code of all responses to the replica; 0 without a fault. */
  fault: number
  calls: number
  readonly kill: Effect.Effect<void>
}

const key = { namespace: "default", name: "hooks" }

/** A server with two configurations without CAs. */
export const make = () => {
  let secret: Stored | undefined
  let revision = 0
  const configurations = ["", ""]
  const replicas = new Set<Replica>()
  const wrong: Array<string> = []
  const valid = new Map<string, boolean>()
  const writes: Array<string> = []

  const verifies = (certificate: string, bundle: string): boolean => {
    const id = certificate + bundle
    const known = valid.get(id)
    if (known !== undefined) return known
    const leaf = new X509Certificate(certificate)
    const result = Der.certificatesOf(bundle).some((pem) => {
      const ca = new X509Certificate(pem)
      return leaf.checkIssued(ca) && leaf.verify(ca.publicKey)
    })
    valid.set(id, result)
    return result
  }
  const check = (what: string): void => {
    for (const { served } of replicas) {
      if (served !== undefined && !configurations.every((bundle) => verifies(served.certificate, bundle))) {
        wrong.push(what)
      }
    }
  }

  const put = (next: Omit<Stored, "metadata"> & { readonly metadata?: object }): Stored => {
    const metadata = { uid: `uid-${revision}`, ...secret?.metadata, ...key, resourceVersion: String(++revision) }
    secret = { ...next, metadata }
    return secret
  }
  const answer = (status: number, body: object): Response => ({
    status,
    headers: new Headers(),
    body: JSON.stringify(body)
  })
  const refusal = (code: number, reason: string) =>
    answer(code, { kind: "Status", status: "Failure", code, reason, message: reason })

  const respond = (method: string, text: string | undefined): Response => {
    const body = text === undefined ? {} : JSON.parse(text)
    if (method !== "GET") writes.push(method)
    if (method === "POST") return secret === undefined ? answer(201, put(body)) : refusal(409, "AlreadyExists")
    if (secret === undefined) return refusal(404, "NotFound")
    if (method === "GET") return answer(200, secret)
    const version = method === "DELETE" ? body.preconditions?.resourceVersion : body.metadata?.resourceVersion
    if (version !== secret.metadata.resourceVersion) return refusal(409, "Conflict")
    if (method === "DELETE") {
      secret = undefined
      return answer(200, { kind: "Status", status: "Success" })
    }
    return secret.immutable === true || body.type !== secret.type ? refusal(422, "Invalid") : answer(200, put(body))
  }

  /** Starts a replica with a clock that is off by `skew` ms. Returns at once. */
  const start = (
    options: { readonly skew?: number; readonly callsLeft?: number; readonly names?: ReadonlyArray<string> } & Pick<
      SharedCertificate.Settings,
      "every"
    > = {}
  ): Effect.Effect<Replica, never, Scope.Scope> =>
    Effect.gen(function* () {
      /** A call to the server: it takes a moment, and is the last one of a replica that ends before it. */
      const call = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
        Effect.suspend(() => {
          replica.calls++
          if (--replica.callsLeft >= 0) return Effect.andThen(Effect.yieldNow, effect)
          replica.served = undefined
          return Effect.never
        })
      const failing = <A>(effect: Effect.Effect<A>) =>
        Effect.suspend(() => (replica.fault > 0 ? Effect.fail({ message: `code ${replica.fault}` }) : effect))
      const transport = Layer.succeed(Transport.Transport, {
        server: "memory",
        send: ({ body, method }) =>
          call(
            Effect.sync(() =>
              replica.fault > 0 ? refusal(replica.fault, `Fault${replica.fault}`) : respond(method, body)
            )
          ),
        open: () => Effect.die(new Error("a watch"))
      })
      const client = yield* Layer.build(Layer.provide(Client.layer(), transport))
      const clock = yield* Clock.Clock
      const publish = (bundle: string) =>
        Effect.forEach(
          configurations.keys(),
          (at) =>
            call(
              failing(
                Effect.sync(() => {
                  configurations[at] = bundle
                  check(`publish ${at}`)
                })
              )
            ),
          { discard: true }
        )
      const published = call(
        failing(
          Effect.sync(() => {
            const [one = "", ...others] = configurations
            return Der.certificatesOf(one)
              .filter((pem) => others.every((bundle) => bundle.includes(pem)))
              .join("")
          })
        )
      )
      const settings = { secret: key, names: options.names ?? ["hooks.default.svc"], publish, published }
      const replica: Replica = {
        served: undefined,
        callsLeft: options.callsLeft ?? Number.POSITIVE_INFINITY,
        fault: 0,
        calls: 0,
        kill: Effect.suspend(() => {
          replicas.delete(replica)
          return Effect.asVoid(Fiber.interrupt(fiber))
        })
      }
      replicas.add(replica)
      const show = (pair: CertificateSource.Pair) => {
        if (replica.callsLeft >= 0) replica.served = pair
        check("serve")
      }
      const fiber = yield* SharedCertificate.make({ ...settings, every: options.every }).pipe(
        Effect.flatMap((source) => {
          show(source.first)
          return CertificateSource.follow(source, (pair) => Effect.sync(() => show(pair)))
        }),
        Effect.scoped,
        Effect.provide(client),
        Effect.provideService(
          Clock.Clock,
          WallClock.skewed(clock, () => options.skew ?? 0)
        ),
        Effect.forkScoped
      )
      return replica
    })

  return {
    start,
    /** Moments at which a call to a replica would have failed. */
    wrong,
    /** The methods of the requests that wrote the Secret. */
    writes,
    configurations,
    secret: () => secret,
    /** Replaces or removes the Secret as another client. */
    set: (next: Omit<Stored, "metadata"> | undefined): void => {
      if (next === undefined) secret = undefined
      else put(next)
    }
  }
}
