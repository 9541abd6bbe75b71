/** The WebApp kind: a container image that runs and is reachable under its own name. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

/** The CRD rejects what a Deployment would reject, so that the user sees the mistake at once. */
const reference = (what: string) =>
  Schema.Struct({
    name: Schema.String.pipe(
      Schema.maxLength(253),
      Schema.pattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    ).annotations({ description: `The name of the ${what}.` }),
    key: Schema.String.pipe(
      Schema.maxLength(253),
      Schema.pattern(/^([-_a-zA-Z0-9]|[.][-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/)
    ).annotations({ description: `The key in the ${what}.` }),
    optional: Schema.optionalWith(Schema.Boolean, { exact: true }).annotations({
      description: `The container starts even where the ${what} or its key is missing.`
    })
  })

const EnvVar = Schema.Struct({
  name: Schema.String.pipe(
    Schema.maxLength(253),
    Schema.pattern(/^([-_a-zA-Z]|[.][-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/)
  ).annotations({
    description: "The name of the environment variable."
  }),
  value: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(4096)), { exact: true }).annotations({
    description: "Its value, as it stands."
  }),
  valueFrom: Schema.optionalWith(
    Schema.Struct({
      configMapKeyRef: Schema.optionalWith(reference("ConfigMap"), { exact: true }),
      secretKeyRef: Schema.optionalWith(reference("Secret"), { exact: true })
    }).pipe(
      Field.rule({
        rule: "has(self.configMapKeyRef) != has(self.secretKeyRef)",
        message: "set either configMapKeyRef or secretKeyRef"
      })
    ),
    { exact: true }
  ).annotations({ description: "Its value, read from a ConfigMap or Secret of the same namespace when a pod starts." })
}).pipe(
  Field.rule({
    rule: "!(has(self.value) && has(self.valueFrom))",
    message: "set either value or valueFrom"
  })
)

const amount = (description: string) =>
  Schema.optionalWith(
    Field.Quantity.pipe(
      Field.rule({
        rule: "!quantity(string(self)).isLessThan(quantity('0'))",
        message: "must be greater than or equal to 0"
      })
    ),
    { exact: true }
  ).annotations({ description })

const Amounts = Schema.Struct({
  cpu: amount("Cores, such as 500m."),
  memory: amount("Bytes, such as 256Mi."),
  "ephemeral-storage": amount("Bytes of local disk, such as 1Gi.")
})

/** A request beyond its limit could never be scheduled. */
const withinLimit = (name: string, member = name) =>
  Field.rule({
    rule: `!has(self.requests) || !has(self.limits) || !has(self.requests.${member}) || !has(self.limits.${member}) || quantity(string(self.requests.${member})).compareTo(quantity(string(self.limits.${member}))) <= 0`,
    message: `requests.${name} must be less than or equal to limits.${name}`
  })

const Spec = Schema.Struct({
  image: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1024), Schema.pattern(/^\S+$/)).annotations({
    description: "The container image to run, such as nginx:1.27."
  }),
  replicas: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 50)), { default: () => 2 }).annotations({
    description: "How many pods should run. A HorizontalPodAutoscaler may set it through the scale subresource."
  }),
  port: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 65_535)), { default: () => 8080 }).annotations({
    description: "The TCP port that the container listens on; the Service offers the same one."
  }),
  env: Schema.optionalWith(Schema.Array(EnvVar).pipe(Schema.maxItems(50), Field.listMap("name")), {
    exact: true
  }).annotations({ description: "Environment variables of the container." }),
  resources: Schema.optionalWith(
    Schema.Struct({
      requests: Schema.optionalWith(Amounts, { exact: true }).annotations({
        description: "The resources that the scheduler reserves for each pod."
      }),
      limits: Schema.optionalWith(Amounts, { exact: true }).annotations({ description: "The most that a pod may use." })
    }).pipe(withinLimit("cpu"), withinLimit("memory"), withinLimit("ephemeral-storage", "ephemeral__dash__storage")),
    { exact: true }
  ).annotations({ description: "Compute resources of the container." })
})

const count = (description: string) =>
  Schema.optionalWith(Schema.NonNegativeInt, { exact: true }).annotations({ description })

const Status = Schema.Struct({
  observedGeneration: Schema.optionalWith(Schema.NonNegativeInt.pipe(Field.format("int64")), {
    exact: true
  }).annotations({ description: "The metadata.generation that this status speaks of." }),
  phase: Schema.optionalWith(Schema.Literal("Pending", "Deploying", "Running", "Degraded", "Failed"), {
    exact: true
  }).annotations({
    description:
      "The conditions in one word. Pending: no pod was ready yet. Deploying: a rollout is active. Running: every pod runs the spec. Degraded: pods were lost. Failed: a user must act."
  }),
  replicas: count("Pods that exist."),
  updatedReplicas: count("Pods that run the present spec."),
  readyReplicas: count("Pods that are ready."),
  availableReplicas: count("Pods that have been ready long enough to count."),
  selector: Schema.optionalWith(Schema.String.pipe(Schema.maxLength(1024)), { exact: true }).annotations({
    description: "The label selector of the pods, as the scale subresource reports it."
  }),
  conditions: Schema.optionalWith(Condition.list, { exact: true }).annotations({
    description: "Ready, DeploymentReady and ServiceReady; Reconciling and Stalled while they hold."
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
  spec: Spec,
  status: Status,
  columns: [
    { name: "Image", path: ".spec.image" },
    { name: "Replicas", path: ".spec.replicas" },
    { name: "Ready", path: ".status.readyReplicas" },
    { name: "Phase", path: ".status.phase" },
    { name: "Age", path: ".metadata.creationTimestamp" }
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
