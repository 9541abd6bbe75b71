import { describe, expect } from "bun:test"
import { chmodSync, existsSync, readFileSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { base64, config, make } from "./KubeConfig.fixture.ts"

const { credentials, failureOf, folder, loadText, pki, write } = make()

/** A kubeconfig with a user whose credentials a shell script prints. */
const scripted = (script: string, exec: object = {}) =>
  config({ user: { exec: { command: "sh", args: ["-c", script], ...exec } } })

/** A script that prints a status, as JSON. */
const printing = (status: object | string) =>
  `cat <<END\n${typeof status === "string" ? status : JSON.stringify({ status })}\nEND\n`

/** A script that counts its runs in a file, and prints the count as a token that expires at `expires`. */
const counting = (name: string, expires?: number) =>
  `echo run >> ${join(folder, name)}; echo "{\\"status\\":{\\"token\\":\\"token-$(wc -l < ${join(folder, name)} | tr -d ' ')\\"${
    expires === undefined ? "" : `,\\"expirationTimestamp\\":\\"${new Date(expires).toISOString()}\\"`
  }}}"`

const tokenOf = (cluster: Effect.Success<ReturnType<typeof loadText>>) =>
  Effect.map(cluster.credentials, ({ headers }) => headers.authorization)

/** Waits in real time, because programs run in real time. After the timeout it dies with the name of the condition. */
const real = (what: string, seconds: number, condition: () => boolean) =>
  Effect.promise(async () => {
    const end = performance.now() + seconds * 1000
    while (!condition()) {
      if (performance.now() > end) throw new Error(`${what} did not happen within ${seconds} s`)
      await Bun.sleep(5)
    }
  })

/** True if a program runs. A killed one stays in state Z until the init process reaps it, which may take seconds. */
const alive = (pid: number): boolean => {
  const stat = `/proc/${pid}/stat`
  try {
    process.kill(pid, 0)
    return !existsSync(stat) || !readFileSync(stat, "utf8").includes(") Z ")
  } catch {
    return false
  }
}

describe("An exec plugin", () => {
  effect("gets KUBERNETES_EXEC_INFO, and returns a token", () =>
    Effect.gen(function* () {
      const infoFile = join(folder, "info")
      const plugin = write(
        `#!/bin/sh\nprintf %s "$KUBERNETES_EXEC_INFO" > ${infoFile}\n${printing({ token: "$GREETING-$1" })}`,
        "bin/plugin"
      )
      chmodSync(plugin, 0o700)
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1beta1",
        command: "./bin/plugin",
        args: ["world"],
        env: [{ name: "GREETING", value: "hello" }]
      }
      const info = (): unknown => JSON.parse(readFileSync(infoFile, "utf8"))
      const asked = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } }

      const { headers } = yield* credentials(config({ user: { exec } }))
      expect(headers).toEqual({ authorization: "Bearer hello-world" })
      expect(info()).toEqual(asked)

      write(pki.ca, "exec-ca.crt")
      const cluster = {
        "certificate-authority": "exec-ca.crt",
        "tls-server-name": "kube",
        "proxy-url": "http://proxy:3128",
        extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "me" } }]
      }
      yield* credentials(config({ cluster, user: { exec: { ...exec, provideClusterInfo: true } } }))
      expect(info()).toEqual({
        ...asked,
        spec: {
          interactive: false,
          cluster: {
            server: "https://main:6443",
            "tls-server-name": "kube",
            "certificate-authority-data": base64(pki.ca),
            "proxy-url": "http://proxy:3128",
            config: { audience: "me" }
          }
        }
      })
    })
  )

  effect("returns a certificate", () =>
    Effect.gen(function* () {
      const status = { clientCertificateData: pki.client.certificate, clientKeyData: pki.client.key }
      const { headers, tls } = yield* credentials(scripted(printing({ ...status })))
      expect(tls).toMatchObject({ cert: pki.client.certificate, key: pki.client.key })
      expect(headers).toEqual({})
    })
  )

  effect("runs once while its token is valid, and once per renewal, for all callers", () =>
    Effect.gen(function* () {
      const cluster = yield* loadText(scripted(counting("runs")))
      yield* TestClock.adjust("10 minutes")
      expect(yield* tokenOf(cluster)).toBe("Bearer token-1")
      const renewed = yield* Effect.all([cluster.renew, cluster.renew, cluster.renew], { concurrency: "unbounded" })
      expect(renewed.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill("Bearer token-2"))
      yield* TestClock.adjust("4 seconds")
      expect((yield* cluster.renew).headers).toEqual({ authorization: "Bearer token-2" })
    })
  )

  effect("runs again when its token has expired, once for all callers", () =>
    Effect.gen(function* () {
      const cluster = yield* loadText(scripted(counting("expiring", 90_000)))
      yield* TestClock.adjust("89 seconds")
      expect(yield* tokenOf(cluster)).toBe("Bearer token-1")
      yield* TestClock.adjust("6 seconds")
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => tokenOf(cluster)),
        { concurrency: "unbounded" }
      )
      expect(all).toEqual(Array(20).fill("Bearer token-2"))
      // It prints the same time again, which has expired: one run per five seconds is enough.
      yield* TestClock.adjust("4 seconds")
      expect(yield* tokenOf(cluster)).toBe("Bearer token-2")
      yield* TestClock.adjust("1 second")
      expect(yield* tokenOf(cluster)).toBe("Bearer token-3")
    })
  )

  effect("that fails leaves the last credentials in use", () =>
    Effect.gen(function* () {
      const file = write("{}")
      const cluster = yield* loadText(scripted(`test -f ${file} || exit 1; ${printing({ token: "first" })}`))
      unlinkSync(file)
      expect((yield* cluster.renew).headers).toEqual({ authorization: "Bearer first" })
    })
  )

  for (const where of ["", ", even in an uninterruptible fiber"]) {
    effect(`that hangs is killed after 30 seconds with its children${where}`, () =>
      Effect.gen(function* () {
        const file = join(folder, `pid${where.length}`)
        const load = failureOf(loadText(scripted(`sleep 600 & echo $! > ${file}; wait`)))
        const loading = yield* Effect.forkChild(where === "" ? load : Effect.uninterruptible(load))
        yield* real("the start of the plugin", 20, () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"))
        yield* TestClock.adjust("30 seconds")
        expect(yield* Fiber.join(loading)).toBe(
          'exec plugin "sh" of user "main" of DIR/FILE did not finish within 30 s'
        )
        yield* real("the end of what the plugin started", 3, () => !alive(Number(readFileSync(file, "utf8"))))
      })
    )
  }
})

describe("The error has one line for an exec plugin", () => {
  const cases: ReadonlyArray<readonly [string, string, string]> = [
    ["that does not exist", config({ user: { exec: { command: "no-such-plugin" } } }), "failed: "],
    [
      "that does not exist, with the hint of the kubeconfig",
      config({ user: { exec: { command: "./no-such", installHint: "get it from example.com\n" } } }),
      /failed: .*\(get it from example.com\)$/.source
    ],
    ["that fails", scripted("echo log in first >&2; echo trace >&2; exit 1"), "failed: log in first$"],
    ["that fails without a message", scripted("exit 3"), "failed: exit code 3, no message$"],
    [
      "without a command",
      config({ user: { exec: {} } }),
      '^exec plugin "" .* failed: the kubeconfig names no command$'
    ],
    [
      "that requires a terminal",
      scripted(printing({ token: "t" }), { interactiveMode: "Always" }),
      "failed: it wants a terminal \\(interactiveMode: Always\\)$"
    ],
    ["that prints more than 1 MiB", scripted("yes"), "printed more than 1 MiB$"],
    ["that prints no ExecCredential", scripted("echo hello"), "did not print an ExecCredential$"],
    ["that prints no credentials", scripted(printing({})), "printed neither a token nor a certificate$"],
    [
      "that prints a certificate without a key",
      scripted(printing({ token: "t", clientCertificateData: "x" })),
      "printed a certificate without a key, or a key alone$"
    ],
    [
      "that prints another version",
      scripted(printing('{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential"}')),
      "printed client.authentication.k8s.io/v1beta1 ExecCredential, not the client.authentication.k8s.io/v1 ExecCredential that it was asked for$"
    ],
    [
      "with an invalid expirationTimestamp",
      scripted(printing({ token: "t", expirationTimestamp: "soon" })),
      "printed expirationTimestamp soon, which is not a time$"
    ]
  ]
  for (const [what, text, message] of cases) {
    effect(what, () =>
      Effect.gen(function* () {
        const failure = yield* failureOf(loadText(text))
        expect(failure).toStartWith("exec plugin ")
        expect(failure).toContain(' of user "main" of DIR/FILE ')
        expect(failure).toMatch(new RegExp(message))
        expect(failure).not.toContain("\n")
      })
    )
  }
})
