/** `rbac`: the roles that a manager needs, as YAML. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Permissions from "../manager/Permissions.ts"
import * as Rbac from "../manager/Rbac.ts"
import * as Reads from "../plan/Reads.ts"
import * as Election from "./Election.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Verb from "./Verb.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Yaml from "./Yaml.ts"

/** The subject of the bindings. */
export type Program = Webhooks.Program<unknown>

/** The flags that permissions depend on: those of `run`, and the subject. */
export const flags = ({ controllers, name }: Program) => ({
  ...Flags.scope(controllers.map((controller) => controller.name)),
  ...Election.flags,
  leaseNamespace: {
    ...Election.flags.leaseNamespace,
    description: "Namespace of the Lease (default that of the service account)"
  },
  installCrds: Flags.installCrds,
  metricsSecure: Flags.metricsSecure,
  webhooks: Webhooks.flag,
  serviceAccount: account({ namespace: `${name}-system`, name })
})

const account = (otherwise: Rbac.Account) =>
  Flag.parsed("service-account", {
    placeholder: "NAMESPACE/NAME",
    description: `The service account of the program (default ${otherwise.namespace}/${otherwise.name})`,
    parse: (text): Result.Result<Rbac.Account, string> => {
      const [namespace = "", name, ...rest] = text.split("/")
      return name === undefined || rest.length > 0
        ? Result.fail(`invalid service account: "${text}" (write it like ${otherwise.namespace}/${otherwise.name})`)
        : Result.all({ namespace: Flags.namespaceName(namespace), name: Flags.objectName(name) })
    },
    otherwise
  })

/** The values of the flags. */
export type Settings = Flag.Values<ReturnType<typeof flags>>

/** The flags with these values, which `run`, `rbac` and `manifests` accept. */
export const argumentsOf = (settings: Omit<Settings, "serviceAccount">): ReadonlyArray<string> => [
  ...settings.namespaces.map((name) => `--namespace=${name}`),
  ...(settings.controllers.length === 0 ? [] : [`--controllers=${settings.controllers.join(",")}`]),
  ...(settings.selector === undefined ? [] : [`--selector=${settings.selector}`]),
  ...(settings.leaderElect ? ["--leader-elect"] : []),
  ...(settings.leaseName === undefined ? [] : [`--leader-elect-resource-name=${settings.leaseName}`]),
  ...(settings.leaseNamespace === undefined ? [] : [`--leader-elect-resource-namespace=${settings.leaseNamespace}`]),
  ...(settings.installCrds ? ["--install-crds"] : []),
  ...(settings.metricsSecure ? ["--metrics-secure"] : []),
  ...(settings.webhooks ? ["--webhooks"] : [])
]

/** The command that prints the roles of a manager with these settings, for a shell. */
export const commandOf = ({ name }: { readonly name: string }, settings: Omit<Settings, "serviceAccount">): string => {
  const flags = argumentsOf(settings).map((flag) => (/^[\w=.,/-]+$/.test(flag) ? flag : `'${flag}'`))
  return [name, "rbac", ...flags].join(" ")
}

/** The command that adds the permissions of a manager, for a shell; undefined if no permission of webhooks is missing. */
export const remedy = (
  program: { readonly name: string },
  settings: Omit<Settings, "serviceAccount">,
  missing: ReadonlyArray<Permissions.Permission>
): string | undefined => {
  if (!missing.some(({ by }) => by.includes(Permissions.byWebhooks))) return undefined
  const { name } = program
  return `To add the permissions of the webhooks: ${commandOf(program, settings)} | kubectl apply -f - (with --service-account, unless the account is ${name}-system/${name})`
}

/** The roles and bindings. The Lease is in the namespace of the ServiceAccount, unless a flag names another one. */
export const objects = (program: Program, settings: Settings) =>
  Result.map(Election.leaseOf(program, settings, settings.serviceAccount.namespace), (lease) =>
    Rbac.objects(Flags.chosen(program.controllers, settings.controllers), {
      ...settings,
      kinds: program.kinds,
      name: program.name,
      lease,
      webhookAccess: Webhooks.access(program, settings, settings.serviceAccount.namespace)
    })
  )

/** The roles of the verb `plan`, which only read. Their bindings are for the named account, unless it is that of the manager. */
const planned = (program: Program, { controllers, namespaces, serviceAccount }: Settings) => {
  const { name } = program
  const isNamed = serviceAccount.name !== name || serviceAccount.namespace !== `${name}-system`
  return Rbac.objects(Reads.of(Flags.chosen(program.controllers, controllers), namespaces), {
    name: `${name}-plan`,
    serviceAccount,
    namespaces,
    lease: undefined,
    installCrds: false
  }).filter(({ kind }) => isNamed || kind === "ClusterRole" || kind === "Role")
}

/** The verb. Only a program with the verb `plan` has roles for it. */
export const verb = (program: Program & { readonly simulation?: unknown }) => {
  const canPlan = program.simulation !== undefined
  const plan = Flag.toggle("plan", {
    description: `Print the roles of "${program.name} plan" instead, which only read; bound to the account of --service-account if given`
  })
  return Verb.make("rbac", {
    description: "Print the minimal RBAC roles, for kubectl apply -f -",
    flags: { ...flags(program), ...(canPlan && { plan }), output: Yaml.flag },
    examples: [
      ["Print the roles of a manager for all namespaces.", "rbac --leader-elect"],
      ["Print the roles of a manager for one namespace.", "rbac --namespace=shop"],
      ...(canPlan ? [["Print a role for plans in a pipeline.", "rbac --plan --service-account=ci/plan"] as const] : [])
    ],
    run: (settings) =>
      settings.plan === true
        ? Yaml.print(planned(program, settings), settings.output)
        : Effect.flatMap(Effect.fromResult(objects(program, settings)), (objects) =>
            Yaml.print(objects, settings.output)
          )
  })
}
