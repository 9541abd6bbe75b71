/** `crd`: the CustomResourceDefinitions of a program's kinds, as YAML. */
import * as Effect from "effect/Effect"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Kinds from "./Kinds.ts"
import * as Rbac from "./Rbac.ts"
import * as Verb from "./Verb.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Yaml from "./Yaml.ts"

/**
 * The definitions of a program's kinds. Those of kinds with several versions contain the Service of the webhooks in this namespace, and
 * no CA: the manager adds it. Fails if a kind has no definition: the message names the field and what to do.
 */
export const definitionsOf = (program: Webhooks.Program<unknown>, namespace: string) =>
  Effect.forEach(Kinds.of(program), (kind) =>
    Effect.map(CustomResource.check(kind), () => Crd.of(kind, Webhooks.conversionOf(program, namespace)))
  )

/** The verb. */
export const verb = (program: Rbac.Program) =>
  Verb.make("crd", {
    description: "Print the CustomResourceDefinitions, for kubectl apply -f -",
    flags: {
      serviceAccount: {
        ...Rbac.flags(program).serviceAccount,
        description: `The service account of the program, for the Service that converts (default ${program.name}-system/${program.name})`
      },
      output: Yaml.flag
    },
    examples: [
      ["Install the CRDs.", "crd | kubectl apply --server-side -f -"],
      ["Print the CRDs as one JSON list.", "crd -o json"]
    ],
    run: ({ output, serviceAccount }) =>
      Effect.flatMap(definitionsOf(program, serviceAccount.namespace), (crds) => Yaml.print(crds, output))
  })
