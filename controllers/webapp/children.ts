/** The desired children of a WebApp. Pure. */
import * as Owned from "@homeostat/runtime/controller/Owned"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as PodTemplate from "./PodTemplate.ts"
import type { WebApp } from "./WebApp.ts"

/**
 * The field manager of every write, the reporter of every event, and the value of the managed-by label. Existing children have it, so
 * it cannot change.
 */
export const manager = "webapp-controller"

/** The managed-by label of the pods: ours, or that of an older controller whose Deployments keep theirs. */
export const managers = [manager, "webapp-operator"] as const

/** `"true"` on a Deployment or Service without a controlling owner transfers it to the WebApp with its name. */
export const adoptAnnotation = "apps.kubedojo.io/adopt"

/** The desired children of a WebApp, and how the controller chose them. */
export const childrenOf = (
  app: WebApp,
  cached: {
    /** The Deployment, if it has the name of the WebApp. */
    readonly deployment: Deployment | undefined
    /** An autoscaler sets the replicas of the Deployment. */
    readonly isAutoscaled: boolean
  }
) => {
  const existing = isOwnOrAdopted(app, cached.deployment) ? cached.deployment : undefined
  const scaledByOthers = isScaledByOthers(app, existing, cached.isAutoscaled)
  const container = containerOf(existing)
  const options = { container: container ?? defaultContainer, existing, scaledByOthers }
  const deployment = desiredDeployment(app, options)
  return {
    ...options,
    /** Why the controller cannot own the Deployment, if it is not the owner. */
    obstacle: container === undefined ? severalContainers : undefined,
    children: {
      deployment: Owned.child(Deployment, deployment, {
        exclusive: exclusiveInDeployment(app, options.container),
        adoptAnnotation: container === undefined ? undefined : adoptAnnotation,
        handOver: scaledByOthers ? ({ spec }) => ({ spec: { replicas: spec?.replicas } }) : undefined
      }),
      // The Service does not wait until the API server accepts the Deployment.
      service: Owned.child(Service, desiredService(app, existing), { exclusive: exclusiveInService, adoptAnnotation })
    }
  }
}

const isOwnOrAdopted = (app: WebApp, existing: Deployment | undefined): boolean =>
  existing !== undefined &&
  (controllerOf(existing)?.uid === app.metadata.uid || existing.metadata.annotations?.[adoptAnnotation] === "true")

const severalContainers = "its Deployment cannot be adopted: several containers (rename the one with the image to app)"

/** The labels of all children of a WebApp. */
export const labelsOf = (app: WebApp): { readonly [key: string]: string } => ({
  app: app.metadata.name,
  "app.kubernetes.io/managed-by": manager
})

/** The name of the container with the image in a Deployment that the controller creates. */
export const defaultContainer = "app"

/** The annotation of an adopted Deployment with the name of its container with the image. */
export const containerAnnotation = "apps.kubedojo.io/container"

/**
 * The name of the container with the image. A Deployment to adopt may have one container with another name. The controller does not
 * change other containers.
 *
 * Undefined if a Deployment to adopt has several containers, and none of them is called `app`.
 */
export const containerOf = (existing: Deployment | undefined): string | undefined => {
  const adopted = existing?.metadata.annotations?.[containerAnnotation]
  if (adopted !== undefined) return adopted
  const names = existing?.spec?.template.spec?.containers.map(({ name }) => name) ?? []
  const isControlled = existing !== undefined && controllerOf(existing) !== undefined
  if (names.length === 0 || names.includes(defaultContainer) || isControlled) return defaultContainer
  return names.length === 1 ? names[0] : undefined
}

/** The annotation of a Deployment that an autoscaler scaled, with the replicas of the WebApp's spec at that time. */
export const replicasAnnotation = "apps.kubedojo.io/replicas"

/**
 * Whether the intent omits the replicas of the Deployment. After its autoscaler was deleted, the replicas stay until the spec asks for
 * another number. False for a new Deployment: without replicas it would start with one pod.
 *
 * @param isAutoscaled an autoscaler sets the replicas of the Deployment
 */
export const isScaledByOthers = (app: WebApp, existing: Deployment | undefined, isAutoscaled: boolean): boolean =>
  existing !== undefined &&
  (isAutoscaled || existing.metadata.annotations?.[replicasAnnotation] === String(app.spec.replicas))

/**
 * @param container the name of the container with the image: see {@link containerOf}
 * @param existing the existing Deployment, if any. Its selector stays, because selectors are immutable and older controllers chose
 * other ones
 * @param scaledByOthers the intent omits the replicas: see {@link isScaledByOthers}
 */
export const desiredDeployment = (
  app: WebApp,
  options: {
    readonly container?: string | undefined
    readonly existing?: Deployment | undefined
    readonly scaledByOthers?: boolean | undefined
  } = {}
): Desired<Deployment> => {
  const { container = defaultContainer, existing, scaledByOthers = false } = options
  const labels = labelsOf(app)
  const { replicas, strategy = "RollingUpdate" } = app.spec
  return {
    metadata: {
      name: app.metadata.name,
      labels,
      annotations: {
        ...(container === defaultContainer ? {} : { [containerAnnotation]: container }),
        ...(scaledByOthers ? { [replicasAnnotation]: String(replicas) } : {})
      }
    },
    spec: {
      ...(scaledByOthers ? {} : { replicas }),
      selector: existing?.spec?.selector ?? { matchLabels: labels },
      strategy: {
        type: strategy,
        ...(strategy === "Recreate" ? {} : { rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } })
      },
      template: PodTemplate.of(app, container, { ...labels, ...existing?.spec?.selector.matchLabels })
    }
  }
}

/**
 * The server chooses cluster IP, node ports and IP families, so the intent omits them.
 *
 * @param deployment the WebApp's Deployment. A Deployment that was taken over may have other pod labels
 */
export const desiredService = (app: WebApp, deployment?: Deployment): Desired<Service> => {
  const { name } = app.metadata
  const labels = labelsOf(app)
  const { matchLabels = {} } = deployment?.spec?.selector ?? {}
  return {
    metadata: { name, labels },
    spec: {
      type: "ClusterIP",
      // The whole selector: other pods may have the label `app` too.
      selector: Object.keys(matchLabels).length === 0 ? labels : { ...matchLabels },
      ports: [{ port: app.spec.port, targetPort: app.spec.port, protocol: "TCP" }]
    }
  }
}

/**
 * The fields of a Deployment that the controller owns exclusively. An added port or variable would reach the pods, and a probe has
 * exactly one handler.
 *
 * @param container the name of the container with the image
 */
export const exclusiveInDeployment = (app: WebApp, container: string) => {
  const within = ["spec", "template", "spec", "containers", { name: container }] as const
  const { liveness, readiness, startup } = app.spec.probes ?? {}
  return [
    ["spec", "strategy"],
    [...within, "ports"],
    [...within, "env"],
    [...within, "lifecycle", "preStop"],
    ...(readiness?.none === undefined ? [[...within, "readinessProbe"]] : []),
    ...(liveness === undefined ? [] : [[...within, "livenessProbe"]]),
    ...(startup === undefined ? [] : [[...within, "startupProbe"]])
  ]
}

/** The fields of a Service that the controller owns exclusively: an additional selector key would silently empty it. */
export const exclusiveInService = [
  ["spec", "ports"],
  ["spec", "selector"]
] as const
