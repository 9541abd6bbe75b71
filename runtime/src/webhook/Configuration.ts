/**
 * The webhook configurations, and the policies that the API server evaluates itself.
 *
 * A manager that does not answer must not block others. So the API server calls the webhooks of a custom kind only for changes of the
 * spec. It never calls them for updates of an object that is being deleted, and it ignores failed calls for built-in kinds and deletions.
 * Built-in kinds of `kube-system` and of the program's own namespace are exempt.
 */
import * as CustomResource from "../resource/CustomResource.ts"
import { nameOf } from "../resource/Resource.ts"
import * as Admission from "./Admission.ts"

/** Where the API server calls the webhooks. */
export type Target =
  | { readonly service: { readonly namespace: string; readonly name: string } }
  /** The address of a program outside of the cluster: `https://host:9443`. */
  | { readonly url: string }

/** The settings of the objects. */
export interface Settings {
  /** The name of the program: the name of the configurations, and the prefix of the policies. */
  readonly program: string
  readonly target: Target
  /** The namespace of the program, whose built-in objects are exempt. */
  readonly namespace: string
  /** The namespaces of the manager; empty for all. */
  readonly namespaces: ReadonlyArray<string>
}

type Declared = ReadonlyArray<Admission.Admission<unknown>>

/** The address of a path, in its wire form, without `caBundle`. */
export const clientConfig = (target: Target, path: string) =>
  "url" in target ? { url: new URL(path, target.url).href } : { service: { ...target.service, path, port: 443 } }

/** The name of a kind in the names of policies and webhooks, which need three parts. */
const kindName = (resource: Admission.Admission["resource"], program: string): string =>
  resource.group.includes(".") ? nameOf(resource) : `${resource.plural}.${resource.group || "core"}.${program}`

/** Looks at the stored object: a client may claim a deletionTimestamp in a creation. */
const notDeleted = {
  name: "not-being-deleted",
  expression: "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"
}

const specChanged = {
  name: "spec-changed",
  expression:
    "oldObject == null || object == null || has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)"
}

/** The namespace controller and the garbage collector, which must be able to remove objects. */
const notCollected = {
  name: "not-garbage-collection",
  expression:
    '!(request.userInfo.username in ["system:serviceaccount:kube-system:namespace-controller", "system:serviceaccount:kube-system:generic-garbage-collector"])'
}

const conditionsOf = (changes: "spec" | "all", deletes = false) =>
  deletes ? [notCollected] : [notDeleted, ...(changes === "spec" ? [specChanged] : [])]

/** The selector of namespaces; absent for a cluster-scoped kind without one. */
const namespaceSelectorOf = (
  resource: Admission.Admission["resource"],
  own: Admission.LabelSelector | undefined,
  { namespace, namespaces }: Settings
): Admission.LabelSelector | undefined => {
  if (!resource.namespaced) return own
  const key = "kubernetes.io/metadata.name"
  const expressions = [
    ...(own?.matchExpressions ?? []),
    ...(namespaces.length === 0 ? [] : [{ key, operator: "In", values: namespaces }]),
    ...(CustomResource.isCustomResource(resource) || own !== undefined
      ? []
      : [{ key, operator: "NotIn", values: [...new Set(["kube-system", namespace])] }])
  ]
  return expressions.length === 0 ? own : { ...own, matchExpressions: expressions }
}

const ruleOf = (
  resource: Admission.Admission["resource"],
  operations: ReadonlyArray<string>,
  { scale = false }: Pick<Admission.Rule, "scale"> = {}
) => ({
  apiGroups: [resource.group],
  apiVersions: [resource.version],
  operations,
  resources: [resource.plural, ...(scale ? [`${resource.plural}/scale`] : [])],
  scope: resource.namespaced ? "Namespaced" : "Cluster"
})

/** The name of both webhook configurations. Managers of single namespaces have their own. */
const configurationName = ({ namespace, namespaces, program }: Settings): string =>
  namespaces.length === 0 ? program : `${program}.${namespace}`

/** The labels of all objects, for `kubectl get -l`. */
const labelsOf = (settings: Settings) => ({
  "app.kubernetes.io/managed-by": settings.program,
  "app.kubernetes.io/instance": configurationName(settings)
})

const webhookOf = (
  { resource }: Admission.Admission<unknown>,
  hook: Admission.Hook<unknown>,
  settings: Settings,
  caBundle: string | undefined
) => {
  const { matchConditions = [], namespaceSelector, objectSelector } = hook.options
  const selector = namespaceSelectorOf(resource, namespaceSelector, settings)
  const deletes = hook.operations.includes("DELETE")
  return {
    name: `${deletes ? "validate-deletion" : hook.type}.${kindName(resource, settings.program)}`,
    admissionReviewVersions: ["v1"],
    clientConfig: {
      ...clientConfig(settings.target, Admission.pathOf(resource, hook)),
      ...(caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString("base64") })
    },
    failurePolicy: hook.failurePolicy,
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: hook.timeoutSeconds,
    rules: [ruleOf(resource, hook.operations)],
    matchConditions: [...conditionsOf(hook.changes, deletes), ...matchConditions],
    ...(selector === undefined ? {} : { namespaceSelector: selector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
    ...(hook.type === "mutate" ? { reinvocationPolicy: "IfNeeded" } : {})
  }
}

/** An object to apply. */
export interface Desired {
  readonly metadata: { readonly name: string; readonly labels: { readonly [name: string]: string } }
  readonly webhooks: ReadonlyArray<ReturnType<typeof webhookOf>>
}

/** The webhook configurations; those without webhooks are absent. */
export const configurations = (
  declared: Declared,
  settings: Settings,
  caBundle: string | undefined
): { readonly validating: Desired | undefined; readonly mutating: Desired | undefined } => {
  const of = (type: Admission.Hook["type"]): Desired | undefined => {
    const webhooks = declared.flatMap((each) =>
      each.hooks.flatMap((hook) => (hook.type === type ? [webhookOf(each, hook, settings, caBundle)] : []))
    )
    return webhooks.length === 0
      ? undefined
      : { metadata: { name: configurationName(settings), labels: labelsOf(settings) }, webhooks }
  }
  return { validating: of("validate"), mutating: of("mutate") }
}

/** The policies and their bindings, one of each for every rule. */
export const policies = (declared: Declared, settings: Settings) =>
  declared.flatMap(({ failurePolicy, resource, rules }) =>
    rules.map((rule) => {
      const name = `${configurationName(settings)}.${rule.name}.${kindName(resource, settings.program)}`
      const metadata = { name, labels: labelsOf(settings) }
      const selector = namespaceSelectorOf(resource, undefined, settings)
      return {
        rule,
        resource,
        policy: {
          metadata,
          spec: {
            failurePolicy,
            matchConstraints: {
              matchPolicy: "Equivalent",
              resourceRules: [ruleOf(resource, ["CREATE", "UPDATE"], rule)],
              ...(selector === undefined ? {} : { namespaceSelector: selector })
            },
            // Without the manager, so a rule about all changes also applies to an object that is being deleted.
            matchConditions: rule.changes === "spec" ? conditionsOf(rule.changes) : [],
            validations: [
              {
                expression: rule.expression,
                message: rule.message,
                ...(rule.messageExpression === undefined ? {} : { messageExpression: rule.messageExpression })
              }
            ]
          }
        },
        binding: { metadata, spec: { policyName: name, validationActions: [rule.action] } }
      }
    })
  )

/** One line for each kind: which checks the API server evaluates itself, and which call this program. */
export const summary = (declared: Declared): ReadonlyArray<string> =>
  declared.flatMap(({ hooks, resource, rules }) => [
    ...(rules.length === 0
      ? []
      : [`${nameOf(resource)}: the API server evaluates ${rules.map(({ name }) => name).join(", ")} (CEL)`]),
    ...hooks.map(
      ({ failurePolicy, operations, type }) =>
        `${nameOf(resource)}: the API server calls this program to ${type} ${operations.join(" and ")} (failurePolicy ${failurePolicy})`
    )
  ])
