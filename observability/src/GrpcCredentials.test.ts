/** Both protocols of OTLP reach a collector over TLS: by its address and by its name, with the CA of each variable. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Server from "@grpc/grpc-js"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as OpenTelemetry from "./OpenTelemetry.ts"
import { defaultBatch, type Protocol } from "./TraceSettings.ts"

const folder = mkdtempSync(join(tmpdir(), "homeostat-otlp-"))
const [ca, other, clientCertificate, clientKey] = ["ca", "other", "certificate", "key"].map((name) =>
  join(folder, name)
)
const ports: { [protocol in "grpc" | "http/protobuf" | "mutual"]?: number } = {}
const stops: Array<() => unknown> = []

const grpc = (certificate: string, key: string, clientCa?: string | undefined): Promise<number> => {
  const server = new Server.Server()
  const path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
  const raw = (bytes: Buffer) => bytes
  server.addService(
    {
      export: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: raw,
        requestDeserialize: raw,
        responseSerialize: raw,
        responseDeserialize: raw
      }
    },
    { export: (_: unknown, answer: (error: null, bytes: Buffer) => void) => answer(null, Buffer.alloc(0)) }
  )
  stops.push(() => server.forceShutdown())
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) }
  const credentials = Server.ServerCredentials.createSsl(
    clientCa === undefined ? null : Buffer.from(clientCa),
    [pair],
    clientCa !== undefined
  )
  return new Promise((resolve, reject) => {
    server.bindAsync("0.0.0.0:0", credentials, (error, port) => (error === null ? resolve(port) : reject(error)))
  })
}

beforeAll(async () => {
  const authority = await Effect.runPromise(Certificates.authority)
  const stranger = await Effect.runPromise(Certificates.authority)
  const { certificate, key } = await Effect.runPromise(authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] }))
  const client = await Effect.runPromise(authority.client("manager", []))
  writeFileSync(ca ?? "", authority.certificate)
  writeFileSync(other ?? "", stranger.certificate)
  writeFileSync(clientCertificate ?? "", client.certificate)
  writeFileSync(clientKey ?? "", client.key)
  const http = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: certificate, key },
    fetch: () => new Response()
  })
  stops.push(() => http.stop(true))
  ports["http/protobuf"] = Number(http.url.port)
  ports.grpc = await grpc(certificate, key)
  ports.mutual = await grpc(certificate, key, authority.certificate)
})

const variables = { ...process.env }
afterEach(() => {
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name]
})
afterAll(() => {
  for (const stop of stops) stop()
  rmSync(folder, { recursive: true })
})

/** Exports a span. Returns the number of exported spans, or the error. */
const exported = async (protocol: Protocol, environment: Record<string, string>): Promise<unknown> => {
  // The SDK reads the environment of the process.
  Object.assign(process.env, environment)
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const pipeline = OpenTelemetry.open({
    settings: {
      exporters: ["otlp"],
      protocol,
      ratio: 1,
      parentBased: false,
      batch: { ...defaultBatch, scheduledDelayMillis: 1, exportTimeoutMillis: 1000 }
    },
    environment,
    resource: { "service.name": "homeostat" },
    reports: { exported: resolve, failed: (_, error) => resolve(error?.message ?? "failed"), warned: resolve }
  })
  const root = Recording.root("reconcile widgets", { startTime: 1n })
  root.end(2n, Exit.void)
  pipeline.write(root.recording)
  const result = await promise
  await pipeline.shutdown().catch(() => {})
  return result
}

for (const [protocol, host, environment, result] of [
  ["grpc", "127.0.0.1", { OTEL_EXPORTER_OTLP_CERTIFICATE: ca }, 1],
  ["grpc", "127.0.0.1", { OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: ca, OTEL_EXPORTER_OTLP_CERTIFICATE: other }, 1],
  ["grpc", "127.0.0.1", { SSL_CERT_FILE: ca }, 1],
  ["grpc", "localhost", { SSL_CERT_FILE: ca }, 1],
  ["grpc", "localhost", { OTEL_EXPORTER_OTLP_CERTIFICATE: ca, SSL_CERT_FILE: other }, 1],
  ["grpc", "127.0.0.1", { SSL_CERT_FILE: other }, expect.stringContaining("UNAVAILABLE")],
  ["grpc", "127.0.0.2", { SSL_CERT_FILE: ca }, expect.stringContaining("UNAVAILABLE")],
  ["grpc", "127.0.0.1", { SSL_CERT_FILE: "/none" }, expect.stringMatching(/^cannot read .*\/none/)],
  [
    "mutual",
    "127.0.0.1",
    {
      SSL_CERT_FILE: ca,
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: clientCertificate,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: clientKey
    },
    1
  ],
  ["mutual", "localhost", { SSL_CERT_FILE: ca }, expect.any(String)],
  ["http/protobuf", "127.0.0.1", { OTEL_EXPORTER_OTLP_CERTIFICATE: ca }, 1],
  ["http/protobuf", "localhost", { OTEL_EXPORTER_OTLP_CERTIFICATE: ca }, 1]
] as const) {
  const names = Object.entries(environment).map(([name, file]) => `${name}=${String(file).replace(folder, "")}`)
  test(`OTLP over TLS: ${protocol} to ${host} with ${names.join(" ")}`, async () => {
    expect(
      await exported(protocol === "mutual" ? "grpc" : protocol, {
        OTEL_EXPORTER_OTLP_ENDPOINT: `https://${host}:${ports[protocol]}`,
        OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
        ...Object.fromEntries(Object.entries(environment).map(([name, file]) => [name, String(file)]))
      })
    ).toEqual(result)
  })
}
