import { describe, expect } from "bun:test"
import { createPrivateKey } from "node:crypto"
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import { base64, config, load, make } from "./KubeConfig.fixture.ts"
import * as KubeConfig from "./KubeConfig.ts"

const { credentials, failureOf, folder, loadText, pki, places, write } = make()

describe("KubeConfig finds the cluster", () => {
  effect("by --kubeconfig, then KUBECONFIG, the service account of the pod and ~/.kube/config", () =>
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
      // Only files have contexts.
      expect(yield* where({ context: "home" }, { ...pod, HOME: home })).toEqual([
        "https://home:6443",
        expect.any(String)
      ])
    })
  )

  effect("of a pod with the token, the CA and the namespace of its service account", () =>
    Effect.gen(function* () {
      const { serviceAccount } = places()
      const cluster = yield* load(
        { serviceAccount },
        { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" }
      )
      expect(cluster).toMatchObject({ server: "https://[fd00::1]:6443", namespace: "pod-namespace" })
      const { headers, tls } = yield* cluster.credentials
      expect(headers).toMatchObject({ authorization: "Bearer pod-token" })
      // The pod's own authority signs the server's certificate.
      expect(tls).toEqual({
        ca: pki.ca,
        cert: undefined,
        key: undefined,
        serverName: undefined,
        insecure: false
      })
      const usual = yield* load({ serviceAccount }, { KUBERNETES_SERVICE_HOST: "10.0.0.1" })
      expect([usual.server, usual.proxy]).toEqual(["https://10.0.0.1:443", undefined])
    })
  )

  effect("in several merged files, of which the first with a name wins, and ignores missing files", () =>
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

describe("KubeConfig merges files as kubectl does", () => {
  const main = {
    clusters: [
      { name: "c", cluster: { server: "https://main" } },
      { name: "d", cluster: { server: "https://other" } }
    ],
    users: [{ name: "u", user: { token: "main" } }],
    contexts: [
      { name: "a", context: { cluster: "c", user: "u" } },
      { name: "b", context: { cluster: "d", namespace: "two" } }
    ],
    "current-context": "a"
  }
  for (const [what, first, expected] of [
    ["of which the first has only a current context", "current-context: b", ["https://other", "two"]],
    ["of which the first has only its kind", "apiVersion: v1\nkind: Config", ["https://main", undefined]],
    ["of which the first is a comment", "# empty", ["https://main", undefined]],
    ["of which the first has other fields", "preferences: {}\nhello: world", ["https://main", undefined]],
    ["of which the first has null lists", "clusters:\nusers: ~\ncontexts:", ["https://main", undefined]],
    ["with a key that occurs twice", "current-context: a\ncurrent-context: b", ["https://other", "two"]],
    ["with an empty current context", '{"current-context": ""}', ["https://main", undefined]],
    [
      "with invalid entries that are not used",
      JSON.stringify({
        clusters: [null, {}, { name: "x" }, { name: "y", cluster: {} }, { cluster: {} }],
        contexts: [{ name: "x" }, { name: "y", context: {} }],
        users: [{ name: "x" }, null]
      }),
      ["https://main", undefined]
    ],
    [
      "with another context of the same name",
      JSON.stringify({ contexts: [{ name: "a", context: { cluster: "d", namespace: "one" } }] }),
      ["https://other", "one"]
    ]
  ] as const) {
    effect(what, () =>
      Effect.gen(function* () {
        const KUBECONFIG = `${write(first)}:${write(JSON.stringify(main))}`
        const { namespace, server } = yield* load({}, { KUBECONFIG })
        expect([server, namespace]).toEqual([...expected])
      })
    )
  }

  effect("with paths relative to the file of each entry", () =>
    Effect.gen(function* () {
      write(pki.ca, "one/ca.crt")
      const one = write(
        JSON.stringify({
          clusters: [{ name: "c", cluster: { server: "https://one", "certificate-authority": "ca.crt" } }]
        }),
        "one/config"
      )
      write("secret", "two/token")
      const two = write(JSON.stringify({ ...main, users: [{ name: "u", user: { tokenFile: "token" } }] }), "two/config")
      const { headers, tls } = yield* Effect.flatMap(
        load({}, { KUBECONFIG: `${one}:${two}` }),
        (cluster) => cluster.credentials
      )
      expect([headers.authorization, tls.ca]).toEqual(["Bearer secret", pki.ca])
    })
  )
})

describe("KubeConfig reads", () => {
  effect("a client certificate and the CA, inline or in files relative to the kubeconfig", () =>
    Effect.gen(function* () {
      const inLine = yield* credentials(
        config({
          cluster: { "certificate-authority-data": base64(pki.ca) },
          user: { "client-certificate-data": base64(pki.client.certificate), "client-key-data": base64(pki.client.key) }
        })
      )
      write(pki.ca, "pki/ca.crt")
      write(pki.client.certificate, "pki/client.crt")
      write(pki.client.key, "pki/pki.client.key")
      const inFiles = yield* credentials(
        config({
          cluster: { "certificate-authority": "pki/ca.crt" },
          user: { "client-certificate": "pki/client.crt", "client-key": join(folder, "pki/pki.client.key") }
        })
      )
      expect(inLine.tls).toMatchObject({ ca: pki.ca, cert: pki.client.certificate, key: pki.client.key })
      expect(inFiles).toEqual(inLine)
      expect(inLine.headers).toEqual({})
    })
  )

  effect("tls-server-name, insecure-skip-tls-verify, proxy-url, the namespace, and a path in the server URL", () =>
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

  effect("no credentials for a server without TLS, except on loopback", () =>
    Effect.gen(function* () {
      const users: ReadonlyArray<object> = [
        { token: "t" },
        { username: "u", password: "p" },
        { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "false", interactiveMode: "Never" } }
      ]
      for (const user of users) {
        expect(yield* failureOf(loadText(config({ server: "http://10.0.0.7:8080", user })))).toBe(
          'context "main" of DIR/FILE (--kubeconfig): cannot send credentials to http://10.0.0.7:8080 without TLS (use https://, or a user without a token and password)'
        )
      }
      for (const [server, user] of [
        ["http://10.0.0.7:8080", {}],
        ["http://127.0.0.1:8001", { token: "t" }],
        ["http://[::1]:8001", { token: "t" }]
      ] as const) {
        expect(yield* loadText(config({ server, user }))).toMatchObject({ server })
      }
    })
  )

  effect("only the namespace, without credentials and without running a plugin", () =>
    Effect.gen(function* () {
      const ran = `${folder}/ran`
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "touch",
        args: [ran],
        interactiveMode: "Never"
      }
      for (const user of [{ exec }, { tokenFile: "none-there" }]) {
        const kubeconfig = write(config({ namespace: "team", user }))
        expect(yield* Effect.flip(load({ kubeconfig }))).toMatchObject({ _tag: "KubeConfigError" })
        rmSync(ran, { force: true })
        const namespace = KubeConfig.namespaceOf({ kubeconfig })
        expect(yield* Effect.provide(namespace, NodeFileSystem.layer)).toBe("team")
        expect(existsSync(ran)).toBe(false)
      }
      const missing = Effect.provide(KubeConfig.namespaceOf({ kubeconfig: `${folder}/none` }), NodeFileSystem.layer)
      expect(yield* failureOf(missing)).toBe("kubeconfig DIR/none (from --kubeconfig) does not exist")
    })
  )

  effect("a token, a token file, a username with a password, and the impersonated user", () =>
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
      const whole = { as: "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": { "Acme.com/Scope": ["a b"] } }
      expect(yield* headers({ token: "t", ...whole })).toEqual({
        authorization: "Bearer t",
        "impersonate-user": "jane",
        "impersonate-uid": "7",
        "impersonate-group": "dev",
        "impersonate-extra-acme.com%2Fscope": "a b"
      })
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

describe("KubeConfig reports an error in one line for", () => {
  const cases: ReadonlyArray<readonly [string, () => Effect.Effect<unknown, KubeConfig.KubeConfigError>, string]> = [
    [
      "a missing file",
      () => load({ kubeconfig: join(folder, "missing") }),
      "kubeconfig DIR/missing (from --kubeconfig) does not exist"
    ],
    [
      "KUBECONFIG with only missing files",
      () => load({}, { KUBECONFIG: `${join(folder, "missing")}:${join(folder, "too")}` }),
      "kubeconfig DIR/missing, DIR/too (from KUBECONFIG) does not exist"
    ],
    ["a folder", () => load({ kubeconfig: folder }), "kubeconfig DIR (from --kubeconfig) cannot be read"],
    ["invalid YAML", () => loadText("clusters: [\n"), "kubeconfig DIR/FILE is not YAML: "],
    [
      "another kind",
      () => loadText("apiVersion: v1\nkind: Pod\n"),
      "DIR/FILE is not a kubeconfig (it must be a mapping of kind Config in v1)"
    ],
    ["a text", () => loadText("hello\n"), "DIR/FILE is not a kubeconfig (it must be a mapping of kind Config in v1)"],
    ["a list", () => loadText("[]\n"), "DIR/FILE is not a kubeconfig (it must be a mapping of kind Config in v1)"],
    ["entries that are no list", () => loadText("clusters: {}\n"), "kubeconfig DIR/FILE: clusters must be a list"],
    [
      "a name that occurs twice in a list",
      () => loadText("users: [{name: a}, {name: a}]\n"),
      'kubeconfig DIR/FILE: duplicate name in users: "a"'
    ],
    [
      "something else",
      () => loadText("hello: world\n"),
      "kubeconfig DIR/FILE has no contexts (choose another file, or add one with kubectl config set-context)"
    ],
    [
      "an empty file",
      () => loadText(""),
      "kubeconfig DIR/FILE has no contexts (choose another file, or add one with kubectl config set-context)"
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
      "a missing current context",
      () => loadText(config({ current: "prod" })),
      'kubeconfig DIR/FILE has no context "prod" (its current-context; there are main)'
    ],
    [
      "a missing cluster",
      () => loadText(JSON.stringify({ contexts: [{ name: "c", context: { cluster: "x" } }], "current-context": "c" })),
      'context "c" of kubeconfig DIR/FILE names cluster "x", which is not there'
    ],
    [
      "a missing user",
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
      () =>
        loadText(
          JSON.stringify({
            clusters: [{ name: "x", cluster: {} }],
            contexts: [{ name: "c", context: { cluster: "x" } }],
            "current-context": "c"
          })
        ),
      'cluster "x" of kubeconfig DIR/FILE: cluster.server is missing'
    ],
    [
      "a context without a cluster",
      () => loadText(JSON.stringify({ contexts: [{ name: "c", context: {} }], "current-context": "c" })),
      'context "c" of kubeconfig DIR/FILE: context.cluster is missing'
    ],
    [
      "a server that is not a URL",
      () => loadText(config({ server: "ftp://x" })),
      'cluster "main" of DIR/FILE: server "ftp://x" is not a URL'
    ],
    [
      "a server with a password in its URL",
      () => loadText(config({ server: "https://me:hunter2@x:6443" })),
      'cluster "main" of DIR/FILE: server "https://x:6443" has a user in it: put username and password where the user is'
    ],
    [
      "a missing CA file",
      () => loadText(config({ cluster: { "certificate-authority": "no.crt" } })),
      "certificate-authority of DIR/FILE: file DIR/no.crt does not exist"
    ],
    [
      "an invalid certificate",
      () =>
        loadText(
          config({ user: { "client-certificate-data": base64("hello"), "client-key-data": base64(pki.client.key) } })
        ),
      "client-certificate-data of DIR/FILE is not in PEM format"
    ],
    [
      "an encrypted key",
      () =>
        loadText(
          config({
            user: {
              "client-certificate-data": base64(pki.client.certificate),
              "client-key-data": base64(
                createPrivateKey(pki.client.key)
                  .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" })
                  .toString()
              )
            }
          })
        ),
      "client-key-data of DIR/FILE is encrypted (not supported: store it without a passphrase)"
    ],
    [
      "a certificate without a key",
      () => loadText(config({ user: { "client-certificate-data": base64(pki.client.certificate) } })),
      "client-certificate-data of DIR/FILE has no key"
    ],
    [
      "a missing token file",
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
      "an unsupported auth-provider",
      () => loadText(config({ user: { "auth-provider": { name: "gcp" } } })),
      'user "main" of DIR/FILE: auth-provider gcp is not supported, use its exec plugin'
    ],
    [
      "a certificate with the key of another one",
      () =>
        loadText(
          config({
            user: {
              "client-certificate-data": base64(pki.client.certificate),
              "client-key-data": base64(pki.other.key)
            }
          })
        ),
      "client-certificate-data of DIR/FILE and client-key-data of DIR/FILE do not belong together"
    ],
    [
      "impersonated groups without a user",
      () => loadText(config({ user: { token: "t", "as-groups": ["a"] } })),
      'user "main" of DIR/FILE: as-uid, as-groups and as-user-extra need an `as`'
    ],
    [
      "several groups to act in, which would become one",
      () => loadText(config({ user: { token: "t", as: "jane", "as-groups": ["a", "b"] } })),
      'user "main" of DIR/FILE: more than one entry of as-groups is not supported'
    ],
    [
      "several values of an extra, which would become one",
      () => loadText(config({ user: { token: "t", as: "jane", "as-user-extra": { scopes: ["a", "b"] } } })),
      'user "main" of DIR/FILE: more than one value of as-user-extra scopes is not supported'
    ],
    [
      "an unsupported proxy, without its password",
      () => loadText(config({ cluster: { "proxy-url": "socks5://me:secret@proxy:1080" } })),
      'cluster "main" of DIR/FILE: proxy-url "socks5://proxy:1080" is not an http:// or https:// URL'
    ],
    [
      "an OpenID Connect token that has expired and cannot be refreshed",
      () => {
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
        const token = `${part({ alg: "none" })}.${part({ exp: 1 })}.x`
        return loadText(config({ user: { "auth-provider": { name: "oidc", config: { "id-token": token } } } }))
      },
      'OpenID Connect of user "main" of DIR/FILE failed: the id-token has expired and has no refresh-token'
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
        const failure = yield* failureOf(run())
        expect(failure).toStartWith(message)
        expect(failure).not.toContain("\n")
      })
    )
  }
})
