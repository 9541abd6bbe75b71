/**
 * TLS with a collector over gRPC, by OpenTelemetry's variables. The SDK's own credentials send an IP address as server name, which TLS
 * forbids, and do not know `SSL_CERT_FILE`.
 */
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import type { ChannelCredentials } from "@grpc/grpc-js"
import type { Environment } from "./TraceSettings.ts"

/** The value of a variable for traces, or else for all signals. */
const settingOf = (environment: Environment, name: string): string | undefined =>
  environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() ||
  environment[`OTEL_EXPORTER_OTLP_${name}`]?.trim() ||
  undefined

/** Removes the server name from the options of a connection to an IP address. The address in the certificate is still verified. */
const withoutAddress = <A extends object>(connector: A): A => {
  const options: unknown = Reflect.get(connector, "connectionOptions")
  if (typeof options === "object" && options !== null && isIP(String(Reflect.get(options, "servername"))) !== 0) {
    Reflect.deleteProperty(options, "servername")
  }
  return connector
}

/**
 * The credentials for the endpoint; undefined for one without TLS.
 *
 * @param warn reports a file that cannot be read
 */
export const of = (environment: Environment, warn: (message: string) => void): ChannelCredentials | undefined => {
  const endpoint = settingOf(environment, "ENDPOINT") ?? "http://localhost:4317"
  const isPlain = settingOf(environment, "INSECURE")?.toLowerCase() === "true"
  if (endpoint.startsWith("http://") || (isPlain && !endpoint.startsWith("https://"))) return undefined
  const read = (path: string | undefined): Buffer | null => {
    try {
      return path === undefined ? null : readFileSync(path)
    } catch (error) {
      warn(`cannot read the file of the certificate or key: ${error instanceof Error ? error.message : error}`)
      return null
    }
  }
  const roots = read(settingOf(environment, "CERTIFICATE") ?? (environment.SSL_CERT_FILE || undefined))
  const [key, certificate] = [
    read(settingOf(environment, "CLIENT_KEY")),
    read(settingOf(environment, "CLIENT_CERTIFICATE"))
  ]
  if ((key === null) !== (certificate === null)) warn("a client certificate and its key are only used together")
  const isPair = key !== null && certificate !== null
  // Bun's bundler finds this package only in its CommonJS form.
  const { credentials }: typeof import("@grpc/grpc-js") = require("@grpc/grpc-js")
  const made = credentials.createSsl(roots, isPair ? key : null, isPair ? certificate : null)
  const connectorOf = made._createSecureConnector.bind(made)
  made._createSecureConnector = (...connection) => withoutAddress(connectorOf(...connection))
  return made
}
