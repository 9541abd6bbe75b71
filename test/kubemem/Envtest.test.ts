import { expect, test } from "bun:test"
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { live } from "@homeostat/testkit/Test"
import { Effect, Schedule } from "effect"
import * as Envtest from "./Envtest.ts"

test("The programs for envtest read flags with = and with a space, and the last value counts", () => {
  const flags = Envtest.flagsOf([
    ...["--secure-port=1", "--cert-dir", "/certs", "--allow-privileged", "--authorization-mode", "RBAC"],
    ...["-v=2", "--secure-port=2", "--etcd-servers=http://a=b", "--bind-address="]
  ])
  expect(Object.fromEntries(flags)).toEqual({
    "secure-port": "2",
    "cert-dir": "/certs",
    "allow-privileged": "true",
    "authorization-mode": "RBAC",
    v: "2",
    "etcd-servers": "http://a=b",
    "bind-address": ""
  })
})

const kubemem = (...args: ReadonlyArray<string>) => {
  const { exitCode, stderr, stdout } = Bun.spawnSync([process.execPath, join(import.meta.dir, "main.ts"), ...args])
  return { exitCode, stderr: stderr.toString(), stdout: stdout.toString() }
}

test("envtest writes two executables, whose help lists no flags of a real control plane", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "it's ")), "assets")
  expect(kubemem("envtest", "--dir", folder)).toEqual({ exitCode: 0, stderr: "", stdout: `${folder}\n` })
  for (const name of ["etcd", "kube-apiserver"]) {
    const path = join(folder, name)
    expect(statSync(path).mode & 0o777).toBe(0o755)
    expect(readFileSync(path, "utf8")).toStartWith("#!/bin/sh\n")
    const { exitCode, stdout } = Bun.spawnSync([path, "--help"])
    expect(exitCode).toBe(0)
    expect(stdout.toString()).not.toMatch(/--(insecure-port|unsafe-no-fsync)/)
  }
})

test("A wrong flag of the programs causes one line with the accepted values", () => {
  expect(kubemem("etcd", "--listen-client-urls=nonsense")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: 'kubemem: --listen-client-urls: invalid value: "nonsense" (must be a URL)\n'
  })
  expect(kubemem("kube-apiserver", "--secure-port=x").stderr).toBe(
    'kubemem: --secure-port: invalid value: "x" (must be a whole number from 0 to 65535)\n'
  )
  const missing = kubemem(
    "kube-apiserver",
    "--secure-port=0",
    "--bind-address=127.0.0.1",
    "--tls-cert-file=/none",
    "--x"
  )
  expect(missing.exitCode).toBe(1)
  expect(missing.stderr).toStartWith(
    "kube-apiserver: ignored flag: --x (kubemem supports anonymous-auth, authorization-mode, "
  )
  expect(missing.stderr).toContain("kubemem: cannot read /none: ENOENT")
})

/** The status of a request for Secrets, which needs permissions; undefined without a connection. */
const statusOf = (url: string, init?: BunFetchRequestInit): Effect.Effect<number, string> =>
  Effect.tryPromise({
    try: async () => (await fetch(`${url}/api/v1/secrets`, { keepalive: false, ...init })).status,
    catch: String
  })

for (const [flags, anonymous, user] of [
  [[], 401, 200],
  [["--authorization-mode=AlwaysAllow"], 401, 200],
  [["--authorization-mode=AlwaysAllow", "--anonymous-auth=true"], 401, 200],
  [["--authorization-mode=RBAC"], 403, 403],
  [["--authorization-mode=Node,RBAC", "--anonymous-auth=false"], 401, 403]
] as const) {
  live(`The kube-apiserver for envtest authenticates users: ${flags.join(" ") || "no flags"}`, () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const authority = yield* Certificates.authority
      const client = yield* authority.client("ann", [])
      writeFileSync(join(folder, "ca"), authority.certificate)
      writeFileSync(join(folder, "tokens"), "secret,ann,1")
      const port = yield* Port.free
      yield* Effect.forkScoped(
        Envtest.apiServer(
          Envtest.flagsOf([
            `--secure-port=${port}`,
            `--cert-dir=${folder}`,
            `--client-ca-file=${join(folder, "ca")}`,
            `--token-auth-file=${join(folder, "tokens")}`,
            ...flags
          ])
        )
      )
      const tls = { rejectUnauthorized: false }
      const url = `https://127.0.0.1:${port}`
      const first = yield* Effect.retry(statusOf(url, { tls }), { schedule: Schedule.spaced("5 millis"), times: 400 })
      const asked = [
        ...["Basic eDp5", "Bearer", "Bearer ", "secret"].map((authorization) => ({ tls, headers: { authorization } })),
        { tls, headers: { authorization: "Bearer other" } },
        { tls, headers: { authorization: "Bearer secret" } },
        { tls: { ...tls, cert: client.certificate, key: client.key } }
      ]
      const statuses = yield* Effect.forEach(asked, (init) => statusOf(url, init))
      const expected = [anonymous, anonymous, anonymous, anonymous, anonymous, 401, user, user]
      expect([first, ...statuses]).toEqual(expected)
      // All of 127.0.0.0/8 is this machine, as is an address of the network.
      const elsewhere = yield* Effect.flip(statusOf(`https://127.0.0.2:${port}`, { tls }))
      expect(elsewhere).toContain("Unable to connect")
    })
  )
}
