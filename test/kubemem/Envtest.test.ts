import { expect, test } from "bun:test"
import { mkdtempSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
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
  expect(missing.stderr).toStartWith("kube-apiserver: ignored flag: --x (kubemem supports authorization-mode, ")
  expect(missing.stderr).toContain("kubemem: cannot read /none: ENOENT")
})
