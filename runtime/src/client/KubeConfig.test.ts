import { afterAll, beforeAll, describe, expect } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as BunFileSystem from "@effect/platform-bun/BunFileSystem"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { effect } from "@homeostat/testkit/Test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as KubeConfig from "./KubeConfig.ts"

let folder = ""
let ca = ""
let client: Certificates.Pair = { certificate: "", key: "" }
let other: Certificates.Pair = { certificate: "", key: "" }

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "homeostat-kubeconfig-"))
  const authority = await Effect.runPromise(Certificates.authority)
  ca = authority.certificate
  client = await Effect.runPromise(authority.client("admin", []))
  other = await Effect.runPromise(authority.client("other", []))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const base64 = (text: string) => Buffer.from(text).toString("base64")

let files = 0

/** A new file with this text. */
const write = (text: string, name = `file-${++files}`): string => {
  const file = join(folder, name)
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** A kubeconfig with one context `name`, as JSON, which is YAML. */
const config = (options: {
  readonly name?: string
  readonly server?: string
  readonly cluster?: object
  readonly user?: object
  readonly current?: string
  readonly namespace?: string
}) => {
  const name = options.name ?? "main"
  return JSON.stringify({
    clusters: [{ name, cluster: { server: options.server ?? `https://${name}:6443`, ...options.cluster } }],
    users: [{ name, user: options.user ?? { token: `token-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace } }],
    "current-context": options.current ?? name
  })
}

const load = (options: KubeConfig.Options, variables: Record<string, string> = {}) =>
  KubeConfig.load(options).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))),
    Effect.provide(BunFileSystem.layer)
  )

const loadText = (text: string, options: KubeConfig.Options = {}) => load({ kubeconfig: write(text), ...options })

const credentials = (text: string) => Effect.flatMap(loadText(text), (cluster) => cluster.credentials)

const failureOf = (effect: Effect.Effect<unknown, KubeConfig.KubeConfigError>) =>
  Effect.map(Effect.flip(effect), (error) => error.message.replaceAll(folder, "DIR").replace(/file-\d+/g, "FILE"))

/** A pod's service account, and a home with a kubeconfig. */
const places = () => {
  const serviceAccount = join(folder, `sa-${++files}`)
  write("pod-token\n", `sa-${files}/token`)
  write(ca, `sa-${files}/ca.crt`)
  write("pod-namespace", `sa-${files}/namespace`)
  const home = join(folder, `home-${files}`)
  write(config({ name: "home" }), `home-${files}/.kube/config`)
  return { serviceAccount, home }
}

describe("KubeConfig finds the cluster", () => {
  effect("by --kubeconfig, before KUBECONFIG, before the pod's service account, before ~/.kube/config", () =>
    Effect.gen(function* () {
      const { home, serviceAccount } = places()
      const option = write(config({ name: "option" }))
      const variable = write(config({ name: "variable" }))
      const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" }
      const everything = { KUBECONFIG: variable, ...pod, HOME: home }
      const where = (options: KubeConfig.Options, variables: Record<string, string>) =>
        Effect.map(load({ serviceAccount, ...options }, variables), (cluster) => [
          cluster.server,
          cluster.source.replaceAll(folder, "DIR")
        ])

      expect(yield* where({ kubeconfig: option }, everything)).toEqual([
        "https://option:6443",
        expect.stringMatching(/^context "option" of DIR\/file-\d+ \(--kubeconfig\)$/)
      ])
      expect(yield* where({}, everything)).toEqual([
        "https://variable:6443",
        expect.stringMatching(/^context "variable" of DIR\/file-\d+ \(KUBECONFIG\)$/)
      ])
      expect(yield* where({}, { ...pod, KUBECONFIG: "", HOME: home })).toEqual([
        "https://10.0.0.1:443",
        "the pod's service account"
      ])
      expect(yield* where({}, { HOME: home })).toEqual([
        "https://home:6443",
        expect.stringMatching(/^context "home" of DIR\/home-\d+\/\.kube\/config \(the default\)$/)
      ])
      // A context is something that only a file has.
      expect(yield* where({ context: "home" }, { ...pod, HOME: home })).toEqual([
        "https://home:6443",
        expect.any(String)
      ])
    })
  )

  effect("of a pod with the token, the authority and the namespace of its service account", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load(
        { serviceAccount },
        { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" }
      )
      expect(cluster).toMatchObject({ server: "https://[fd00::1]:6443", namespace: "pod-namespace" })
      expect(yield* cluster.credentials).toMatchObject({ headers: { authorization: "Bearer pod-token" }, tls: { ca } })
    })
  )

  effect("in several files that are merged: the first to name something wins, missing ones do not matter", () =>
    Effect.gen(function* () {
      const first = write(config({ name: "shared", server: "https://first", current: "second" }))
      const second = write(
        JSON.stringify({
          clusters: [
            { name: "shared", cluster: { server: "https://never" } },
            { name: "second", cluster: { server: "https://second" } }
          ],
          contexts: [
            { name: "second", context: { cluster: "second", user: "shared" } },
            { name: "third", context: { cluster: "shared" } }
          ],
          "current-context": "third"
        })
      )
      const KUBECONFIG = `${first}:${join(folder, "missing")}:${second}`
      const cluster = yield* load({}, { KUBECONFIG })
      expect(cluster.server).toBe("https://second")
      expect((yield* cluster.credentials).headers).toEqual({ authorization: "Bearer token-shared" })
      expect((yield* load({ context: "third" }, { KUBECONFIG })).server).toBe("https://first")
    })
  )
})

describe("KubeConfig reads", () => {
  effect("a client certificate and the authority, in line or in files beside the kubeconfig", () =>
    Effect.gen(function* () {
      const inLine = yield* credentials(
        config({
          cluster: { "certificate-authority-data": base64(ca) },
          user: { "client-certificate-data": base64(client.certificate), "client-key-data": base64(client.key) }
        })
      )
      write(ca, "pki/ca.crt")
      write(client.certificate, "pki/client.crt")
      write(client.key, "pki/client.key")
      const inFiles = yield* credentials(
        config({
          cluster: { "certificate-authority": "pki/ca.crt" },
          user: { "client-certificate": "pki/client.crt", "client-key": join(folder, "pki/client.key") }
        })
      )
      expect(inLine.tls).toMatchObject({ ca, cert: client.certificate, key: client.key })
      expect(inFiles).toEqual(inLine)
      expect(inLine.headers).toEqual({})
    })
  )

  effect("tls-server-name, insecure-skip-tls-verify, proxy-url, the namespace, and a path in the server", () =>
    Effect.gen(function* () {
      const cluster = yield* loadText(
        config({
          server: "https://rancher/k8s/clusters/c-1/",
          namespace: "team",
          cluster: { "tls-server-name": "kube", "insecure-skip-tls-verify": true, "proxy-url": "http://proxy:3128" }
        })
      )
      expect(cluster).toMatchObject({
        server: "https://rancher/k8s/clusters/c-1",
        namespace: "team",
        proxy: "http://proxy:3128"
      })
      expect((yield* cluster.credentials).tls).toMatchObject({ serverName: "kube", insecure: true })
    })
  )

  effect("a token, a token file, a name and password, and whom to act as", () =>
    Effect.gen(function* () {
      write(" secret \n", "token")
      const headers = (user: object) => Effect.map(credentials(config({ user })), (read) => read.headers)
      expect(yield* headers({ token: "t" })).toEqual({ authorization: "Bearer t" })
      expect(yield* headers({ tokenFile: "token", token: "old" })).toEqual({ authorization: "Bearer secret" })
      expect(yield* headers({ username: "u", password: "p" })).toEqual({ authorization: `Basic ${base64("u:p")}` })
      expect(yield* headers({ token: "t", as: "jane" })).toEqual({
        authorization: "Bearer t",
        "impersonate-user": "jane"
      })
    })
  )

  effect("an exec plugin: it is told what is asked of it, and gives a token", () =>
    Effect.gen(function* () {
      const plugin = write(
        '#!/bin/sh\necho "{\\"status\\":{\\"token\\":\\"$GREETING-$(echo "$KUBERNETES_EXEC_INFO" | tr -dc a-zA-Z0-9.)\\"}}"\n',
        "bin/plugin"
      )
      chmodSync(plugin, 0o700)
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "./bin/plugin",
        env: [{ name: "GREETING", value: "hello" }]
      }
      const { headers } = yield* credentials(config({ user: { exec } }))
      expect(headers.authorization).toBe(
        "Bearer hello-apiVersionclient.authentication.k8s.iov1kindExecCredentialspecinteractivefalse"
      )
      const told = yield* credentials(config({ name: "told", user: { exec: { ...exec, provideClusterInfo: true } } }))
      expect(told.headers.authorization).toContain("clusterserverhttpstold6443")
    })
  )

  effect("an OpenID Connect token that is still valid", () =>
    Effect.gen(function* () {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
      const token = `${part({ alg: "none" })}.${part({ exp: 99_999_999_999 })}.x`
      const { headers } = yield* credentials(
        config({ user: { "auth-provider": { name: "oidc", config: { "id-token": token } } } })
      )
      expect(headers).toEqual({ authorization: `Bearer ${token}` })
    })
  )
})

describe("KubeConfig says in one line what is wrong, and where", () => {
  const cases: ReadonlyArray<readonly [string, () => Effect.Effect<unknown, KubeConfig.KubeConfigError>, string]> = [
    [
      "a file that is not there",
      () => load({ kubeconfig: join(folder, "missing") }),
      "kubeconfig DIR/missing (from --kubeconfig) does not exist"
    ],
    [
      "KUBECONFIG that names no file that is there",
      () => load({}, { KUBECONFIG: `${join(folder, "missing")}:${join(folder, "too")}` }),
      "kubeconfig DIR/missing, DIR/too (from KUBECONFIG) does not exist"
    ],
    ["a folder", () => load({ kubeconfig: folder }), "kubeconfig DIR (from --kubeconfig) cannot be read"],
    ["YAML that is none", () => loadText("clusters: [\n"), "kubeconfig DIR/FILE is not YAML: "],
    [
      "something else",
      () => loadText("hello: world\n"),
      "DIR/FILE is not a kubeconfig: it has no clusters, contexts or users"
    ],
    [
      "an empty file",
      () => loadText(""),
      "kubeconfig DIR/FILE has no current-context: name one with --context (there are none)"
    ],
    [
      "no current context",
      () => loadText(config({ current: "" })),
      "kubeconfig DIR/FILE has no current-context: name one with --context (there are main)"
    ],
    [
      "an unknown context",
      () => loadText(config({}), { context: "prod" }),
      'kubeconfig DIR/FILE has no context "prod" (there are main)'
    ],
    [
      "a current context that is not there",
      () => loadText(config({ current: "prod" })),
      'kubeconfig DIR/FILE has no context "prod" (its current-context; there are main)'
    ],
    [
      "a cluster that is not there",
      () => loadText(JSON.stringify({ contexts: [{ name: "c", context: { cluster: "x" } }], "current-context": "c" })),
      'context "c" of kubeconfig DIR/FILE names cluster "x", which is not there'
    ],
    [
      "a user that is not there",
      () =>
        loadText(
          JSON.stringify({
            clusters: [{ name: "x", cluster: { server: "https://x" } }],
            contexts: [{ name: "c", context: { cluster: "x", user: "u" } }],
            "current-context": "c"
          })
        ),
      'context "c" of kubeconfig DIR/FILE names user "u", which is not there'
    ],
    [
      "a cluster without a server",
      () => loadText(JSON.stringify({ clusters: [{ name: "x", cluster: {} }] })),
      "kubeconfig DIR/FILE: clusters[0].cluster.server is missing"
    ],
    [
      "a server that is no URL",
      () => loadText(config({ server: "ftp://x" })),
      'cluster "main" of DIR/FILE: server "ftp://x" is not a URL'
    ],
    [
      "an authority that is not there",
      () => loadText(config({ cluster: { "certificate-authority": "no.crt" } })),
      "certificate-authority of DIR/FILE: file DIR/no.crt does not exist"
    ],
    [
      "a certificate that is none",
      () =>
        loadText(
          config({ user: { "client-certificate-data": base64("hello"), "client-key-data": base64(client.key) } })
        ),
      "client-certificate-data of DIR/FILE is not in PEM format"
    ],
    [
      "a certificate without a key",
      () => loadText(config({ user: { "client-certificate-data": base64(client.certificate) } })),
      "client-certificate-data of DIR/FILE has no key"
    ],
    [
      "a token file that is not there",
      () => loadText(config({ user: { tokenFile: "no-token" } })),
      'tokenFile of user "main" of DIR/FILE: file DIR/no-token does not exist'
    ],
    [
      "a plugin that is not installed",
      () => loadText(config({ user: { exec: { command: "no-such-plugin" } } })),
      'exec plugin "no-such-plugin" of user "main" of DIR/FILE failed: '
    ],
    [
      "a plugin that fails",
      () => loadText(config({ user: { exec: { command: "sh", args: ["-c", "echo log in first >&2; exit 1"] } } })),
      'exec plugin "sh" of user "main" of DIR/FILE failed: log in first'
    ],
    [
      "an auth-provider that Kubernetes has dropped",
      () => loadText(config({ user: { "auth-provider": { name: "gcp" } } })),
      'user "main" of DIR/FILE: auth-provider gcp is not supported, use its exec plugin'
    ],
    [
      "an impersonation that we cannot do in full",
      () => loadText(config({ user: { token: "t", as: "jane", "as-groups": ["a"] } })),
      'user "main" of DIR/FILE: as-groups is not supported'
    ],
    [
      "no cluster anywhere",
      () => load({ serviceAccount: join(folder, "no-sa") }, { HOME: join(folder, "no-home") }),
      "no cluster: neither --kubeconfig nor KUBECONFIG is set, this is not a pod (KUBERNETES_SERVICE_HOST is not set), and DIR/no-home/.kube/config does not exist"
    ],
    [
      "a pod without a token",
      () => load({ serviceAccount: join(folder, "no-sa") }, { HOME: "", KUBERNETES_SERVICE_HOST: "10.0.0.1" }),
      "no cluster: neither --kubeconfig nor KUBECONFIG is set, the pod has no service account token (DIR/no-sa/token), and .kube/config does not exist"
    ]
  ]
  for (const [what, run, message] of cases) {
    effect(what, () =>
      Effect.gen(function* () {
        const said = yield* failureOf(run())
        expect(said).toStartWith(message)
        expect(said).not.toContain("\n")
      })
    )
  }
})

describe("Credentials", () => {
  const headersOf = (cluster: { readonly credentials: Effect.Effect<{ readonly headers: object }, unknown> }) =>
    Effect.map(cluster.credentials, (read) => read.headers)

  effect("a token that is replaced on disk is used within a minute", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("59 seconds")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer pod-token" })
      yield* TestClock.adjust("1 second")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer new-token" })
    })
  )

  effect("connections are kept while the certificates are the same, and only then", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      const { tls } = yield* cluster.credentials
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toBe(tls)
      writeFileSync(join(serviceAccount, "ca.crt"), `${ca}\n${ca}`)
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls).toMatchObject({ ca: `${ca}\n${ca}` })
    })
  )

  effect("what cannot be read for a moment stays in use as it was", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "h" })
      rmSync(join(serviceAccount, "token"))
      yield* TestClock.adjust("1 minute")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer pod-token" })
      writeFileSync(join(serviceAccount, "token"), "new-token")
      yield* TestClock.adjust("1 minute")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer new-token" })
    })
  )

  effect("a renewal reads the kubeconfig itself again, at most every five seconds", () =>
    Effect.gen(function* () {
      const user = (pair: Certificates.Pair) => ({
        "client-certificate-data": base64(pair.certificate),
        "client-key-data": base64(pair.key)
      })
      const kubeconfig = write(config({ user: user(client) }))
      const cluster = yield* load({ kubeconfig })
      writeFileSync(kubeconfig, config({ user: user(other) }))
      expect((yield* cluster.renew).tls.cert).toBe(client.certificate)
      yield* TestClock.adjust("5 seconds")
      expect((yield* cluster.credentials).tls.cert).toBe(client.certificate)
      expect((yield* cluster.renew).tls.cert).toBe(other.certificate)
      expect((yield* cluster.credentials).tls.cert).toBe(other.certificate)
    })
  )

  effect("an exec plugin runs once while its token holds, and again for a renewal", () =>
    Effect.gen(function* () {
      const log = join(folder, `runs-${++files}`)
      const script = `echo run >> ${log}; echo "{\\"status\\":{\\"token\\":\\"token-$(wc -l < ${log} | tr -d ' ')\\"}}"`
      const cluster = yield* loadText(config({ user: { exec: { command: "sh", args: ["-c", script] } } }))
      yield* TestClock.adjust("10 minutes")
      expect(yield* headersOf(cluster)).toEqual({ authorization: "Bearer token-1" })
      expect((yield* cluster.renew).headers).toEqual({ authorization: "Bearer token-1" })
      yield* TestClock.adjust("5 seconds")
      const renewed = yield* Effect.all([cluster.renew, cluster.renew, cluster.renew], { concurrency: "unbounded" })
      expect(renewed.map(({ headers }) => headers.authorization)).toEqual(
        Array.from({ length: 3 }, () => "Bearer token-2")
      )
    })
  )
})
