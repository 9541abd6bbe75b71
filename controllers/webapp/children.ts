/** The desired children of a WebApp. Pure. */
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import type { WebApp } from "./WebApp.ts"

/**
 * The field manager of every write, the reporter of every event, and the value of the managed-by label. Existing children have it, so
 * it cannot change.
 */
export const manager = "webapp-controller"

/** The container with the image; the controller does not change other containers of the pod. */
export const container = "app"

/** The managed-by label of the pods: ours, or that of an older controller whose Deployments keep theirs. */
export const managers = [manager, "webapp-operator"] as const

/** The labels of all children of a WebApp. */
export const labelsOf = (app: WebApp): { readonly [key: string]: string } => ({
  app: app.metadata.name,
  "app.kubernetes.io/managed-by": manager
})

/**
 * @param existing the existing Deployment, if any. Its selector stays, because selectors are immutable and older controllers chose
 * other ones
 * @param scaledByOthers an autoscaler sets the replicas of the Deployment, so the intent omits them
 */
export const desiredDeployment = (
  app: WebApp,
  options: { readonly existing?: Deployment | undefined; readonly scaledByOthers?: boolean | undefined } = {}
): Desired<Deployment> => {
  const labels = labelsOf(app)
  const selector = options.existing?.spec?.selector ?? { matchLabels: labels }
  return {
    metadata: { name: app.metadata.name, labels },
    spec: {
      ...(options.scaledByOthers === true ? {} : { replicas: app.spec.replicas }),
      selector,
      template: {
        metadata: { labels: podLabels(app, options.existing) },
        spec: {
          containers: [
            {
              name: container,
              image: app.spec.image,
              // Without a name: two ports with the same name are invalid, so a port that was added by hand could not be replaced.
              ports: [{ containerPort: app.spec.port, protocol: "TCP" }],
              ...(app.spec.env === undefined ? {} : { env: app.spec.env }),
              ...(app.spec.resources === undefined ? {} : { resources: app.spec.resources })
            }
          ]
        }
      }
    }
  }
}

/** The selector of an existing Deployment precedes the labels of its WebApp. */
const podLabels = (app: WebApp, deployment: Deployment | undefined): { readonly [key: string]: string } => ({
  ...labelsOf(app),
  ...deployment?.spec?.selector.matchLabels
})

/**
 * The server chooses cluster IP, node ports and IP families, so the intent omits them.
 *
 * @param deployment the WebApp's Deployment. A Deployment that was taken over may have other pod labels
 */
export const desiredService = (app: WebApp, deployment?: Deployment): Desired<Service> => {
  const { name } = app.metadata
  const isNamed = podLabels(app, deployment).app === name
  return {
    metadata: { name, labels: labelsOf(app) },
    spec: {
      type: "ClusterIP",
      selector: isNamed ? { app: name } : { ...deployment?.spec?.selector.matchLabels },
      ports: [{ port: app.spec.port, targetPort: app.spec.port, protocol: "TCP" }]
    }
  }
}

const appContainer = ["spec", "template", "spec", "containers", { name: container }] as const

/** The fields of a Deployment that the controller owns exclusively: an added port or variable would reach the pods. */
export const exclusiveInDeployment = [
  [...appContainer, "ports"],
  [...appContainer, "env"]
] as const

/** The fields of a Service that the controller owns exclusively: an additional selector key would silently empty it. */
export const exclusiveInService = [
  ["spec", "ports"],
  ["spec", "selector"]
] as const
