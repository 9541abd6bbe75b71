/** The webhooks of a program on the command line: `run`, `rbac`, `manifests`, `crd` and `preflight` read the same flag. */
import * as Result from "effect/Result"
import * as Access from "../controller/Access.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Admissions from "../manager/why/Admissions.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type * as Crds from "../resource/Crd.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import { nameOf } from "../resource/Resource.ts"
import * as Admission from "../webhook/Admission.ts"
import * as Configuration from "../webhook/Configuration.ts"
import * as Flag from "./Flag.ts"
import * as Kinds from "./Kinds.ts"
import { UsageError } from "./Verb.ts"

/** A program with its webhooks. */
export interface Program<R = never> {
  readonly name: string
  readonly controllers: ReadonlyArray<Controller<R | Services>>
  /** Its checks and defaults: see `Admission`. Every replica answers them if `run` has the flag `--webhooks`. Default: none. */
  readonly webhooks?: ReadonlyArray<Admission.Admission<R | Services>> | undefined
  /** Custom kinds without a controller, for example with a `Conversion`: their CRDs are printed and installed too. Default: none. */
  readonly kinds?: ReadonlyArray<CustomResource.Any> | undefined
}

/** The flag that decides about permissions and manifests. */
export const flag = Flag.toggle("webhooks", {
  description: "Serve the webhooks, and apply their configurations"
})

/** The port of the webhooks, as in controller-runtime. */
export const usualPort = 9443

/** The flags of `run`. */
export const flags = {
  webhooks: flag,
  webhookAddress: Flag.parsed("webhook-bind-address", {
    placeholder: "ADDRESS",
    description: `The address that serves the webhooks (default :${usualPort})`,
    parse: BindAddress.required,
    otherwise: { hostname: undefined, port: usualPort }
  }),
  webhookUrl: Flag.parsed("webhook-url", {
    placeholder: "URL",
    description: "How the API server reaches this program outside of the cluster (default a Service)",
    parse: (text) =>
      /^https:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text)
        ? Result.succeed(text)
        : Result.fail(`invalid URL: "${text}" (write it like https://host:9443)`),
    otherwise: undefined
  }),
  webhookCertDir: Flag.text("webhook-cert-dir", {
    placeholder: "DIR",
    description: "Folder of tls.crt, tls.key and ca.crt, reloaded on change (default a certificate of its own)"
  }),
  webhookClientCa: Flag.text("webhook-client-ca", {
    placeholder: "FILE",
    description: "CAs of the API servers (default no verification)"
  }),
  webhookClientName: Flag.text("webhook-client-name", {
    placeholder: "NAME",
    description: "Common name of their certificates (default any name)"
  })
} as const

/** The values of the flags. */
export type Settings = Flag.Values<typeof flags> & { readonly namespaces: ReadonlyArray<string> }

/** The namespace of the Service and the Secret: that of the pod, or else of the kubeconfig context. */
export const namespaceOf = ({ namespace }: { readonly namespace?: string | undefined }): string =>
  namespace ?? "default"

/** The Service of the webhooks. */
export const serviceOf = (program: string): string => `${program}-webhook`

/** The Secret with the certificate that the replicas share. */
export const secretOf = (program: string): string => `${program}-webhook-certificate`

/** The settings of the objects that the API server reads. */
export const targetOf = (
  program: Program<unknown>,
  { namespaces, webhookUrl }: Pick<Settings, "namespaces"> & Partial<Settings>,
  namespace: string
): Configuration.Settings => ({
  program: program.name,
  namespace,
  namespaces,
  target: webhookUrl === undefined ? { service: { namespace, name: serviceOf(program.name) } } : { url: webhookUrl }
})

/** The Service that converts between the versions of a kind, for a CRD. The manager adds the CA. */
export const conversionOf = (program: Program<unknown>, namespace: string): Crds.ClientConfig =>
  Configuration.clientConfig(targetOf(program, { namespaces: [] }, namespace).target, "/convert")

/** The permissions of the webhooks in a namespace of the program; none without `--webhooks`. */
export const access = (
  program: Program<unknown>,
  settings: { readonly webhooks: boolean; readonly namespaces: ReadonlyArray<string> },
  namespace: string
): ReadonlyArray<Access.Access> => {
  if (!settings.webhooks) return []
  const declared = program.webhooks ?? []
  const target = targetOf(program, settings, namespace)
  const { mutating, validating } = Configuration.configurations(declared, target, undefined)
  const policies = Configuration.policies(declared, target).map(({ policy }) => policy.metadata.name)
  const crds = Kinds.converted(program).map(nameOf)
  const names = [secretOf(program.name)]
  // In all namespaces of the manager, as those of controllers.
  const own = declared
    .flatMap((each) => each.access)
    .flatMap((each) =>
      settings.namespaces.length === 0 || each.namespace !== undefined || !each.resource.namespaced
        ? [each]
        : settings.namespaces.map((namespace) => ({ ...each, namespace }))
    )
  const written = (resource: Access.Target, names: ReadonlyArray<string>) =>
    names.length === 0 ? [] : [Access.of(resource, ["get", "patch"], { names }), Access.create(resource)]
  return [
    ...own,
    Access.of(BuiltIn.Secret, ["get", "update", "delete"], { names, namespace }),
    Access.create(BuiltIn.Secret, { namespace }),
    ...written(BuiltIn.ValidatingWebhookConfiguration, validating === undefined ? [] : [validating.metadata.name]),
    ...written(BuiltIn.MutatingWebhookConfiguration, mutating === undefined ? [] : [mutating.metadata.name]),
    ...written(BuiltIn.ValidatingAdmissionPolicy, policies),
    ...written(BuiltIn.ValidatingAdmissionPolicyBinding, policies),
    ...(crds.length === 0 ? [] : [Access.of(BuiltIn.CustomResourceDefinition, ["get", "patch"], { names: crds })])
  ]
}

/** Rejects a program whose kinds need `--webhooks`, without the flag. */
export const required = (
  program: Program<unknown>,
  { webhooks }: { readonly webhooks: boolean }
): Result.Result<void, UsageError> => {
  const [kind] = Kinds.converted(program)
  return webhooks || kind === undefined
    ? Result.void
    : Result.fail(new UsageError({ message: `--webhooks: required for the versions of ${nameOf(kind)}` }))
}

/** Rejects `--webhooks` without an address at which the API server reaches a process outside of a cluster. */
export const addressed = (
  program: Program<unknown>,
  { webhooks, webhookUrl }: Flag.Values<typeof flags>,
  environment: NodeJS.ProcessEnv
): Result.Result<void, UsageError> => {
  const isCalled = (program.webhooks ?? []).some(({ hooks }) => hooks.length > 0) || Kinds.converted(program).length > 0
  return webhooks && isCalled && webhookUrl === undefined && environment.KUBERNETES_SERVICE_HOST === undefined
    ? Result.fail(
        new UsageError({
          message:
            "--webhook-url: required outside of a cluster (the address at which the API server reaches this process)"
        })
      )
    : Result.void
}

/** Rejects a program whose kinds or flags need `--webhooks`, and two declarations of one webhook. */
export const check = (
  program: Program<unknown>,
  settings: Flag.Values<typeof flags>
): Result.Result<void, UsageError> => {
  const refusal = (message: string) => Result.fail(new UsageError({ message }))
  const twice = Admission.duplicate(program.webhooks ?? [])
  if (twice !== undefined) return refusal(twice)
  if (settings.webhookClientName !== undefined && settings.webhookClientCa === undefined) {
    return refusal("--webhook-client-ca: required with --webhook-client-name")
  }
  if (settings.webhooks) return Result.void
  if (settings.webhookUrl !== undefined) return refusal("--webhooks: required with --webhook-url")
  if (settings.webhookCertDir !== undefined) return refusal("--webhooks: required with --webhook-cert-dir")
  if (settings.webhookClientCa !== undefined) return refusal("--webhooks: required with --webhook-client-ca")
  return required(program, settings)
}

/** An empty history of the program's admission webhooks, for `why`. */
export const admissionsOf = (program: Program<unknown>): Admissions.Admissions =>
  Admissions.make((program.webhooks ?? []).filter(({ hooks }) => hooks.length > 0).map(({ resource }) => resource))
