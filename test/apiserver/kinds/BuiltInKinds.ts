/**
 * The built-in kinds: the definitions of this folder's modules, with the names, schemas and columns of a kube-apiserver.
 */

import * as Format from "../model/Format.ts"
import type { JsonObject } from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as Documents from "../model/OpenApiDefinitions.ts"
import { policies } from "./admissionregistration/AdmissionPolicy.ts"
import { mutatingWebhooks, validatingWebhooks } from "./admissionregistration/WebhookConfiguration.ts"
import { columnsOf } from "./columns/Columns.ts"
import { configMap, secret } from "./config/ConfigMap.ts"
import { event, newerEvent } from "./config/Event.ts"
import { lease } from "./config/Lease.ts"
import { limitRange, priorityClass, resourceQuota } from "./config/Limits.ts"
import { namespace, serviceAccount } from "./config/Namespace.ts"
import { node } from "./config/Node.ts"
import * as CustomResourceDefinition from "./crd/DefinitionStrategy.ts"
import type { Definition } from "./Definition.ts"
import * as Messages from "./messages/Messages.ts"
import { type Name, nameOf } from "./Names.ts"
import { endpointSlice, endpoints } from "./network/Endpoints.ts"
import { ingress, ingressClass, networkPolicy } from "./network/Ingress.ts"
import { pod, podTemplate } from "./pods/Pod.ts"
import { runtimeClass } from "./pods/Runtime.ts"
import { rbac } from "./rbac/Rbac.ts"
import { reviews } from "./rbac/Reviews.ts"
import * as Shape from "./Shape.ts"
import { service } from "./services/Service.ts"
import { persistentVolume, persistentVolumeClaim, storageClass } from "./storage/Volumes.ts"
import { cronJob } from "./workloads/CronJob.ts"
import { daemonSet } from "./workloads/DaemonSet.ts"
import { deployment } from "./workloads/Deployment.ts"
import { autoscaler, olderAutoscaler } from "./workloads/HorizontalPodAutoscaler.ts"
import { job } from "./workloads/Job.ts"
import { podDisruptionBudget } from "./workloads/PodDisruptionBudget.ts"
import { replicaSet, replicationController } from "./workloads/ReplicaSet.ts"
import { controllerRevision, statefulSet } from "./workloads/StatefulSet.ts"

const customResourceDefinition: Definition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  strategy: CustomResourceDefinition.definition,
  status: CustomResourceDefinition.definitionStatus
}

const definitions: ReadonlyArray<Definition> = [
  namespace,
  node,
  pod,
  podTemplate,
  replicationController,
  service,
  endpoints,
  configMap,
  secret,
  serviceAccount,
  event,
  persistentVolume,
  persistentVolumeClaim,
  limitRange,
  resourceQuota,
  deployment,
  replicaSet,
  statefulSet,
  daemonSet,
  controllerRevision,
  job,
  cronJob,
  autoscaler,
  olderAutoscaler,
  podDisruptionBudget,
  ingress,
  ingressClass,
  networkPolicy,
  ...rbac,
  lease,
  runtimeClass,
  endpointSlice,
  newerEvent,
  storageClass,
  priorityClass,
  ...policies,
  mutatingWebhooks,
  validatingWebhooks,
  customResourceDefinition,
  ...reviews
]

const same = (object: JsonObject): JsonObject => object

/** The subresources that the embedded server serves, besides `/status` and `/scale`. */
const served: ReadonlySet<string> = new Set(["finalize", "binding", "eviction", "log", "token"])

const kindOf = (definition: Definition): Kind => {
  const { group, kind, names: form, version } = definition
  const { subresources, ...name } = nameOf(group, version, kind) ?? unnamed(definition)
  const stored = `${group}/${name.plural}`
  return {
    storage: stored,
    status: undefined,
    scale: undefined,
    selectableFields: () => ({}),
    unconditionalUpdate: false,
    createOnUpdate: false,
    gracePeriod: () => 0,
    fromStorage: same,
    toStorage: same,
    ...definition,
    ...name,
    listKind: `${kind}List`,
    custom: false,
    zero: Shape.zero(Shape.of(Messages.nameOf(definition))),
    columns: columnsOf(group, version, kind),
    otherSubresources: subresources.filter((subresource) => served.has(subresource.name)),
    deprecation: deprecations[`${group}/${version}/${kind}`],
    noControllerWarning: withoutController.has(kind)
      ? `the embedded cluster stores a ${kind}, and nothing comes of it`
      : undefined,
    // Reads the OpenAPI documents only on first use, because that takes time.
    get schema() {
      return Documents.schemaOf(group, version, kind) ?? {}
    },
    ...(form === undefined
      ? {}
      : { validateName: (text: string, prefix: boolean) => (prefix ? Format.prefix(form) : form)(text) })
  }
}

const deprecations: { readonly [kind: string]: string } = {
  "/v1/Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
}

/** The kinds whose controller the embedded cluster lacks. A create warns about it, because a client might wait for the controller. */
const withoutController: ReadonlySet<string> = new Set(["HorizontalPodAutoscaler", "ReplicationController"])

const unnamed = ({ kind }: Definition): Name => {
  throw new Error(`names.json does not name ${kind}`)
}

/** All built-in kinds of the embedded server. */
export const kinds: ReadonlyArray<Kind> = definitions.map(kindOf)
