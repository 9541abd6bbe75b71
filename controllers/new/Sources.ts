/** The generated modules of a new controller: the kind, its child, its status and its reconcile. */
import type { Names } from "./Names.ts"

/** The kind. */
export const kind = ({
  group,
  kind,
  one,
  plural,
  version
}: Names): string => `/** The ${kind} kind: a container image that runs in a number of pods. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

const Spec = Schema.Struct({
  image: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1024)).annotations({
    description: "The container image to run, such as nginx:1.27."
  }),
  replicas: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 50)), { default: () => 1 }).annotations({
    description: "How many pods should run."
  })
})

const Status = Schema.Struct({
  observedGeneration: Schema.optionalWith(Schema.Int.pipe(Field.format("int64")), { exact: true }).annotations({
    description: "The metadata.generation of this status; -1 before the first reconcile."
  }),
  readyReplicas: Schema.optionalWith(Schema.NonNegativeInt, { exact: true }).annotations({
    description: "Pods that are ready."
  }),
  conditions: Schema.optionalWith(Condition.list, { exact: true }).annotations({
    description: "Ready; and Reconciling while it is on its way there."
  })
})

/** The kind and its CustomResourceDefinition. */
export const ${kind} = CustomResource.make({
  group: "${group}",
  version: "${version}",
  kind: "${kind}",${plural === undefined ? "" : `\n  plural: "${plural}",`}
  description: "A container image that runs in a number of pods.",
  spec: Spec,
  status: Status,
  columns: [
    { name: "Image", path: ".spec.image" },
    { name: "Replicas", path: ".spec.replicas" },
    { name: "Ready", path: ".status.readyReplicas" },
    { name: "Age", path: ".metadata.creationTimestamp" }
  ],
  rules: [
    {
      rule: "self.metadata.name.size() <= 63",
      message: "the name becomes the value of a label: at most 63 characters",
      fieldPath: ".metadata.name"
    }
  ]
})

/** ${one.replace(/^a/, "A")} for \`reconcile\`, with defaults. */
export type ${kind} = typeof ${kind}.Type

/** The status of ${one}. */
export type ${kind}Status = NonNullable<${kind}["status"]>
`

/** The child. */
export const children = ({ kind, name, one }: Names): string => `/** The desired child of ${one}. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import type { ${kind} } from "./${kind}.ts"

/** The field manager of every write, and the value of the managed-by label. Do not change it: existing children have it. */
export const manager = "${name}-controller"

/** A Deployment of the same name. Fields that are absent here belong to the API server or to other managers. */
export const desiredDeployment = ({ metadata: { name }, spec }: ${kind}): Desired<Deployment> => {
  const labels = {
    "app.kubernetes.io/name": "${name}",
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/managed-by": manager
  }
  return {
    metadata: { name, labels },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "${name}", image: spec.image }] } }
    }
  }
}
`

/** The status. */
export const status = ({ kind, one }: Names): string => `/** The status of ${one}, from its Deployment. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import type { ${kind}, ${kind}Status } from "./${kind}.ts"

/**
 * The whole status, without the conditions of other managers, which \`Status.update\` keeps.
 *
 * @param now RFC 3339, in whole seconds
 */
export const observe = (object: ${kind}, deployment: Deployment, now: string): ${kind}Status => {
  const { observedGeneration: judged = 0, replicas, updatedReplicas, availableReplicas } = deployment.status ?? {}
  const readyReplicas = deployment.status?.readyReplicas ?? 0
  const wanted = object.spec.replicas
  const isReady =
    // Before that, the status is about an older spec of the Deployment.
    judged >= (deployment.metadata.generation ?? 0) &&
    [replicas, updatedReplicas, availableReplicas].every((count) => count === wanted)
  const observedGeneration = object.metadata.generation ?? 0
  const facts = {
    reason: isReady ? "AllReplicasReady" : "ReplicasNotReady",
    message: \`\${readyReplicas}/\${wanted} ready\`,
    observedGeneration
  }
  const drafts = isReady
    ? [Condition.true(Condition.Ready, facts)]
    : // As in kstatus, Reconciling exists only while it is true.
      [Condition.false(Condition.Ready, facts), Condition.true(Condition.Reconciling, facts)]
  const before = object.status?.conditions?.filter(({ type }) => drafts.some((draft) => draft.type === type))
  return { observedGeneration, readyReplicas, conditions: Condition.set(before, drafts, now) }
}
`

/** The reconcile. */
export const controller = ({
  kind,
  name,
  one
}: Names): string => `/** The ${kind} controller: each ${kind} gets a Deployment of its name, kept as the spec says, and a status that says how far it is. */
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Effect from "effect/Effect"
import { desiredDeployment, manager } from "./children.ts"
import { ${kind} } from "./${kind}.ts"
import { observe } from "./status.ts"

/** The ${kind} controller. */
export const controller = Controller.make("${name}", {
  for: ${kind},
  fieldManager: manager,
  // Changes of these kinds trigger a reconcile of ${one}, and the cache has them.
  owns: [Deployment],
  // Runs after each change, and once in a sync period without one. It compares everything each time and keeps no state.
  reconcile: (object) =>
    Effect.gen(function* () {
      const deployment = yield* Owned.apply(object, Deployment, desiredDeployment(object))
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* Status.update(object, observe(object, deployment, Time.seconds(now)))
      return Result.done
    })
})
`
