/** The pod template of a WebApp. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Config from "./Config.ts"
import * as Probes from "./Probes.ts"
import * as Restricted from "./Restricted.ts"
import type { Selector } from "./Selector.ts"
import * as Spread from "./Spread.ts"
import * as Volumes from "./Volumes.ts"
import type { WebApp } from "./WebApp.ts"

type Template = NonNullable<Deployment["spec"]>["template"]
type Container = NonNullable<Template["spec"]>["containers"][number]
type Metadata = NonNullable<Template["metadata"]>

/**
 * The template of the Deployment: the fields of the WebApp, over those of `spec.podTemplate`, over the defaults.
 *
 * @param container the name of the container with the image
 * @param metadata the labels and annotations of the pods
 * @param selector the selector of the Deployment
 */
export const of = (
  { spec }: WebApp,
  container: string,
  metadata: Metadata,
  selector: Selector = { matchLabels: metadata.labels ?? {} }
): Template => {
  const base = defaults(spec, container)
  // Every reconcile runs it.
  const under = spec.podTemplate === undefined ? base : merged(base, complete(spec.podTemplate))
  const template = withServiceAccount(merged(under, wanted(spec, container, metadata, selector)) as Template)
  return spec.security === "Restricted" && template.spec !== undefined
    ? { ...template, spec: Restricted.of(template.spec, container) }
    : template
}

/** The template with the defaults of a readiness probe. The controller owns the probe alone, and would remove the defaults that the API server adds. */
const complete = (template: Fields): Fields => {
  const { spec } = template
  if (!isFields(spec) || !Array.isArray(spec.containers)) return template
  const containers = spec.containers.map((each: unknown) =>
    isFields(each) && isFields(each.readinessProbe)
      ? { ...each, readinessProbe: Probes.complete(each.readinessProbe) }
      : each
  )
  return { ...template, spec: { ...spec, containers } }
}

/** The template with both names of the ServiceAccount. The API server copies one to the other, so the removal of one would not remove both. */
const withServiceAccount = (template: Template): Template => {
  const name = template.spec?.serviceAccountName ?? template.spec?.serviceAccount
  return name === undefined || template.spec === undefined
    ? template
    : { ...template, spec: { ...template.spec, serviceAccountName: name, serviceAccount: name } }
}

/** The defaults, which `spec.podTemplate` and the fields of the WebApp replace. */
const defaults = ({ port, probes, termination }: WebApp["spec"], name: string): Template => {
  const container: { -readonly [K in keyof Container]: Container[K] } = { name }
  if (probes?.readiness === undefined) container.readinessProbe = Probes.standard(port)
  container.securityContext = { allowPrivilegeEscalation: false }
  // The status of a container that ended with an error then has the last lines of its log, and the condition quotes them.
  container.terminationMessagePolicy = "FallbackToLogsOnError"
  if (termination?.drainSeconds === undefined) container.lifecycle = drain(5)
  return {
    spec: {
      // Otherwise each Service of the namespace sets environment variables of the program.
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      terminationGracePeriodSeconds: 30,
      containers: [container]
    }
  }
}

/** The pod leaves the endpoints of the Service before its program gets the signal, so that a rollout loses no request. */
const drain = (seconds: number): NonNullable<Container["lifecycle"]> => ({ preStop: { sleep: { seconds } } })

const none: ReadonlyArray<never> = []

/** The fields that the spec sets. Fields without a value are `undefined`, which {@link merged} leaves out. */
const wanted = (spec: WebApp["spec"], container: string, metadata: Metadata, selector: Selector): object => {
  const { args, command, config = none, env = none, imagePullSecrets, resources, serviceAccountName } = spec
  const { termination, volumes = none } = spec
  const { livenessProbe, readinessProbe, startupProbe } = Probes.ofContainer(spec.probes, spec.port)
  return {
    metadata,
    spec: {
      serviceAccountName,
      imagePullSecrets,
      terminationGracePeriodSeconds: termination?.gracePeriodSeconds,
      volumes: joined(Volumes.ofPod(volumes), Config.volumesOf(config)),
      topologySpreadConstraints: spec.spread && Spread.of(spec.spread, selector),
      containers: [
        {
          name: container,
          image: spec.image,
          command,
          args,
          // Without a name: two ports with the same name are invalid, so a port that was added by hand could not be replaced.
          ports: [{ containerPort: spec.port, protocol: "TCP" }],
          // The variables of config come first, so that a value of spec.env can refer to them.
          env: joined(Config.envOf(config, env), env),
          envFrom: joined(Config.envFromOf(config), none),
          resources,
          readinessProbe,
          livenessProbe,
          startupProbe,
          lifecycle: termination?.drainSeconds ? drain(termination.drainSeconds) : undefined,
          volumeMounts: joined(Volumes.ofContainer(volumes), Config.mountsOf(config))
        }
      ]
    }
  }
}

/** Both lists as one. Undefined for an empty list, which the API server would drop. */
const joined = <A>(one: ReadonlyArray<A>, other: ReadonlyArray<A>): ReadonlyArray<A> | undefined =>
  one.length + other.length === 0 ? undefined : [...one, ...other]

/** These have exactly one member, so that two of them cannot be merged. */
const unions = new Set(["readinessProbe", "livenessProbe", "startupProbe", "preStop", "postStart"])

/** Lists whose entries have a key. */
const keys: { readonly [list: string]: string } = {
  containers: "name",
  initContainers: "name",
  volumes: "name",
  volumeMounts: "mountPath",
  env: "name",
  imagePullSecrets: "name"
}

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of both objects. The second one wins where both set a field. An undefined field does not count. */
const merged = (under: object, over: object): object => {
  const fields: { [key: string]: unknown } = { ...under }
  for (const field in over) {
    const value = (over as Fields)[field]
    if (value === undefined) continue
    const below = fields[field]
    const key = keys[field]
    if (key !== undefined && Array.isArray(below) && Array.isArray(value)) {
      fields[field] = mergedList(below, value, key, field.endsWith("ontainers"))
    } else if (field === "envFrom" && Array.isArray(below) && Array.isArray(value)) {
      // Without a key: of two sources with one variable, the later wins.
      fields[field] = [...below, ...value]
    } else fields[field] = isFields(below) && isFields(value) && !unions.has(field) ? merged(below, value) : value
  }
  return fields
}

/** The second list, and the entries of the first with other keys. Containers of the same name are merged. */
const mergedList = (
  under: ReadonlyArray<unknown>,
  over: ReadonlyArray<unknown>,
  key: string,
  isDeep: boolean
): ReadonlyArray<unknown> => {
  const keyOf = (entry: unknown) => (isFields(entry) ? entry[key] : undefined)
  // The usual container alone needs no table of keys.
  if (isDeep && under.length === 1 && over.length === 1 && keyOf(under[0]) === keyOf(over[0])) {
    return [merged(under[0] as object, over[0] as object)]
  }
  const rest = new Map(under.map((entry) => [keyOf(entry), entry]))
  const first = over.map((entry) => {
    const below = rest.get(keyOf(entry))
    rest.delete(keyOf(entry))
    return isDeep && isFields(below) && isFields(entry) ? merged(below, entry) : entry
  })
  return [...first, ...rest.values()]
}
