/**
 * `why KIND/NAME`: asks a running manager for the history of an object. The answer is the page of `manager/why/Page`. The verb sends no
 * request to the API server.
 */
import { FileSystem } from "@effect/platform/FileSystem"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as ProxySettings from "../client/ProxySettings.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Text from "../resource/Text.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Verb from "./Verb.ts"

/** The manager did not answer. The message is one line with what to do. */
export class NotAnswered extends Data.TaggedError("NotAnswered")<{ readonly message: string }> {}

/** Longer than the timeout of a manager, which is ten seconds. */
const timeoutMillis = 15_000

const probePort = BindAddress.usualPorts.probes

/** The full URL, such as `http://127.0.0.1:8081`, from any part of it. */
const addressOf = (text: string): Either.Either<URL, string> => {
  const whole = /^https?:\/\//.test(text) ? text : `http://${text.startsWith(":") ? "127.0.0.1" : ""}${text}`
  const url = URL.parse(whole)
  return url === null || url.pathname !== "/" || url.search !== ""
    ? Either.left(`invalid manager address: "${text}" (write it like http://127.0.0.1:${probePort})`)
    : Either.right(url)
}

/** The object that the arguments name: `webapp/shop`, or `webapp shop`. */
export const objectOf = (
  words: ReadonlyArray<string>
): Either.Either<{ readonly kind: string; readonly name: string }, string> => {
  const [kind = "", name = "", ...rest] = words.flatMap((word) => word.split("/"))
  if (words.length === 0) return Either.left("an object is required: KIND/NAME, such as webapp/shop")
  return kind === "" || name === "" || rest.length > 0
    ? Either.left(`invalid object: "${words.join(" ")}" (must be KIND/NAME, such as webapp/shop)`)
    : Either.map(Flags.objectName(name), () => ({ kind, name }))
}

const flags = {
  ...Flags.cluster,
  namespace: Flag.short(
    "n",
    Flag.parsed("namespace", {
      placeholder: "NAME",
      description: "The namespace of the object (default that of the kubeconfig context, or else default)",
      parse: Flags.namespaceName,
      otherwise: undefined
    })
  ),
  controller: Flag.text("controller", {
    placeholder: "NAME",
    description: "Only what this controller knows, where several reconcile the kind"
  }),
  probeAddress: Flag.parsed("probe-address", {
    placeholder: "URL",
    description: `The address of the manager's probes (default http://127.0.0.1:${probePort})`,
    parse: addressOf,
    otherwise: new URL(`http://127.0.0.1:${probePort}`)
  }),
  tokenFile: Flag.text("token-file", {
    placeholder: "FILE",
    description: "A bearer token for a manager on another machine; the token needs the permission to get /why"
  }),
  output: Flag.short(
    "o",
    Flag.choice(
      "output",
      { text: "text", json: "json" },
      { placeholder: "FORMAT", description: "text or json (default text)", otherwise: "text" }
    )
  )
}

type Settings = Flag.Values<typeof flags>

/** The namespace of the context, as kubectl selects it. An invalid or missing default kubeconfig is not an error. */
const namespaceOf = ({ context, kubeconfig, namespace }: Settings) => {
  if (namespace !== undefined) return Effect.succeed(namespace)
  const wanted = context !== undefined || "kubeconfig" in kubeconfig
  return KubeConfig.namespaceOf({ ...kubeconfig, context }).pipe(
    Effect.map((namespace) => namespace ?? "default"),
    Effect.catchAll((error) => (wanted ? Effect.fail(error) : Effect.succeed("default")))
  )
}

/** Why a token must not be sent to this address: others could read it on the way. Undefined if it may. */
export const exposure = (url: URL): string | undefined =>
  ProxySettings.isExposed(url) ? `--token-file: cannot send a token to ${url.origin} without TLS` : undefined

const tokenIn = (path: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const text = yield* Effect.mapError(
      fs.readFileString(path),
      () => new NotAnswered({ message: `--token-file: ${path} cannot be read` })
    )
    const token = text.trim()
    return /^[\x21-\x7e]+$/.test(token)
      ? token
      : yield* new NotAnswered({ message: `--token-file: token not found: ${path}` })
  })

interface Answer {
  readonly status: number
  readonly body: string
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
        return { status: response.status, body: await response.text() }
      },
      catch: (error) =>
        new NotAnswered({
          message: `cannot reach the manager at ${url.origin}: ${reasonOf(error)} (if it runs in a cluster, forward its port first: ${forward(program)})`
        })
    })
  })

/** The first line of a response body. The server may be any program. */
const lineOf = (body: string): string => {
  const line = body.trim().split("\n")[0] ?? ""
  return Text.printable(Text.clip(line, 300))
}

const textOf = (program: string, origin: string, { body, status }: Answer) => {
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
          message: `${origin} has no /why endpoint: the manager may still be starting, may be an older version, or may be a different program`
        })
      )
    default:
      return Effect.fail(new NotAnswered({ message: `${origin} answered with ${status}: ${lineOf(body)}` }))
  }
}

/** The verb. */
export const verb = (program: Verb.Named) =>
  Verb.make("why", {
    description: "Explain what a running manager did about an object, and what is next",
    words: { placeholder: "KIND/NAME", most: 2 },
    flags,
    examples: [
      ["Explain an object in a namespace.", "why webapp/shop -n default"],
      ["Ask a manager at another address.", "why webapp/shop --probe-address=http://127.0.0.1:9081"]
    ],
    run: (settings, words) =>
      Effect.gen(function* () {
        const object = objectOf(words)
        if (Either.isLeft(object)) return yield* new Verb.UsageError({ message: object.left })
        const namespace = yield* namespaceOf(settings)
        const { controller, output, probeAddress, tokenFile } = settings
        const exposed = tokenFile === undefined ? undefined : exposure(probeAddress)
        if (exposed !== undefined) {
          const message = `${exposed} (omit the token, and forward the manager's port: ${forward(program.name)})`
          return yield* new Verb.UsageError({ message })
        }
        const url = new URL("/why", probeAddress)
        const query = { ...object.right, namespace, output, ...(controller !== undefined && { controller }) }
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
        const token = tokenFile === undefined ? undefined : yield* tokenIn(tokenFile)
        const answer = yield* get(program.name, url, token)
        // An error has the format of the answer: in JSON, the line is a field.
        const said = answer.status === 400 && output === "json" ? { ...answer, body: errorIn(answer.body) } : answer
        yield* Console.log(Text.printable(yield* textOf(program.name, url.origin, said)))
      })
  })

const errorIn = (body: string): string => {
  try {
    const value: unknown = JSON.parse(body)
    const error: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "error") : undefined
    return typeof error === "string" ? error : body
  } catch {
    return body
  }
}
