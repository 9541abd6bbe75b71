/** `manifests`: everything that a manager needs in a cluster, as YAML. */
import * as Effect from "effect/Effect"
import { definitionsOf } from "./Crd.ts"
import * as Flags from "./Flags.ts"
import * as ManagerDeployment from "./ManagerDeployment.ts"
import * as Rbac from "./Rbac.ts"
import * as Verb from "./Verb.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Yaml from "./Yaml.ts"

const accountOf = ({ name, namespace }: Rbac.Settings["serviceAccount"]): ReadonlyArray<object> => [
  // Every cluster has it, and the user who applies this may lack the permission to write it.
  ...(namespace === "default" ? [] : [{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]),
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } }
]

/** The verb. */
export const verb = (program: Rbac.Program) =>
  Verb.make("manifests", {
    description:
      "Print CRDs, namespace, service account, roles and, with --image, a Deployment and a Service, for kubectl apply -f -",
    flags: { ...Rbac.flags(program), ...ManagerDeployment.flags, output: Yaml.flag },
    examples: [
      [
        "Install everything.",
        `manifests --leader-elect --image=registry.example.com/${program.name}:1.0 | kubectl apply -f -`
      ],
      ["Print everything except the Deployment, as JSON.", "manifests -o json"]
    ],
    run: (settings) =>
      Effect.gen(function* () {
        // `run` would refuse the flags of the Deployment too.
        yield* Effect.fromResult(Webhooks.required(program, settings))
        const crds = yield* definitionsOf(
          { ...program, controllers: Flags.chosen(program.controllers, settings.controllers) },
          settings.serviceAccount.namespace
        )
        const roles = yield* Effect.fromResult(Rbac.objects(program, settings))
        const { environment, image } = settings
        if (image === undefined && environment.length > 0) {
          return yield* new Verb.UsageError({ message: "--image: required with --env" })
        }
        const deployment =
          image === undefined
            ? []
            : [
                ManagerDeployment.service(program, settings),
                ...(settings.webhooks ? [ManagerDeployment.webhookService(program, settings)] : []),
                ManagerDeployment.make(program, settings, image, environment)
              ]
        return yield* Yaml.print(
          [...crds, ...accountOf(settings.serviceAccount), ...roles, ...deployment],
          settings.output
        )
      })
  })
