/** The Secrets of a mover: names of keys, never a value. The kubelet passes the values to the pod. Pure. */
import * as Result from "effect/Result"
import type { Backup } from "../kinds/Backup.ts"
import type * as Usage from "../volumes/Usage.ts"
import * as Destination from "./Destination.ts"

/** A key of a Secret. */
export interface KeyReference {
  readonly name: string
  readonly key: string
}

/** The Secrets of a Backup. */
export interface References {
  /** The Secret whose keys are restic's environment variables. */
  readonly credentials: string
  /** `spec.repository.credentialsSecretRef` names it, so it must exist, even if no key is needed. */
  readonly named: boolean
  /** Replaces RESTIC_PASSWORD of the credentials. */
  readonly password: KeyReference | undefined
  readonly ca: KeyReference | undefined
}

/** The Secrets of a Backup with this name. */
export const references = (name: string, repository: Backup["spec"]["repository"]): References => ({
  credentials: repository?.credentialsSecretRef?.name ?? `${name}-backup-credentials`,
  named: repository?.credentialsSecretRef !== undefined,
  password: repository?.passwordSecretRef,
  ca: repository?.caSecretRef
})

/** The names of the Secrets, each with the keys whose values are secret. A certificate is public. */
export const secrets = (
  { ca, credentials, password }: References,
  destination: Destination.Destination
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const keys = new Map<string, ReadonlyArray<string>>([[credentials, Destination.allowed(destination)]])
  if (password !== undefined) keys.set(password.name, [...(keys.get(password.name) ?? []), password.key])
  if (ca !== undefined) keys.set(ca.name, keys.get(ca.name) ?? [])
  return keys
}

/** Why no Job is possible, with the missing or invalid keys and their Secret. */
export interface Refusal {
  readonly reason: "CredentialsMissing" | "CredentialsInvalid"
  readonly message: string
}

/** The Secret values in the mover's pod. */
export interface Mounts {
  /** restic's variables: keys of Secrets, paths of files in `volumeMounts`, and AWS_DEFAULT_REGION with a region. */
  readonly env: ReadonlyArray<Usage.EnvVar>
  readonly volumes: ReadonlyArray<Usage.Volume>
  readonly volumeMounts: ReadonlyArray<Usage.VolumeMount>
}

/** The known facts. */
export interface Options {
  readonly destination: Destination.Destination
  readonly references: References
  /** The keys with a value of each Secret that exists. */
  readonly secrets: ReadonlyMap<string, ReadonlyArray<string>>
  /** Whether the value of a key has a control character; undefined: none has. */
  readonly isUnprintable?: (secret: string, key: string) => boolean
  /** Whether the pod has its own ServiceAccount, which may have an identity in the cloud. */
  readonly ownIdentity: boolean
  /** `spec.repository.region`, which replaces AWS_DEFAULT_REGION of the credentials. */
  readonly region?: string | undefined
}

/** The values for the pod, or all missing keys, or else all invalid ones. */
export const mounts = (options: Options): Result.Result<Mounts, Refusal> => {
  const missing = [...ofCredentials(options), ...ofKeys(options)]
  if (missing.length > 0) return Result.fail({ reason: "CredentialsMissing", message: missing.join("; ") })
  const values = given(options)
  const invalid = ofValues(options, values)
  return invalid.length === 0
    ? Result.succeed(values)
    : Result.fail({ reason: "CredentialsInvalid", message: invalid.join("; ") })
}

/** Whether a value of a Secret, in base64, has a control character: a line break at its end, for example of `echo`. */
export const hasControl = (base64: string): boolean =>
  Buffer.from(base64, "base64").some((byte) => byte < 0x20 || byte === 0x7f)

/**
 * The variables whose value has a control character. A destination refuses them with another message, or the header of a request cannot
 * have them. The repository's password may have any character: a repository with such a password exists.
 */
const ofValues = ({ isUnprintable }: Options, { env }: Mounts): ReadonlyArray<string> =>
  env.flatMap(({ name: variable, valueFrom }) => {
    const { key, name = "" } = valueFrom?.secretKeyRef ?? {}
    return variable !== password && key !== undefined && isUnprintable?.(name, key) === true
      ? [`control character in key ${key} of Secret ${name} (remove it, for example the line break at the end)`]
      : []
  })

const password = "RESTIC_PASSWORD"

/** The missing keys of the credentials Secret. */
const ofCredentials = ({ destination, ownIdentity, references, secrets }: Options): ReadonlyArray<string> => {
  const { credentials, named } = references
  const keys = secrets.get(credentials)
  const has = [...(keys ?? []), ...(references.password === undefined ? [] : [password])]
  const lacking = Destination.missing(destination, has, { ownIdentity })
  if (lacking.length === 0) {
    return keys === undefined && named
      ? [`Secret of spec.repository.credentialsSecretRef not found: ${credentials} (create it, or remove the field)`]
      : []
  }
  const needed = Destination.missing(destination, has, { ownIdentity: true })
  const instead =
    needed.length < lacking.length
      ? ", or set spec.serviceAccountName to a ServiceAccount with an identity in the cloud"
      : ""
  if (keys === undefined) return [`Secret not found: ${credentials} (create it with ${listed(lacking)}${instead})`]
  return [`keys missing or empty in Secret ${credentials}: ${listed(lacking)} (add them${instead})`]
}

/** The missing keys of those that the spec names. */
const ofKeys = ({ references: { ca, password }, secrets }: Options): ReadonlyArray<string> =>
  Object.entries({ passwordSecretRef: password, caSecretRef: ca }).flatMap(([field, reference]) => {
    if (reference === undefined) return []
    const { key, name } = reference
    const keys = secrets.get(name)
    const of = `of spec.repository.${field}`
    if (keys === undefined) return [`Secret ${of} not found: ${name} (create it with ${key})`]
    if (keys.includes(key)) return []
    return [`key ${of} missing or empty in Secret ${name}: ${key} (add it)`]
  })

const listed = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`

/** The folder of credential files. */
const credentialsPath = "/credentials"
const caPath = "/tls"
const caFile = "ca.crt"

const given = ({ destination, references, region, secrets }: Options): Mounts => {
  const { ca, credentials } = references
  const filled = new Set(secrets.get(credentials))
  // restic uses this variable only for S3.
  const ownRegion = destination._tag === "S3" ? region : undefined
  const replaced = new Set([
    ...(references.password === undefined ? [] : [password]),
    ...(ownRegion === undefined ? [] : [regionVariable])
  ])
  const names = Destination.allowed(destination).filter((name) => filled.has(name) && !replaced.has(name))
  const { files } = Destination.variables(destination)
  const mounted = [
    {
      name: "credentials",
      secret: credentials,
      path: credentialsPath,
      items: names.filter((name) => files.includes(name)).map((key) => ({ key, path: key }))
    },
    ...(ca === undefined ? [] : [{ name: "ca", secret: ca.name, path: caPath, items: [{ key: ca.key, path: caFile }] }])
  ].filter(({ items }) => items.length > 0)
  return {
    env: [
      ...names.map((name) =>
        files.includes(name) ? { name, value: `${credentialsPath}/${name}` } : ofSecret(name, credentials, name)
      ),
      ...(references.password === undefined
        ? []
        : [ofSecret(password, references.password.name, references.password.key)]),
      ...(ownRegion === undefined ? [] : [{ name: regionVariable, value: ownRegion }]),
      ...(ca === undefined ? [] : [{ name: "RESTIC_CACERT", value: `${caPath}/${caFile}` }])
    ],
    volumes: mounted.map(({ items, name, secret }) => ({
      name,
      // The files belong to root, and the mover's user must be able to read them.
      secret: { secretName: secret, items, defaultMode: 0o444 }
    })),
    volumeMounts: mounted.map(({ name, path }) => ({ name, mountPath: path, readOnly: true }))
  }
}

const regionVariable = "AWS_DEFAULT_REGION"

const ofSecret = (variable: string, name: string, key: string): Usage.EnvVar => ({
  name: variable,
  valueFrom: { secretKeyRef: { name, key } }
})
