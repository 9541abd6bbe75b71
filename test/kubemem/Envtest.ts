/**
 * The programs that envtest starts: an etcd that only responds to health checks, and a kube-apiserver without controllers.
 * envtest finds them in the folder of `KUBEBUILDER_ASSETS`, which `kubemem envtest` fills.
 */
import { chmod, mkdir, readFile, realpath, rename, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Http from "@homeostat/apiserver/http/Http"
import * as User from "@homeostat/apiserver/model/User"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as Authority from "@homeostat/runtime/webhook/Authority"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import manifest from "./package.json" with { type: "json" }
import * as Users from "./Users.ts"

/** A file is not readable or writable, or a port is not free. */
export class EnvtestError extends Data.TaggedError("EnvtestError")<{ readonly message: string }> {}

const failed = (doing: string) => (error: unknown) =>
  new EnvtestError({ message: `${doing}: ${error instanceof Error ? error.message : error}` })

const names = ["etcd", "kube-apiserver"] as const

/** The verb `kubemem envtest`. */
export const verb = Verb.make("envtest", {
  description: "Print a folder for KUBEBUILDER_ASSETS, with an etcd and a kube-apiserver in memory for envtest",
  flags: {
    dir: Flag.text("dir", { placeholder: "DIR", description: "The folder (default: one in ~/.cache/kubemem)" })
  },
  examples: [["Run the tests of an operator in Go", "envtest"]],
  run: ({ dir }) => Effect.flatMap(install(dir ?? defaultFolder()), Console.log)
})

const defaultFolder = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "kubemem", `envtest-${manifest.version}`)

/** Writes the executables. Each is a script that starts this program. */
const install = (folder: string) =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(folder, { recursive: true })
      const program = await realpath(process.argv[1] ?? "")
      for (const name of names) {
        const path = join(folder, name)
        const fresh = `${path}.${process.pid}`
        await writeFile(fresh, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(program)} ${name} "$@"\n`)
        await chmod(fresh, 0o755)
        // Another process may be running the old script.
        await rename(fresh, path)
      }
      return realpath(folder)
    },
    catch: failed("cannot write the executables")
  })

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The verbs that the scripts run. They accept the flags of the programs that they replace. */
export const programs: ReadonlyArray<Verb.Verb<EnvtestError | Users.UsersError | Http.ListenFailed, never>> = [
  {
    name: "etcd",
    description: "Answer the health checks of envtest",
    flags: [],
    untilSignal: true,
    run: ({ args }) => etcd(flagsOf(args))
  },
  {
    name: "kube-apiserver",
    description: "Serve the API for envtest, with the flags of kube-apiserver",
    flags: [],
    untilSignal: true,
    run: ({ args }) => Effect.scoped(apiServer(flagsOf(args)))
  }
]

type Flags = ReadonlyMap<string, string>

/** Parses flags as `--name=value` or `--name value`. The last value of a repeated flag counts. */
export const flagsOf = (args: ReadonlyArray<string>): Flags => {
  const flags = new Map<string, string>()
  for (const [index, arg] of args.entries()) {
    if (!arg.startsWith("-")) continue
    const [, name = "", value] = /^--?([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
    const next = args[index + 1]
    flags.set(name, value ?? (next === undefined || next.startsWith("-") ? "true" : next))
  }
  return flags
}

const etcd = (flags: Flags) =>
  Effect.gen(function* () {
    const [first = ""] = (flags.get("listen-client-urls") ?? "http://127.0.0.1:2379").split(",")
    const url = URL.canParse(first) ? new URL(first) : undefined
    if (url === undefined)
      return yield* new EnvtestError({ message: `--listen-client-urls: invalid value: "${first}" (must be a URL)` })
    return yield* Effect.callback<never, EnvtestError>((resume) => {
      const server = createServer((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end('{"health":"true","reason":""}')
      })
      server.once("error", (error) => resume(failed("etcd cannot listen")(error)))
      server.listen(Number(url.port || 2379), url.hostname.replace(/^\[|\]$/g, ""))
      return Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    })
  })

/** Flags without an effect, because the cluster lacks their feature or always works in this way. */
const harmless = new Set([
  ...["advertise-address", "allow-privileged", "api-audiences", "etcd-prefix", "etcd-servers"],
  ...["insecure-port", "logging-format", "profiling", "service-account-issuer", "service-account-key-file"],
  ...["service-account-lookup", "service-account-signing-key-file", "service-cluster-ip-range", "storage-backend", "v"],
  ...["max-requests-inflight", "max-mutating-requests-inflight", "event-ttl"]
])

const known = new Set([
  ...[
    "anonymous-auth",
    "authorization-mode",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "secure-port",
    "tls-cert-file"
  ],
  ...["disable-admission-plugins", "tls-private-key-file", "token-auth-file"]
])

/** Runs the kube-apiserver until the scope closes. */
export const apiServer = (flags: Flags) =>
  Effect.gen(function* () {
    for (const name of flags.keys()) {
      if (!known.has(name) && !harmless.has(name)) {
        yield* Console.error(`kube-apiserver: ignored flag: --${name} (kubemem supports ${[...known].join(", ")})`)
      }
    }
    // kube-apiserver listens on all addresses. envtest names the address, and others want no server on the network.
    const host = flags.get("bind-address") || "127.0.0.1"
    const port = flags.get("secure-port") ?? "6443"
    if (!/^\d+$/.test(port) || Number(port) > 65_535) {
      const message = `--secure-port: invalid value: "${port}" (must be a whole number from 0 to 65535)`
      return yield* new EnvtestError({ message })
    }
    const disabled = (flags.get("disable-admission-plugins") ?? "").split(",")
    const admissionPlugins = (["ServiceAccount"] as const).filter((name) => !disabled.includes(name))
    const alwaysAllow = !(flags.get("authorization-mode") ?? "AlwaysAllow").split(",").includes("RBAC")
    const { server } = yield* EmbeddedCluster.make({ admissionPlugins, alwaysAllow, controllers: [], kubelet: false })
    const tokens = flags.get("token-auth-file")
    for (const { token, user } of tokens === undefined ? [] : yield* Users.read(tokens)) server.addToken(token, user)
    const clientCa = flags.get("client-ca-file")
    yield* Http.serve(server, {
      host,
      port: Number(port),
      tls: {
        ...(yield* servingPair(flags)),
        ...(clientCa !== undefined && { clientCa: yield* textOf(clientCa) })
      },
      // As kube-apiserver, which lets anonymous users in only if it authorizes them.
      anonymous: !alwaysAllow && flags.get("anonymous-auth") !== "false" && User.anonymous
    })
    return yield* Effect.never
  })

/** The serving certificate from the flags. Without one, the server issues its own, as kube-apiserver does. */
const servingPair = (flags: Flags) =>
  Effect.gen(function* () {
    const folder = flags.get("cert-dir") ?? "/var/run/kubernetes"
    const cert = flags.get("tls-cert-file") ?? join(folder, "apiserver.crt")
    const key = flags.get("tls-private-key-file") ?? join(folder, "apiserver.key")
    const files = Effect.all({ cert: textOf(cert), key: textOf(key) })
    if (flags.has("tls-cert-file") || flags.has("tls-private-key-file")) return yield* files
    return yield* Effect.catch(files, () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const own = Authority.issue(Authority.makeAuthority(now), ["127.0.0.1", "localhost"], now)
        return { cert: own.certificate, key: own.key }
      })
    )
  })

const textOf = (path: string) =>
  Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: failed(`cannot read ${path}`) })
