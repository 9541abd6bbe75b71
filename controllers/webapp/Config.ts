/**
 * The configuration of a WebApp: the ConfigMaps and Secrets that its pods read. Pure.
 *
 * A pod reads them when it starts. So the pod template has a hash of the referenced values, and a change of a value rolls the pods out.
 */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"
import type { EnvVar } from "./Environment.ts"

const objectName = Schema.String.check(
  Schema.isMaxLength(253),
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
)

const key = Schema.String.check(
  Schema.isMaxLength(253),
  Schema.isPattern(/^([-_a-zA-Z0-9]|[.][-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/)
)

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

/** One ConfigMap or Secret, as files or as environment variables. */
export const Config = Schema.Struct({
  configMap: optional(objectName, "The name of a ConfigMap of the same namespace."),
  secret: optional(objectName, "The name of a Secret of the same namespace."),
  mountPath: optional(
    Schema.String.check(Schema.isMaxLength(1024), Schema.isPattern(/^\/[^:]*$/)),
    "The directory in the container that has a file for each key, such as /etc/app. The container cannot write to it."
  ),
  env: optional(
    Schema.Struct({
      prefix: optional(
        Schema.String.check(Schema.isMaxLength(253), Schema.isPattern(/^[-_.a-zA-Z][-._a-zA-Z0-9]*$/)),
        "The beginning of the name of each variable, before the key."
      )
    }),
    "An environment variable for each key. A variable of spec.env with the same name wins."
  ),
  keys: optional(
    Schema.Array(key).check(Schema.isMinLength(1), Schema.isMaxLength(50)),
    "Only these keys; all keys by default. A change of another key does not roll the pods out."
  ),
  optional: optional(Schema.Boolean, "The pods start even where the object or a key of keys is missing.")
}).pipe(
  Field.rule({ rule: "has(self.configMap) != has(self.secret)", message: "set exactly one of configMap and secret" }),
  Field.rule({ rule: "has(self.mountPath) != has(self.env)", message: "set exactly one of mountPath and env" })
)

type Config = typeof Config.Type

/** The list of a WebApp's spec. */
export const list = Schema.Array(Config)
  .check(Schema.isMaxLength(20))
  .pipe(
    Field.listAtomic,
    Field.rule({
      rule: "self.all(each, !has(each.mountPath) || self.exists_one(other, has(other.mountPath) && other.mountPath == each.mountPath))",
      message: "each entry needs its own mountPath"
    })
  )

/** The rule of a spec with `config` and `volumes`. */
export const ownMountPaths = Field.rule({
  // Narrowing accepts this form: objects without `config` stay valid.
  rule: "has(self.config) ? !has(self.volumes) || self.config.all(each, !has(each.mountPath) || !self.volumes.exists(other, other.mountPath == each.mountPath)) : (true)",
  message: "a mountPath of config must not be one of volumes"
})

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>
type Container = PodSpec["containers"][number]

const none: ReadonlyArray<never> = []

/** The kinds of configuration. */
export type Kind = "ConfigMap" | "Secret"

/** A ConfigMap or Secret that the pods read. */
export interface Reference {
  readonly kind: Kind
  readonly name: string
  /** Only these keys; absent for all keys. */
  readonly keys?: ReadonlyArray<string> | undefined
  /** The pods start without it. */
  readonly optional: boolean
}

const referenceOf = ({ configMap, keys, optional = false, secret = "" }: Config): Reference =>
  configMap === undefined
    ? { kind: "Secret", name: secret, keys: keys && [...new Set(keys)], optional }
    : { kind: "ConfigMap", name: configMap, keys: keys && [...new Set(keys)], optional }

const optionally = ({ optional }: Reference) => (optional ? { optional } : {})

/** The same source at two paths is one volume. Its name does not depend on the order of the list. */
const volumeOf = (reference: Reference): NonNullable<PodSpec["volumes"]>[number] => {
  const { keys, kind, name } = reference
  const source = {
    ...(keys === undefined ? {} : { items: keys.map((key) => ({ key, path: key })) }),
    ...optionally(reference)
  }
  const hash = Bun.CryptoHasher.hash("sha256", JSON.stringify([kind, name, source]), "hex")
  return {
    name: `config-${hash.slice(0, 10)}`,
    ...(kind === "Secret" ? { secret: { secretName: name, ...source } } : { configMap: { name, ...source } })
  }
}

const mounted = (configs: ReadonlyArray<Config>) =>
  configs.flatMap((config) =>
    config.mountPath === undefined ? [] : [{ volume: volumeOf(referenceOf(config)), mountPath: config.mountPath }]
  )

/** The volumes of the pod. */
export const volumesOf = (configs: ReadonlyArray<Config>): NonNullable<PodSpec["volumes"]> =>
  configs.length === 0 ? none : [...new Map(mounted(configs).map(({ volume }) => [volume.name, volume])).values()]

/** The mounts of the container. */
export const mountsOf = (configs: ReadonlyArray<Config>): NonNullable<Container["volumeMounts"]> =>
  configs.length === 0
    ? none
    : mounted(configs).map(({ mountPath, volume }) => ({ name: volume.name, mountPath, readOnly: true }))

/**
 * The variables of single keys. A later variable replaces one with the same name, as in `envFrom`.
 *
 * @param own the variables of `spec.env`, which win
 */
export const envOf = (
  configs: ReadonlyArray<Config>,
  own: ReadonlyArray<{ readonly name: string }>
): NonNullable<Container["env"]> => {
  if (configs.length === 0) return none
  const names = new Set(own.map(({ name }) => name))
  const variables = configs.flatMap((config) => {
    const reference = referenceOf(config)
    const { keys = [], kind, name } = reference
    if (config.env === undefined) return []
    const { prefix = "" } = config.env
    return keys.map((key) => {
      const source = { name, key, ...optionally(reference) }
      const valueFrom = kind === "Secret" ? { secretKeyRef: source } : { configMapKeyRef: source }
      return { name: `${prefix}${key}`, valueFrom }
    })
  })
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()].filter(
    ({ name }) => !names.has(name)
  )
}

/** The sources of variables with all keys. */
export const envFromOf = (configs: ReadonlyArray<Config>): NonNullable<Container["envFrom"]> =>
  configs.flatMap((config) => {
    const reference = referenceOf(config)
    const { keys, kind, name } = reference
    if (config.env === undefined || keys !== undefined) return []
    const source = { name, ...optionally(reference) }
    return [{ ...config.env, ...(kind === "Secret" ? { secretRef: source } : { configMapRef: source }) }]
  })

/** The fields of a WebApp's spec with references. */
interface Spec {
  readonly config?: ReadonlyArray<Config>
  readonly env?: ReadonlyArray<typeof EnvVar.Type>
}

/** The references of `spec.config` and `spec.env`. Those of `spec.podTemplate` do not count. */
export const referencesOf = ({ config = none, env = none }: Spec): ReadonlyArray<Reference> => {
  // Every reconcile runs it.
  if (config.length === 0 && env.length === 0) return none
  return [...config.map(referenceOf), ...env.flatMap(inVariable)]
}

const inVariable = ({
  valueFrom: { configMapKeyRef, secretKeyRef } = {}
}: typeof EnvVar.Type): ReadonlyArray<Reference> => {
  const source = configMapKeyRef ?? secretKeyRef
  if (source === undefined) return []
  const { key, name, optional = false } = source
  return [{ kind: configMapKeyRef === undefined ? "Secret" : "ConfigMap", name, keys: [key], optional }]
}

/** The values of a referenced object. */
export interface Data {
  /** The hash of each value, by its key. */
  readonly hashes: ReadonlyMap<string, string>
  /** The length of all keys with their hashes, if it is more than {@link mostKeys}: then there is no hash. */
  readonly excess?: number | undefined
}

/** The values of a referenced object; undefined if it does not exist. */
export type Find = (reference: Reference) => Data | undefined

/** The present state of a WebApp's references. */
export interface Observed {
  /** The hash of the referenced values, for the pod template. */
  readonly hash: string
  /** The objects and keys that the pods need and that do not exist, as sentences; empty if there are none. */
  readonly missing: ReadonlyArray<string>
  /** The objects with more keys than the manager reads, as sentences. */
  readonly excessive: ReadonlyArray<string>
  /** The objects that exist, such as `ConfigMap shop`. */
  readonly found: ReadonlyArray<string>
  /** The optional objects that do not exist. */
  readonly absent: ReadonlyArray<string>
}

/** The state of the references; undefined without references. */
export const observe = (references: ReadonlyArray<Reference>, find: Find): Observed | undefined => {
  if (references.length === 0) return undefined
  const values = new Map<string, string>()
  const missing = new Set<string>()
  const found = new Set<string>()
  const absent = new Set<string>()
  const excessive = new Set<string>()
  for (const reference of references) {
    const { keys, kind, name, optional } = reference
    const object = `${kind} ${name}`
    const { excess, hashes: data } = find(reference) ?? {}
    if (excess !== undefined) {
      excessive.add(
        `${object} has too many keys: ${excess} characters, with a hash for each (at most ${mostKeys}; split it)`
      )
      continue
    }
    if (data !== undefined) found.add(object)
    else if (optional) absent.add(object)
    else missing.add(`${object} not found (create it, or set optional: true)`)
    for (const key of keys ?? data?.keys() ?? []) {
      const value = data?.get(key)
      if (value !== undefined) values.set(`${object} ${key}`, value)
      else if (data !== undefined && !optional) {
        missing.add(`key ${key} not found in ${object} (add it, or set optional: true)`)
      }
    }
  }
  // The order of the list and of the keys does not count.
  const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    hash: Bun.CryptoHasher.hash("sha256", JSON.stringify(sorted), "hex").slice(0, 32),
    missing: [...missing],
    excessive: [...excessive],
    found: [...found],
    absent: [...absent]
  }
}

/**
 * The characters of all keys of an object, with a hash for each: about 1,000 keys. The API server limits the values to 1 MiB, but not the
 * keys, of which an object may have 100,000.
 */
export const mostKeys = 64 * 1024

/** The annotation of the pod template with the hash of the referenced values. */
export const hashAnnotation = "apps.kubedojo.io/config-hash"

/** Whether the values are not known, because a reference is missing or has too many keys: the existing pods stay as they are, and a new WebApp gets no Deployment, whose pods could not start. */
export const isMissing = (observed: Observed | undefined): boolean =>
  observed !== undefined && observed.missing.length + observed.excessive.length > 0

/** The Deployment of a new WebApp with a missing reference. */
export const waiting = {
  problem: {
    reason: "Waiting",
    message: "the Deployment is created when the ConfigMaps, Secrets and keys of its pods exist"
  }
} as const

/** The type of the condition. */
export const conditionType = "ConfigReady"

/** The condition of the references. */
export const finding = ({ absent, excessive, found, missing }: Observed) => {
  if (excessive.length > 0) {
    return { status: "False" as const, reason: "ConfigTooLarge", message: listed(excessive, "; ") }
  }
  if (missing.length > 0) {
    return { status: "False" as const, reason: "ConfigNotFound", message: listed(missing, "; ") }
  }
  const parts = [
    ...(found.length > 0 ? [`found ${listed(found, ", ")}`] : []),
    ...(absent.length > 0 ? [`not found, but optional: ${listed(absent, ", ")}`] : [])
  ]
  return { status: "True" as const, reason: "ConfigFound", message: parts.join("; ") }
}

/** A status has room for a few. */
const listed = (texts: ReadonlyArray<string>, separator: string): string => {
  const most = 5
  const rest = texts.length - most
  return [...texts.slice(0, most), ...(rest > 0 ? [`and ${rest} more`] : [])].join(separator)
}
