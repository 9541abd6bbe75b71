/**
 * Calls webhooks over HTTPS like a kube-apiserver: with the certificates of `caBundle`, and with a timeout.
 *
 * The setting `services` maps a Service to an address. Otherwise, a Service of the type ExternalName resolves to that name, and any other
 * Service to one of its ready endpoints. Pods have no network here, so an endpoint works only if it is an address of the machine.
 */
import * as Https from "node:https"
import * as Stream from "node:stream/consumers"
import { Duration, Effect, Random } from "effect"
import * as Json from "../model/Json.ts"
import type { Store } from "../storage/Store.ts"
import * as Envelope from "./Envelope.ts"
import * as ServerName from "./ServerName.ts"

/** Calls webhooks. */
export interface Outside {
  /**
   * Posts a review to the address of a `clientConfig`. The review gets a new `request.uid`, which the response must repeat (`uidOf`). Never
   * fails.
   */
  readonly post: (clientConfig: Json.JsonObject, review: Review, seconds: number) => Effect.Effect<Answered>
}

/** A review for a webhook. */
export interface Review extends Envelope.Type {
  readonly request: Json.JsonObject
}

/** The outcome of a call, and the uid of its request. */
export interface Answered {
  readonly uid: string
  readonly outcome: Envelope.Outcome
}

/** The address of a Service, such as `127.0.0.1:9443`; undefined to use the endpoint of the stored Service. */
export type Services = (service: {
  readonly namespace: string
  readonly name: string
  readonly port: number
}) => string | undefined

/** Webhooks in this process, by the URL of their `clientConfig`. A webhook gets the body of a review, and returns the response. */
export type Inside = (url: string) => ((body: unknown) => Effect.Effect<object, Refused>) | undefined

/** The HTTP error of a webhook in this process. */
export interface Refused {
  readonly status: number
  readonly message: string
}

/** Calls webhooks with the Services of a store. Webhooks in this process need no network. */
export const make = (
  store: Store,
  services: Services = () => undefined,
  inside: Inside = () => undefined
): Outside => ({
  post: (clientConfig, review, seconds) =>
    Effect.gen(function* () {
      const uid = yield* uuid
      const address = addressOf(store, services, clientConfig)
      const url = `${address.url}?timeout=${seconds}s`
      if ("problem" in address) return { uid, outcome: { problem: `Post ${JSON.stringify(url)}: ${address.problem}` } }
      const body = JSON.stringify({ ...review, request: { uid, ...review.request } })
      const own = inside(address.url)
      const sent: Effect.Effect<Envelope.Outcome, string> =
        own === undefined
          ? Effect.tryPromise({
              try: (signal) =>
                send(address, url, body, review, Buffer.from(Json.text(clientConfig.caBundle) ?? "", "base64"), signal),
              catch: (error) => `Post ${JSON.stringify(url)}: ${reasonOf(error, address)}`
            })
          : Effect.match(own(JSON.parse(body)), {
              onSuccess: (answer) => Envelope.decode(JSON.stringify(answer), review, json),
              onFailure: ({ message, status }) => ({ problem: Envelope.refusal(status, message) })
            })
      const outcome = yield* sent.pipe(
        Effect.timeoutOrElse({
          duration: Duration.seconds(seconds),
          orElse: () => Effect.fail(`Post ${JSON.stringify(url)}: context deadline exceeded`)
        }),
        Effect.catch((problem) => Effect.succeed({ problem }))
      )
      return { uid, outcome }
    })
})

/** A version 4 UUID from Effect's Random. */
const uuid: Effect.Effect<string> = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, 2 ** 16, { halfOpen: true }), 8),
  (parts) => {
    const [a, b, c, d, e, ...rest] = parts.map((part) => part.toString(16).padStart(4, "0"))
    return `${a}${b}-${c}-4${d?.slice(1)}-a${e?.slice(1)}-${rest.join("")}`
  }
)

/** The address of the connection, and the host name that its certificate must have. */
interface Address {
  /** The URL in messages. For a Service, its host is the name of the Service. */
  readonly url: string
  readonly host: string
  /** The address of the connection; undefined to use the host of the URL. */
  readonly endpoint: string | undefined
}

type Lost = Pick<Address, "url"> & { readonly problem: string }

const addressOf = (store: Store, services: Services, { service, url }: Json.JsonObject): Address | Lost => {
  if (!Json.isObject(service)) {
    const text = Json.text(url) ?? ""
    return { url: text, host: URL.parse(text)?.host ?? "", endpoint: undefined }
  }
  const name = Json.text(service.name) ?? ""
  const namespace = Json.text(service.namespace) ?? ""
  const port = Json.number(service.port) ?? 443
  const path = Json.text(service.path) ?? ""
  const host = `${name}.${namespace}.svc`
  const named = `https://${host}:${port}${path === "" ? "/" : path}`
  const set = services({ namespace, name, port })
  const endpoint = set === undefined ? endpointOf(store, namespace, name, port) : { address: set }
  return "problem" in endpoint ? { url: named, ...endpoint } : { url: named, host, endpoint: endpoint.address }
}

const endpointOf = (
  store: Store,
  namespace: string,
  name: string,
  port: number
): { readonly address: string } | { readonly problem: string } => {
  const found = store.get("/services", namespace, name)
  if (found === undefined) return { problem: `service ${JSON.stringify(name)} not found` }
  const spec = Json.object(found.spec)
  if (spec.type === "ExternalName") return { address: `${Json.text(spec.externalName) ?? ""}:${port}` }
  const wanted = Json.objects(spec.ports).find((one) => one.port === port)
  if (wanted === undefined) return { problem: `no service port ${port} found for service ${JSON.stringify(name)}` }
  const portName = Json.text(wanted.name) ?? ""
  for (const subset of Json.objects(store.get("/endpoints", namespace, name)?.subsets)) {
    const target = Json.objects(subset.ports).find((one) => (Json.text(one.name) ?? "") === portName)
    const [address] = Json.objects(subset.addresses)
    if (target === undefined || address === undefined) continue
    const ip = String(address.ip)
    return { address: `${ip.includes(":") ? `[${ip}]` : ip}:${String(target.port)}` }
  }
  return { problem: `no endpoints available for service ${JSON.stringify(name)}` }
}

const send = async (
  address: Address,
  requested: string,
  body: string,
  review: Review,
  ca: Buffer,
  signal: AbortSignal
): Promise<Envelope.Outcome> => {
  const { status, text, type } = await post(address, requested, body, ca, signal)
  return status >= 200 && status < 300
    ? Envelope.decode(text, review, type ?? json)
    : { problem: Envelope.refusal(status, text) }
}

interface Answer {
  readonly status: number
  readonly type: string | undefined
  readonly text: string
}

const post = (
  { endpoint, host, url }: Address,
  requested: string,
  body: string,
  ca: Buffer,
  signal: AbortSignal
): Promise<Answer> => {
  const target = endpoint === undefined ? requested : requested.replace(/^https:\/\/[^/]*/, `https://${endpoint}`)
  const options = {
    method: "POST",
    headers: {
      "content-type": json,
      "content-length": Buffer.byteLength(body),
      accept: "application/json, */*",
      "user-agent": "kube-apiserver-admission",
      ...(endpoint !== undefined && { host: url.split("/", 3)[2] ?? host })
    },
    signal,
    ...(ca.length > 0 && { ca: ca.toString() }),
    rejectUnauthorized: true,
    // Go trusts each certificate of the bundle, even an intermediate one.
    allowPartialTrustChain: true,
    checkServerIdentity: (_: string, certificate: ServerName.Names) => {
      const problem = ServerName.problemOf(
        endpoint === undefined ? (URL.parse(url)?.hostname ?? "") : host,
        certificate
      )
      return problem === undefined ? undefined : new Unverified(problem)
    },
    ...(endpoint !== undefined && { servername: host })
  }
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      const request = Https.request(target, options, (response) => {
        const { headers, statusCode: status = 0 } = response
        Stream.text(response).then((text) => resolve({ status, type: headers["content-type"], text }), reject)
      })
      // The webhook may close an idle connection at the moment of the request. Then the request is sent on another connection, as in Go.
      request.on("error", (error) => (request.reusedSocket && isClosed(error) ? attempt() : reject(error)))
      request.end(body)
    }
    attempt()
  })
}

/** The certificate of a webhook is invalid for its host. */
class Unverified extends Error {}

const isClosed = (error: Error): boolean => "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE")

const json = "application/json"

/** The error of Go for a failed connection. */
const reasonOf = (error: unknown, { endpoint, url }: Address): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const host = endpoint ?? URL.parse(url)?.host ?? ""
  if (code === "ECONNREFUSED" || code === "ConnectionRefused") return `dial tcp ${host}: connect: connection refused`
  if (error instanceof Unverified) return `${untrusted}: ${error.message}`
  if (unknownAuthority.has(code)) return `${untrusted}: x509: certificate signed by unknown authority`
  if (code === "INVALID_PURPOSE") return `${untrusted}: x509: certificate specifies an incompatible key usage`
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return `${untrusted}: x509: certificate has expired or is not yet valid`
  }
  return error instanceof Error ? error.message : String(error)
}

const untrusted = "tls: failed to verify certificate"

const unknownAuthority: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT"
])
