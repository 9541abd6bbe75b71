/** The WebApp kind: a container image that runs and is reachable under its own name. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Autoscaling } from "./Autoscaling.ts"
import { Compute } from "./Compute.ts"
import * as Config from "./Config.ts"
import { Disruption } from "./Disruption.ts"
import { EnvVar } from "./Environment.ts"
import { Exposure } from "./Exposure.ts"
import { Jobs } from "./Jobs.ts"
import { LastGood, Policy } from "./LastGood.ts"
import { NetworkAccess } from "./NetworkAccess.ts"
import { Probes } from "./Probes.ts"
import { Spread } from "./Spread.ts"
import { Volume } from "./Volumes.ts"

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

const objectName = Schema.String.check(
  Schema.isMaxLength(253),
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
)

const labelValue = Schema.String.check(
  Schema.isMaxLength(63),
  Schema.isPattern(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/)
)

const words = Schema.Array(Schema.String.check(Schema.isMaxLength(4096))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(50)
)

const Termination = Schema.Struct({
  drainSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3600 })),
    "Seconds between the removal of a pod from the Service and the signal to its container; 5 by default."
  ),
  gracePeriodSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 })),
    "Seconds from the deletion of a pod until the kubelet kills its container, drainSeconds included; 30 by default."
  )
}).pipe(
  Field.rule({
    rule: "(has(self.drainSeconds) ? self.drainSeconds : 5) < (has(self.gracePeriodSeconds) ? self.gracePeriodSeconds : 30)",
    message: "drainSeconds (5 by default) must be less than gracePeriodSeconds (30 by default)"
  })
)

const Spec = Schema.Struct({
  image: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1024), Schema.isPattern(/^\S+$/)).annotate({
    description: "The container image to run, such as nginx:1.27."
  }),
  replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))
    .pipe(Schema.withDecodingDefaultType(Effect.succeed(2)))
    .annotate({
      description:
        "How many pods should run; 0 stops the application. A HorizontalPodAutoscaler may set it through the scale subresource."
    }),
  autoscaling: optional(
    Autoscaling,
    "A HorizontalPodAutoscaler sets the replicas. A new Deployment starts with spec.replicas, and 0 still stops the application."
  ),
  disruptionBudget: optional(
    Disruption,
    "The pods that the drain of nodes may evict at a time; from two replicas on, one by default."
  ),
  spread: optional(
    Spread,
    "Nodes spreads the pods over nodes. Zones spreads them over zones first, and needs nodes with the label topology.kubernetes.io/zone."
  ),
  networkPolicy: optional(
    NetworkAccess,
    "The clients that may connect to the port of the pods; all by default. The network plugin of the cluster must enforce NetworkPolicies."
  ),
  port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))
    .pipe(Schema.withDecodingDefaultType(Effect.succeed(8080)))
    .annotate({
      description: "The TCP port that the container listens on; the Service offers the same one."
    }),
  command: optional(words, "The program that the container runs, in place of the image's entry point."),
  args: optional(words, "The arguments of the program, in place of the image's."),
  env: optional(
    Schema.Array(EnvVar).check(Schema.isMaxLength(50)).pipe(Field.listMap("name")),
    "Environment variables of the container."
  ),
  config: optional(
    Config.list,
    "ConfigMaps and Secrets that the container reads. A change of their values replaces the pods."
  ),
  resources: optional(Compute, "Compute resources of the container."),
  probes: optional(Probes, "How the kubelet finds out whether a pod can serve."),
  termination: optional(Termination, "How a pod shuts down."),
  strategy: optional(
    Schema.Literals(["RollingUpdate", "Recreate"]),
    "RollingUpdate, the default, replaces a pod only when its successor is ready. Recreate stops all pods first, for a volume that only one pod can mount."
  ),
  rollback: optional(
    Policy,
    "Auto restores the last good pod template when a rollout misses its progress deadline. None, the default, only reports that."
  ),
  progressDeadlineSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 })),
    "Seconds without progress after which a rollout has failed; 600 by default."
  ),
  security: optional(
    Schema.Literals(["Baseline", "Restricted"]),
    "Baseline, the default, forbids privilege escalation and filters system calls. Restricted also requires a user other than root and drops all capabilities, as the Pod Security Standard of that name asks."
  ),
  serviceAccountName: optional(objectName, "The ServiceAccount of the pods; that of the namespace by default."),
  imagePullSecrets: optional(
    Schema.Array(Schema.Struct({ name: objectName.annotate({ description: "The name of the Secret." }) }))
      .check(Schema.isMaxLength(20))
      .pipe(Field.listMap("name")),
    "The Secrets with which the kubelet pulls the image."
  ),
  volumes: optional(
    Schema.Array(Volume)
      .check(Schema.isMaxLength(50))
      .pipe(
        Field.listMap("name"),
        Field.rule({
          rule: "self.all(each, self.exists_one(other, other.mountPath == each.mountPath))",
          message: "each volume needs its own mountPath"
        })
      ),
    "Volumes of the pods, mounted into the container."
  ),
  expose: optional(
    Exposure,
    "Clients outside of the cluster reach the application, by an HTTPRoute if gateway is set, and otherwise by an Ingress."
  ),
  jobs: optional(
    Jobs,
    "Programs that must succeed before or after a rollout, such as a migration. They run in the environment of the container."
  ),
  podTemplate: optional(
    Schema.Struct({
      metadata: optional(
        Schema.Struct({
          labels: optional(Schema.Record(Schema.String, labelValue), "More labels of the pods."),
          annotations: optional(Schema.Record(Schema.String, Schema.String), "Annotations of the pods.")
        }),
        "Metadata of the pods."
      ),
      spec: optional(
        Schema.Struct({}).pipe(Field.preserveUnknown),
        "Fields of a PodSpec. The container of the image is called app."
      )
    }),
    "A pod template with the fields that a WebApp does not have. Where both set a field, the other fields of the WebApp win."
  )
}).pipe(Config.ownMountPaths)

const count = (description: string) => Schema.optionalKey(Schema.Natural).annotate({ description })

/** An adopted Deployment may have a selector with many labels. */
export const longestSelector = 32_768

const Status = Schema.Struct({
  observedGeneration: Schema.optionalKey(Schema.Int.pipe(Field.format("int64"))).annotate({
    description: "The metadata.generation of this status; -1 before the first reconcile."
  }),
  phase: Schema.optionalKey(
    Schema.Literals(["Pending", "Deploying", "Running", "Degraded", "Stopped", "Failed"])
  ).annotate({
    description:
      "The conditions in one word. Pending: no pod is ready yet. Deploying: a pod is ready, and the rollout of the spec is not complete. Running: every pod runs the spec. Degraded: pods or their configuration were lost. Stopped: no pods are wanted. Failed: a user must act."
  }),
  replicas: count("Pods that exist."),
  updatedReplicas: count("Pods that run the present spec."),
  readyReplicas: count("Pods that are ready."),
  availableReplicas: count("Pods that have been ready long enough to count."),
  selector: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(longestSelector))).annotate({
    description: "The label selector of the pods, as the scale subresource reports it."
  }),
  url: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1300))).annotate({
    description: "The address of the application outside of the cluster. It answers when RouteReady is True."
  }),
  lastGood: optional(
    LastGood,
    "The last rollout that was complete, with rollback: Auto. Its pod template comes back after a failed rollout."
  ),
  conditions: Schema.optionalKey(Condition.list).annotate({
    description:
      "Ready, DeploymentReady and ServiceReady; ConfigReady, JobsComplete, RouteReady, Autoscaled, DisruptionBudgetReady and NetworkPolicyReady where the spec has these fields; RolledBack if the Deployment has another pod template than the spec; Reconciling and Stalled while they hold."
  })
})

/** The kind and its CustomResourceDefinition. */
export const WebApp = CustomResource.make({
  group: "apps.kubedojo.io",
  version: "v1beta1",
  kind: "WebApp",
  shortNames: ["wa"],
  categories: ["all"],
  description: "A container image that runs in a number of pods behind a Service of the same name.",
  spec: Spec.annotate({ description: "The desired state." }),
  status: Status.annotate({ description: "The observed state, which the controller writes." }),
  columns: [
    { name: "Image", path: ".spec.image" },
    { name: "Replicas", path: ".spec.replicas" },
    { name: "Ready Pods", path: ".status.readyReplicas" },
    { name: "URL", path: ".status.url" },
    { name: "Phase", path: ".status.phase", priority: 1 }
  ],
  scale: { spec: ".spec.replicas", status: ".status.replicas", selector: ".status.selector" },
  rules: [
    {
      // The Service has the same name, and Service names are stricter than those of custom resources.
      rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",
      message:
        "the name becomes a Service's: at most 63 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash",
      fieldPath: ".metadata.name"
    }
  ]
})

/** A WebApp for `reconcile`, with defaults. */
export type WebApp = typeof WebApp.Type

/** The status of a WebApp. */
export type WebAppStatus = NonNullable<WebApp["status"]>
