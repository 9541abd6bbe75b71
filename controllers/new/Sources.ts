/** The generated modules of a new controller: the kind, its children and its reconcile. */
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
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Spec = Schema.Struct({
  image: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1024)).annotate({
    description: "The container image to run, such as nginx:1.27."
  }),
  replicas: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }))
    .pipe(Schema.withDecodingDefaultType(Effect.succeed(1)))
    .annotate({ description: "How many pods should run." })
})

const Status = Schema.Struct({
  observedGeneration: Schema.optionalKey(Schema.Int.pipe(Field.format("int64"))).annotate({
    description: "The metadata.generation of this status; -1 before the first reconcile."
  }),
  readyReplicas: Schema.optionalKey(Schema.Natural).annotate({ description: "Pods that are ready." }),
  conditions: Schema.optionalKey(Condition.list).annotate({
    description: "Ready, and Reconciling or Stalled while they are True."
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
`

/** The children. */
export const children = ({ kind, name, one }: Names): string => `/** The desired children of ${one}. Pure. */
import * as Owned from "@homeostat/runtime/controller/Owned"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { ${kind} } from "./${kind}.ts"

/** The field manager of every write, and the value of the managed-by label. Do not change it: existing children have it. */
export const manager = "${name}-controller"

/** A Deployment of the same name. Fields that are absent here belong to the API server or to other managers. */
export const childrenOf = ({ metadata: { name }, spec }: ${kind}) => {
  const labels = {
    "app.kubernetes.io/name": "${name}",
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/managed-by": manager
  }
  const deployment = Owned.child(Deployment, {
    metadata: { name, labels },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "${name}", image: spec.image }] } }
    }
  })
  return { deployment }
}
`

/** The reconcile. */
export const controller = ({
  kind,
  name,
  one
}: Names): string => `/** The ${kind} controller: keeps a Deployment for each ${kind}, and reports its progress in the status. */
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import { childrenOf, manager } from "./children.ts"
import { ${kind} } from "./${kind}.ts"

/** The ${kind} controller. */
export const controller = Controller.make("${name}", {
  for: ${kind},
  fieldManager: manager,
  // Changes of these kinds trigger a reconcile of ${one}, and the cache has them.
  owns: [Deployment],
  // Runs after each change, and once in a sync period without one. It compares everything each time and keeps no state.
  reconcile: (object) =>
    Effect.gen(function* () {
      const children = yield* Owned.all(object, childrenOf(object))
      const { deployment } = children.states
      const readyReplicas = deployment.object?.status?.readyReplicas ?? 0
      yield* Status.progress(object, Owned.progress(children), { readyReplicas })
      return Result.done
    })
})
`
