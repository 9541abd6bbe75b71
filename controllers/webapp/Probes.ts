/** The probes of a WebApp's container: their fields in the spec, and the probes of the pod that follow from them. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

const portNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

const port = Schema.optionalKey(portNumber).annotate({
  description: "The port to connect to; spec.port by default."
})

const seconds = (least: number, description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: least, maximum: 86_400 }))).annotate({
    description
  })

const count = (description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))).annotate({
    description
  })

const handlers = {
  http: Schema.optionalKey(
    Schema.Struct({
      path: Schema.String.check(Schema.isMaxLength(1024), Schema.isPattern(/^\//)).annotate({
        description: "The path of the request, such as /healthz. An answer from 200 to 399 is a success."
      }),
      port,
      scheme: Schema.optionalKey(Schema.Literals(["HTTP", "HTTPS"])).annotate({
        description: "HTTP by default. HTTPS does not check the certificate."
      })
    })
  ).annotate({ description: "An HTTP GET request." }),
  tcp: Schema.optionalKey(Schema.Struct({ port })).annotate({
    description: "A TCP connection, which must open."
  }),
  command: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isMaxLength(4096))).check(Schema.isMinLength(1), Schema.isMaxLength(50))
  ).annotate({ description: "A command in the container, which must exit with 0." })
}

const timing = {
  initialDelaySeconds: seconds(0, "Seconds from the start of the container to the first attempt."),
  periodSeconds: seconds(1, "Seconds between two attempts."),
  timeoutSeconds: seconds(1, "Seconds after which an attempt fails."),
  failureThreshold: count("Failures in a row until the probe fails.")
}

const oneOf = (...names: ReadonlyArray<string>) =>
  Field.rule({
    rule: `[${names.map((name) => `has(self.${name})`).join(", ")}].exists_one(each, each)`,
    message: `set exactly one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
  })

const Probe = Schema.Struct({ ...handlers, ...timing }).pipe(oneOf("http", "tcp", "command"))

const Readiness = Schema.Struct({
  ...handlers,
  none: Schema.optionalKey(Schema.Struct({})).annotate({
    description: "No readiness probe: a pod is ready as soon as its container runs."
  }),
  ...timing,
  successThreshold: count("Successes in a row until the pod is ready.")
}).pipe(oneOf("http", "tcp", "command", "none"))

/** The probes that a WebApp can have. */
export const Probes = Schema.Struct({
  readiness: Schema.optionalKey(Readiness).annotate({
    description: "A pod gets requests while this probe succeeds. Without it, a TCP connection to spec.port must open."
  }),
  liveness: Schema.optionalKey(Probe).annotate({
    description: "The kubelet restarts the container when this probe fails."
  }),
  startup: Schema.optionalKey(Probe).annotate({
    description:
      "The other probes wait until this probe has succeeded once. The kubelet restarts the container when it fails."
  })
})

type Spec = typeof Probes.Type
type Container = NonNullable<Pod["spec"]>["containers"][number]
type PodProbe = NonNullable<Container["readinessProbe"]>

/**
 * With every field that the API server would default: the controller owns a probe as a whole, so that a field of another manager does
 * not change it.
 */
const probeOf = (probe: NonNullable<Spec["readiness"]>, port: number): PodProbe => {
  const { command, http, initialDelaySeconds, none: _, tcp, ...times } = probe
  const handler: PodProbe =
    http !== undefined
      ? { httpGet: { path: http.path, port: http.port ?? port, scheme: http.scheme ?? "HTTP" } }
      : command !== undefined
        ? { exec: { command } }
        : { tcpSocket: { port: tcp?.port ?? port } }
  return {
    ...handler,
    // The API server drops 0.
    ...(initialDelaySeconds ? { initialDelaySeconds } : {}),
    ...complete(times)
  }
}

/** The times of a probe, with the defaults of the API server. */
export const complete = <P extends Partial<PodProbe>>(probe: P) => ({
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
  ...probe
})

/**
 * The readiness probe of a WebApp without one: a pod is ready at most two seconds after its container listens, and no longer ready six
 * seconds after the container stopped to listen.
 */
export const standard = (port: number): PodProbe => ({
  tcpSocket: { port },
  periodSeconds: 2,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3
})

const noProbes: { readonly [K in "readinessProbe" | "livenessProbe" | "startupProbe"]?: PodProbe | undefined } = {}

/**
 * The probes of the container that the spec asks for.
 *
 * @param port the port of a probe without a port
 */
export const ofContainer = (probes: Spec | undefined, port: number): typeof noProbes => {
  if (probes === undefined) return noProbes
  const { liveness, readiness, startup } = probes
  return {
    readinessProbe: readiness && readiness.none === undefined ? probeOf(readiness, port) : undefined,
    livenessProbe: liveness && probeOf(liveness, port),
    startupProbe: startup && probeOf(startup, port)
  }
}

/** The attempt of a probe as a phrase for a status: `GET /healthz on port 8080 does not succeed`. */
export const failureOf = ({ exec, grpc, httpGet, tcpSocket }: PodProbe): string => {
  if (httpGet !== undefined) return `GET ${httpGet.path ?? "/"} on port ${httpGet.port} does not succeed`
  if (tcpSocket !== undefined) return `nothing accepts connections on port ${tcpSocket.port}`
  if (grpc !== undefined) return `the gRPC health check on port ${grpc.port} does not succeed`
  return `the command ${exec?.command?.join(" ") ?? ""} does not succeed`
}
