/** The built-in controllers of kube-controller-manager and kube-scheduler on this server. */
import type { BuiltInController } from "./BuiltInController.ts"
import { clusterRoleAggregation } from "./ClusterRoleAggregation.ts"
import { cronJobController } from "./CronJobController.ts"
import { daemonSetController } from "./DaemonSetController.ts"
import { deploymentController } from "./DeploymentController.ts"
import { disruptionController } from "./DisruptionController.ts"
import { endpointSliceController } from "./EndpointSliceController.ts"
import { endpointsController } from "./EndpointsController.ts"
import { garbageCollector } from "./GarbageCollector.ts"
import { jobController } from "./JobController.ts"
import { orphanPods, ttlAfterFinished } from "./JobRemains.ts"
import { rootCertificates, serviceAccountController } from "./NamespaceContents.ts"
import { namespaceController } from "./NamespaceController.ts"
import { podGarbageCollector } from "./PodGarbageCollector.ts"
import { replicaSetController } from "./ReplicaSetController.ts"
import { resourceQuotaController } from "./ResourceQuotaController.ts"
import { scheduler } from "./Scheduler.ts"
import { statefulSetController } from "./StatefulSetController.ts"
import { volumeController } from "./VolumeController.ts"

/** The options of the controllers. */
export interface Options {
  /** The CA certificates (PEM) of the API server for the ConfigMap in each namespace; default: none. */
  readonly certificates?: string | undefined
}

/** Returns all controllers. */
export const all = ({ certificates = "" }: Options = {}): ReadonlyArray<BuiltInController> => [
  garbageCollector,
  podGarbageCollector,
  namespaceController,
  serviceAccountController,
  rootCertificates(certificates),
  deploymentController,
  replicaSetController,
  statefulSetController,
  daemonSetController,
  jobController,
  orphanPods,
  ttlAfterFinished,
  cronJobController,
  endpointsController,
  endpointSliceController,
  volumeController,
  disruptionController,
  resourceQuotaController,
  clusterRoleAggregation,
  scheduler
]

/**
 * Returns the controllers with these names; undefined `chosen`: all. Throws an Error that lists the accepted names if a name is unknown,
 * because no controller would run and no object would change.
 */
export const named = (
  chosen: ReadonlyArray<string> | undefined,
  options: Options = {}
): ReadonlyArray<BuiltInController> => {
  const every = all(options)
  if (chosen === undefined) return every
  const names = every.map(({ name }) => name)
  const unknown = chosen.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new Error(`unknown controller: ${JSON.stringify(unknown)} (must be one of ${names.join(", ")})`)
  }
  return every.filter(({ name }) => chosen.includes(name))
}
