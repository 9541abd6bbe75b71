/** Requests to a running manager, at its port of probes. They do not reach the API server. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import * as Result from "effect/Result"
import * as ProxySettings from "../client/ProxySettings.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Text from "../resource/Text.ts"
import * as FileText from "./FileText.ts"
import * as Flag from "./Flag.ts"
import * as Verb from "./Verb.ts"

/** The manager did not answer. The message is one line with what to do. */
export class NotAnswered extends Data.TaggedError("NotAnswered")<{ readonly message: string }> {}

/** Longer than the timeout of a manager, which is ten seconds. */
const timeoutMillis = 15_000

const probePort = BindAddress.usualPorts.probes

/** The full URL, such as `http://127.0.0.1:8081`, from any part of it. */
const addressOf = (text: string): Result.Result<URL, string> => {
  const whole = /^https?:\/\//.test(text) ? text : `http://${text.startsWith(":") ? "127.0.0.1" : ""}${text}`
  const url = URL.parse(whole)
  return url === null || url.pathname !== "/" || url.search !== ""
    ? Result.fail(`invalid manager address: "${text}" (write it like http://127.0.0.1:${probePort})`)
    : Result.succeed(url)
}

/** The flags of a request to a manager. */
export const flags = (path: string) => ({
  probeAddress: Flag.parsed("probe-address", {
    placeholder: "URL",
    description: `The address of the manager's probes (default http://127.0.0.1:${probePort})`,
    parse: addressOf,
    otherwise: new URL(`http://127.0.0.1:${probePort}`)
  }),
  tokenFile: Flag.text("token-file", {
    placeholder: "FILE",
    description: `A bearer token for a manager on another machine; the token needs the permission to get ${path}`
  })
})

/** The flag for the format of an answer. */
export const output = Flag.short(
  "o",
  Flag.choice(
    "output",
    { text: "text", json: "json" },
    { placeholder: "FORMAT", description: "text or json (default text)", otherwise: "text" }
  )
)

/** Why a token must not be sent to this address: others could read it on the way. Undefined if it may. */
export const exposure = (url: URL): string | undefined =>
  ProxySettings.isExposed(url) ? `--token-file: cannot send a token to ${url.origin} without TLS` : undefined

const tokenIn = (path: string) =>
  Effect.gen(function* () {
    const text = yield* Effect.mapError(
      FileText.read(path),
      (problem) => new NotAnswered({ message: `--token-file: ${problem}` })
    )
    const token = text.trim()
    return /^[\x21-\x7e]+$/.test(token)
      ? token
      : yield* new NotAnswered({ message: `--token-file: token not found: ${path}` })
  })

/** The answer of a manager. */
export interface Answer {
  readonly status: number
  readonly body: string
  /** The value of a header of the response; null without it. */
  readonly header: (name: string) => string | null
}

/** How to reach the manager from outside of its cluster. */
const forward = (program: string): string =>
  `kubectl -n ${program}-system port-forward deployment/${program} ${probePort}`

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

const reasonOf = (error: unknown): string => {
  if (error instanceof Error && error.name === "TimeoutError") return `no answer within ${timeoutMillis / 1000}s`
  switch (codeOf(error)) {
    case "ConnectionRefused":
    case "ECONNREFUSED":
      return "connection refused"
    case "FailedToOpenSocket":
    case "ENOTFOUND":
      return "host not found"
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

const get = (program: string, url: URL, token: string | undefined) =>
  Effect.gen(function* () {
    const through = ProxySettings.resolve(url, yield* ProxySettings.environment)
    // Bun's types lack `false`. It turns off fetch's own use of proxy variables, because Go's rules apply here.
    const proxy = (through ?? false) as string
    return yield* Effect.tryPromise({
      try: async (signal): Promise<Answer> => {
        const response = await fetch(url, {
          proxy,
          redirect: "manual",
          // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED is the default.
          tls: { rejectUnauthorized: true },
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMillis)])
        })
        const header = (name: string): string | null => response.headers.get(name)
        return { status: response.status, body: await response.text(), header }
      },
      catch: (error) =>
        new NotAnswered({
          message: `cannot reach the manager at ${url.origin}: ${reasonOf(error)} (if it runs in a cluster, forward its port first: ${forward(program)})`
        })
    })
  })

/** The first line of a response body. The server may be any program. */
export const lineOf = (body: string): string => {
  const line = body.trim().split("\n")[0] ?? ""
  return Text.printable(Text.clip(line, 300))
}

/** The body of an answer, or the error of the answer. */
const textOf = (
  program: string,
  origin: string,
  path: string,
  { body, status }: Answer
): Effect.Effect<string, NotAnswered | Verb.UsageError> => {
  switch (status) {
    case 200:
      return Effect.succeed(body.trimEnd())
    case 400:
      return Effect.fail(new Verb.UsageError({ message: lineOf(body) }))
    case 401:
    case 403:
      return Effect.fail(
        new NotAnswered({
          message: `${origin} rejected the request: ${lineOf(body)} (use --token-file FILE, or forward its port: ${forward(program)})`
        })
      )
    case 404:
      return Effect.fail(
        new NotAnswered({
          message: `${origin} has no ${path} endpoint: the manager may still be starting, may be an older version, or may be a different program`
        })
      )
    default:
      return Effect.fail(new NotAnswered({ message: `${origin} answered with ${status}: ${lineOf(body)}` }))
  }
}

const ask = (
  program: string,
  { probeAddress, tokenFile }: Flag.Values<ReturnType<typeof flags>>,
  path: string,
  query: { readonly [name: string]: string }
): Effect.Effect<Answer, NotAnswered | Verb.UsageError, FileSystem> =>
  Effect.gen(function* () {
    const exposed = tokenFile === undefined ? undefined : exposure(probeAddress)
    if (exposed !== undefined) {
      const message = `${exposed} (omit the token, and forward the manager's port: ${forward(program)})`
      return yield* new Verb.UsageError({ message })
    }
    const url = new URL(path, probeAddress)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const token = tokenFile === undefined ? undefined : yield* tokenIn(tokenFile)
    return yield* get(program, url, token)
  })

/**
 * The text that the manager at an address has at a path.
 *
 * @param program the name of the program, for messages
 * @param understood handles the answers that only this path has. Default: none
 */
export const text = <E = never>(
  program: string,
  settings: Flag.Values<ReturnType<typeof flags>>,
  path: string,
  query: { readonly [name: string]: string },
  understood: (answer: Answer) => Effect.Effect<Answer, E> = Effect.succeed
): Effect.Effect<string, NotAnswered | Verb.UsageError | E, FileSystem> =>
  ask(program, settings, path, query).pipe(
    Effect.flatMap(understood),
    Effect.flatMap((answer) => textOf(program, settings.probeAddress.origin, path, answer))
  )
