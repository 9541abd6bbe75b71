import { describe, expect, test } from "bun:test"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as MetricsPort from "./MetricsPort.ts"

const address = (port: number, hostname?: string) => ({ hostname, port })

const settings = (change: Partial<MetricsPort.Settings> = {}): MetricsPort.Settings => ({
  metricsSecure: true,
  metricsCertDir: undefined,
  metricsAddress: address(8080),
  probesAddress: address(8081),
  ...change
})

const refusalOf = (change: Partial<MetricsPort.Settings>) =>
  Result.match(MetricsPort.check(settings(change)), { onFailure: ({ message }) => message, onSuccess: () => "" })

describe("secure metrics", () => {
  test("have their own port", () => {
    const shared = { metricsAddress: address(8080), probesAddress: address(8080) }
    expect(refusalOf(shared)).toBe(
      "--metrics-secure: kubelet probes without TLS, so --metrics-bind-address and --health-probe-bind-address can't both be :8080"
    )
    expect(refusalOf({ ...shared, metricsSecure: false })).toBe("")
    expect(refusalOf({ metricsAddress: address(0), probesAddress: address(0) })).toBe("")
    expect(refusalOf({ metricsAddress: address(8080, "a"), probesAddress: address(8080, "b") })).toBe("")
    for (const off of ["metricsAddress", "probesAddress"]) expect(refusalOf({ ...shared, [off]: undefined })).toBe("")
  })

  test("use a folder of certificates", () => {
    expect(refusalOf({ metricsSecure: false, metricsCertDir: "/certs" })).toBe(
      "--metrics-secure: required with --metrics-cert-dir"
    )
    expect(refusalOf({ metricsCertDir: "/certs" })).toBe("")
  })

  effect("need a certificate, and the error names the flag if it is missing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(MetricsPort.certificatesOf(settings({ metricsCertDir: "/nowhere" })))
      expect(error.message).toBe("--metrics-cert-dir: /nowhere/tls.crt does not exist")
      const own = yield* MetricsPort.certificatesOf(settings())
      expect(own?.first.certificate).toContain("BEGIN CERTIFICATE")
      for (const change of [{ metricsSecure: false }, { metricsAddress: undefined }]) {
        expect(yield* MetricsPort.certificatesOf(settings(change))).toBeUndefined()
      }
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
