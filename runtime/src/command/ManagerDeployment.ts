/** The Deployment of a manager and the Service for its metrics, for `manifests --image`. */
import * as Result from "effect/Result"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Flag from "./Flag.ts"
import * as Rbac from "./Rbac.ts"
import * as Webhooks from "./Webhooks.ts"

/** Repeated, because values may contain commas. */
const environment: Flag.Flag<ReadonlyArray<readonly [name: string, value: string]>> = {
  name: "env",
  placeholder: "NAME=VALUE",
  description: "An environment variable of the Deployment; can be repeated",
  read: (given) =>
    Result.all(
      given.map((text) => {
        const [, name, value = ""] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? []
        return name === undefined
          ? Result.fail(`invalid environment variable: "${text}" (write it like NAME=VALUE)`)
          : Result.succeed([name, value] as const)
      })
    )
}

/** The flags. */
export const flags = {
  image: Flag.parsed("image", {
    placeholder: "IMAGE",
    description: "Also print a Deployment with this image, whose entrypoint is the program, and a Service for metrics",
    parse: (text) =>
      /^\S+$/.test(text)
        ? Result.succeed(text)
        : Result.fail(`invalid image: "${text}" (write it like registry.example.com/name:tag)`),
    otherwise: undefined
  }),
  environment
} as const

const probe = (path: string, periodSeconds: number, timeoutSeconds: number) => ({
  httpGet: { path, port: "probes" },
  periodSeconds,
  timeoutSeconds,
  failureThreshold: 3
})

const labelsOf = (program: Rbac.Program) => ({
  "app.kubernetes.io/name": program.name,
  "app.kubernetes.io/component": "manager"
})

/** The Service for the metrics, as in `deploy/base`. Prometheus scrapes each pod, also one that is not ready. */
export const service = (program: Rbac.Program, { serviceAccount: { namespace } }: Rbac.Settings): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `${program.name}-metrics`, namespace, labels: labelsOf(program) },
  spec: {
    clusterIP: "None",
    publishNotReadyAddresses: true,
    selector: labelsOf(program),
    ports: [{ name: "metrics", port: BindAddress.usualPorts.metrics, targetPort: "metrics" }]
  }
})

/** The Service of the webhooks, for `--webhooks`. It contains only the pods that are ready. */
export const webhookService = (program: Rbac.Program, { serviceAccount: { namespace } }: Rbac.Settings): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: Webhooks.serviceOf(program.name), namespace, labels: labelsOf(program) },
  spec: {
    selector: labelsOf(program),
    ports: [{ name: "webhooks", port: 443, targetPort: "webhooks" }]
  }
})

/** The Deployment: one replica, with the security settings, probes and resources of `deploy/base`. */
export const make = (
  program: Rbac.Program,
  settings: Rbac.Settings,
  image: string,
  environment: ReadonlyArray<readonly [name: string, value: string]>
): object => {
  const { name, namespace } = settings.serviceAccount
  const labels = labelsOf(program)
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: program.name, namespace, labels },
    spec: {
      replicas: 1,
      // Without a Lease, the new pod would work beside the old one.
      strategy: settings.leaderElect
        ? { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
        : { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { "kubectl.kubernetes.io/default-container": "manager" } },
        spec: {
          serviceAccountName: name,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 45,
          nodeSelector: { "kubernetes.io/os": "linux" },
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              name: "manager",
              image,
              args: ["run", ...Rbac.argumentsOf(settings)],
              env: [
                ...environment.map(([name, value]) => ({ name, value })),
                { name: "BUN_CONFIG_MAX_HTTP_REQUESTS", value: "1024" },
                { name: "BUN_JSC_forceRAMSize", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } }
              ],
              ports: [
                { name: "metrics", containerPort: BindAddress.usualPorts.metrics },
                { name: "probes", containerPort: BindAddress.usualPorts.probes },
                ...(settings.webhooks ? [{ name: "webhooks", containerPort: Webhooks.usualPort }] : [])
              ],
              // The API server calls a pod until the Service no longer contains it.
              ...(settings.webhooks ? { lifecycle: { preStop: { sleep: { seconds: 5 } } } } : {}),
              livenessProbe: probe("/healthz", 10, 5),
              // The API server gets the objects of a cache through the conversion of a pod that is ready.
              readinessProbe: probe(settings.webhooks ? "/readyz/webhooks" : "/readyz", 3, 2),
              resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] }
              }
            }
          ]
        }
      }
    }
  }
}
