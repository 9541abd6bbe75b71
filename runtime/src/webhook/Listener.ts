/**
 * The TLS port of the webhooks.
 *
 * A new certificate applies to new connections, and open connections continue, so that no request fails. `node:tls` can change the
 * certificate of an open port; `Bun.serve` cannot.
 */
import { type AddressInfo, isIPv6, type Server, type Socket } from "node:net"
import { createServer, type TLSSocket } from "node:tls"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ListenError from "../resource/ListenError.ts"
import * as Text from "../resource/Text.ts"
import * as CertificateSource from "./CertificateSource.ts"

/** The server cannot listen on its address. */
export class BindFailed extends Data.TaggedError("BindFailed")<{
  readonly address: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot listen on ${this.address}, from --webhook-bind-address: ${this.reason}`
  }
}

/** The clients that may send requests. */
export interface Clients {
  /** The CAs that issue the certificates of clients, as PEM. */
  readonly cas: string
  /** Waits for other CAs. */
  readonly after: (cas: string) => Effect.Effect<string>
  /** The common name of their certificates; absent for any. */
  readonly name: string | undefined
}

/** Why a client is not an API server; undefined if it is one, or if all clients are allowed. */
type Refusal = string | undefined

/** The settings of the port. */
export interface Options {
  /** The address; absent for all addresses of the machine. */
  readonly hostname: string | undefined
  /** 0 for any free port. */
  readonly port: number
  readonly certificates: CertificateSource.Source
  /** Absent: all clients. */
  readonly clients?: Clients | undefined
}

/** Whether the port also takes connections of others. */
type Others = "refused" | "accepted"

/** The functions of the port's owner, for its connections. */
export interface Handlers {
  /** A connection before its handshake. */
  readonly connected: (socket: Socket) => void
  /** A connection with TLS. */
  readonly accept: (socket: TLSSocket, refusal: Refusal) => void
  /** A connection whose handshake failed, or of a client that is refused, with the reason. */
  readonly rejected: (reason: string) => void
  /** Whether the port also takes connections of other clients than API servers. */
  readonly others: Others
}

/** The longest part of a client's name in a message, in characters. */
const longestName = 64

const refusalOf = (socket: TLSSocket, { name }: Clients): Refusal => {
  if (!socket.authorized) return Text.clip(String(socket.authorizationError), longestName)
  if (name === undefined) return undefined
  const found: unknown = socket.getPeerCertificate().subject?.CN
  return found === name
    ? undefined
    : `its certificate has the common name ${Text.clip(JSON.stringify(found) ?? "none", longestName)}`
}

const codeOf = (error: Error): string => Text.clip(String(ListenError.codeOf(error) ?? error.message), longestName)

/** Makes a server listen on an address, or on all addresses of the machine. Fails with the error of the system. */
export const listen = (server: Server, hostname: string | undefined, port: number): Effect.Effect<void, unknown> => {
  const on = (host: string) =>
    Effect.callback<void, unknown>((resume) => {
      const failed = (error: unknown): void => resume(Effect.fail(error))
      server.once("error", failed)
      server.listen({ host, port }, () => {
        server.off("error", failed)
        server.on("error", () => {})
        resume(Effect.void)
      })
    })
  if (hostname !== undefined) return on(hostname)
  return Effect.catch(on("::"), (error) =>
    // A machine without IPv6 cannot bind to `::`.
    ListenError.codeOf(error) === "EADDRINUSE" ? Effect.fail(error) : on("0.0.0.0")
  )
}

/**
 * Listens until the scope closes. Open connections are their owner's to close. Returns the port.
 */
export const make = (
  { certificates, clients, hostname, port }: Options,
  { accept, connected, others, rejected }: Handlers
): Effect.Effect<number, BindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    let pair = certificates.first
    let cas = clients?.cas
    const context = () => ({
      cert: pair.certificate,
      key: pair.key,
      minVersion: "TLSv1.2" as const,
      ...(cas !== undefined && { ca: cas })
    })
    const isVerified = clients !== undefined
    const verification = { requestCert: isVerified, rejectUnauthorized: isVerified && others === "refused" }
    const server = createServer({ ...context(), ALPNProtocols: ["http/1.1"], ...verification }, (socket) => {
      socket.on("error", () => socket.destroy())
      const refusal = clients === undefined ? undefined : refusalOf(socket, clients)
      if (refusal === undefined || others === "accepted") {
        accept(socket, refusal)
        return
      }
      rejected(refusal)
      socket.destroy()
    })
    // Also for a client that never begins the handshake.
    server.on("connection", connected)
    server.on("tlsClientError", (error, socket) => {
      rejected(codeOf(error))
      socket.destroy()
    })
    const address = `${isIPv6(hostname ?? "") ? `[${hostname}]` : (hostname ?? "")}:${port}`
    yield* Effect.acquireRelease(
      Effect.mapError(
        listen(server, hostname, port),
        (error) => new BindFailed({ address, reason: ListenError.reasonOf(error) })
      ),
      () => Effect.sync(() => void server.close())
    )
    const serve = Effect.sync(() => server.setSecureContext(context()))
    yield* Effect.forkScoped(
      CertificateSource.follow(certificates, (next) =>
        Effect.suspend(() => {
          pair = next
          return serve
        })
      )
    )
    if (clients !== undefined) {
      const follow = Effect.gen(function* () {
        while (true) {
          cas = yield* clients.after(cas ?? "")
          yield* serve
        }
      })
      yield* Effect.forkScoped(follow)
    }
    return (server.address() as AddressInfo).port
  })
