/** The children of a WebApp as they should be. Pure. */
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import type { WebApp } from "./WebApp.ts"

/** Field manager of every write, reporter of every event, value of the managed-by label. Children in clusters carry it: it can't change. */
export const manager = "webapp-controller"

/** The container that runs the image; others in the pod are strangers' and left alone. */
export const container = "app"

/** The managed-by label of the pods: ours, or that of an older controller whose Deployments keep theirs. */
export const managers = [manager, "webapp-operator"] as const

/** Labels of everything a WebApp makes. */
export const labelsOf = (app: WebApp): { readonly [key: string]: string } => ({
  app: app.metadata.name,
  "app.kubernetes.io/managed-by": manager
})

/**
 * @param existing the Deployment that is there, if any. Its selector is kept: selectors cannot change, and older controllers
 *   chose other ones
 * @param scaledByOthers an autoscaler sets the replicas of the Deployment, so the intent does not name them
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
              // Without a name: two ports of one name are refused, so that a port added by hand could not be replaced.
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

/** A selector says more of the pods of a Deployment than its WebApp does: it was there before. */
const podLabels = (app: WebApp, deployment: Deployment | undefined): { readonly [key: string]: string } => ({
  ...labelsOf(app),
  ...deployment?.spec?.selector.matchLabels
})

/**
 * Cluster IP, node ports and IP families are the server's to choose, so the intent does not name them.
 *
 * @param deployment the WebApp's Deployment. One that was taken over may label its pods in its own way
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

/** What of a Deployment is ours alone: a port or variable added by hand would reach the pods. */
export const exclusiveInDeployment = [
  [...appContainer, "ports"],
  [...appContainer, "env"]
] as const

/** What of a Service is ours alone: one more selector key silently empties it. */
export const exclusiveInService = [
  ["spec", "ports"],
  ["spec", "selector"]
] as const
