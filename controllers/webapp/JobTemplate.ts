/**
 * The Job of one job in the spec of a WebApp, for one revision of the pod template. Pure.
 *
 * Each revision has its own Jobs, with a hash of the template in their names. So a Job exists once for each revision, whenever the manager
 * restarts.
 */
import type { Deployment, Job } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired, KubernetesObject, ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type { Entry } from "./Jobs.ts"
import type { WebApp } from "./WebApp.ts"

/** The label of a Job and its pods with the name of the job in the WebApp. The cache follows only Jobs that have it. */
export const jobLabel = "apps.kubedojo.io/job"

/** The label of the pods of a Job with the name of the WebApp. */
export const webappLabel = "apps.kubedojo.io/webapp"

/** The WebApp of a pod of a Job; empty for other pods. */
export const webappsOf = ({ metadata: { labels, namespace } }: KubernetesObject): ReadonlyArray<ObjectKey> => {
  const name = labels?.[webappLabel]
  return name === undefined ? [] : [{ namespace, name }]
}

/**
 * The name of the Job for a pod template: the names of the WebApp and the job, shortened to fit the label of the pods, and ten digits of a
 * hash. The hash covers the names, because `a-b` with the job `c` looks like `a` with the job `b-c`.
 */
export const nameOf = (app: WebApp, entry: Entry, deployment: Desired<Deployment>): string => {
  const { name } = app.metadata
  const text = canonical([name, entry, deployment.spec?.template])
  const hash = Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, 10)
  return `${`${name}-${entry.name}`.slice(0, 62 - hash.length)}-${hash}`
}

/** JSON with sorted keys: a newer version of the program may set the same fields in another order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each
  )

type PodSpec = NonNullable<NonNullable<Job["spec"]>["template"]["spec"]>

/**
 * The Job with the environment of the pods: image, variables, volumes, ServiceAccount, security and placement.
 *
 * @param deployment the desired Deployment
 * @param container the name of the container with the image
 */
export const desired = (
  app: WebApp,
  entry: Entry,
  deployment: Desired<Deployment>,
  container: string
): Desired<Job> => {
  const { retries = 2, timeoutSeconds = 3600 } = entry
  const { metadata, spec } = deployment.spec?.template ?? {}
  const manager = deployment.metadata.labels?.[managerLabel]
  return {
    metadata: {
      name: nameOf(app, entry, deployment),
      labels: { ...deployment.metadata.labels, [jobLabel]: entry.name }
    },
    spec: {
      backoffLimit: retries,
      activeDeadlineSeconds: timeoutSeconds,
      // Two pods never work at the same time.
      podReplacementPolicy: "Failed",
      // The eviction of a pod is not a failure of its program.
      podFailurePolicy: {
        rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }]
      },
      template: {
        metadata: {
          ...(metadata?.annotations === undefined ? {} : { annotations: metadata.annotations }),
          labels: {
            ...unselected(metadata?.labels ?? {}, deployment),
            // The cache follows only pods that have it.
            ...(manager === undefined ? {} : { [managerLabel]: manager }),
            [jobLabel]: entry.name,
            [webappLabel]: app.metadata.name
          }
        },
        spec: podOf(entry, spec, container)
      }
    }
  }
}

const managerLabel = "app.kubernetes.io/managed-by"

/** Without the labels by which the Service and the Deployment select pods: a job must get no requests. */
const unselected = (labels: { readonly [label: string]: string }, { metadata, spec }: Desired<Deployment>) => {
  const { matchExpressions = [], matchLabels = {} } = spec?.selector ?? {}
  const selected = new Set([
    ...Object.keys({ ...metadata.labels, ...matchLabels }),
    ...matchExpressions.map(({ key }) => key)
  ])
  return Object.fromEntries(Object.entries(labels).filter(([label]) => !selected.has(label)))
}

/**
 * Other containers than that with the image would keep the Job from its end. Init containers stay: one with `restartPolicy: Always` ends
 * with the job.
 */
const podOf = ({ args, command }: Entry, spec: PodSpec | undefined, container: string): PodSpec => {
  const { readinessGates: _gates, topologySpreadConstraints: _spread, ...pod } = spec ?? { containers: [] }
  const {
    args: _args,
    command: _command,
    lifecycle: _lifecycle,
    livenessProbe: _liveness,
    ports: _ports,
    readinessProbe: _readiness,
    startupProbe: _startup,
    ...environment
  } = pod.containers.find(({ name }) => name === container) ?? { name: container }
  return {
    ...pod,
    restartPolicy: "Never",
    containers: [
      {
        // The status of a failed pod then has the last lines of its log.
        terminationMessagePolicy: "FallbackToLogsOnError",
        ...environment,
        command: [...command],
        ...(args === undefined ? {} : { args: [...args] })
      }
    ]
  }
}
