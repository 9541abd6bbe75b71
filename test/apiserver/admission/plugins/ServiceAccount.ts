/**
 * The admission plugin ServiceAccount, which the option `admissionPlugins` enables. A new pod gets a ServiceAccount, its token in a volume,
 * and the image pull secrets of the account.
 */
import { drafts } from "../../kinds/Definition.ts"
import type { Attributes } from "../../model/Attributes.ts"
import * as Failure from "../../model/Failure.ts"
import { at, copy, type DraftObject, items, type JsonObject, list, member, objects, text } from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { annotationsOf, nameOf } from "../../model/ObjectMeta.ts"
import type { Identity } from "../../storage/Identity.ts"
import { shownName } from "../AdmissionRequest.ts"

const mirror = "kubernetes.io/config.mirror"
const enforced = "kubernetes.io/enforce-mountable-secrets"

const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
const volumePrefix = "kube-api-access-"

/** Sets the account, the volume and the secrets of a new pod. Throws a Failure (403) for a missing account or a forbidden Secret. */
export const admit = (
  pod: DraftObject,
  attributes: Omit<Attributes, "object">,
  identity: Identity,
  writing: Writing
): void => {
  const refuse = (message: string) =>
    Failure.forbidden(attributes.resource, shownName({ ...attributes, object: pod as JsonObject }), message)
  if (annotationsOf(pod as JsonObject)[mirror] !== undefined) {
    const problem = mirrored(pod as JsonObject)
    if (problem !== undefined) throw refuse(problem)
    return
  }
  const spec = member(pod, "spec")
  const name = text(spec.serviceAccountName) || "default"
  spec.serviceAccountName = name
  spec.serviceAccount = name
  const account = writing.stored("/serviceaccounts", attributes.namespace).find((one) => nameOf(one) === name)
  if (account === undefined) {
    const missing = `serviceaccount ${JSON.stringify(name)} not found`
    throw refuse(`error looking up service account ${attributes.namespace}/${name}: ${missing}`)
  }
  if ((spec.automountServiceAccountToken ?? account.automountServiceAccountToken) !== false) mount(spec, identity)
  const secrets = objects(account.imagePullSecrets)
  if (list(at(pod as JsonObject, "spec", "imagePullSecrets")).length === 0 && secrets.length > 0) {
    items(spec, "imagePullSecrets").push(...secrets.map((secret) => ({ name: text(secret.name) ?? "" })))
  }
  if (isTrue(annotationsOf(account)[enforced])) {
    const problem = unallowed(pod as JsonObject, account)
    if (problem !== undefined) throw refuse(problem)
  }
}

/** True for the texts that Go's `strconv.ParseBool` parses as true. */
const isTrue = (value: unknown): boolean => ["1", "t", "T", "true", "TRUE", "True"].includes(String(value))

/** The error for a mirror pod of a kubelet, which must not have an account or Secrets. */
const mirrored = (pod: JsonObject): string | undefined => {
  const spec = at(pod, "spec")
  if ((text(at(spec, "serviceAccountName")) ?? "") !== "") return "a mirror pod may not reference service accounts"
  const volumes = objects(at(spec, "volumes"))
  const hasSecret =
    volumes.some(({ secret }) => secret !== undefined) ||
    objects(at(spec, "imagePullSecrets")).length > 0 ||
    containersOf(pod).some(({ container }) => secretsOf(container).length > 0)
  if (hasSecret) return "a mirror pod may not reference secrets"
  const hasToken = volumes.some((volume) =>
    objects(at(volume, "projected", "sources")).some((source) => source.serviceAccountToken !== undefined)
  )
  return hasToken ? "a mirror pod may not use ServiceAccountToken volume projections" : undefined
}

const containersOf = (pod: JsonObject) =>
  [
    ["initContainers", "init container"],
    ["containers", "container"]
  ].flatMap(([from = "", role = ""]) =>
    objects(at(pod, "spec", from)).map((container) => ({ container, shown: `${role} ${text(container.name)}` }))
  )

interface Reference {
  readonly secret: string
  readonly by: string
}

/** The Secrets in the environment of a container. */
const secretsOf = (container: JsonObject): ReadonlyArray<Reference> => [
  ...objects(container.env).flatMap((variable) => {
    const secret = text(at(variable, "valueFrom", "secretKeyRef", "name"))
    return secret === undefined ? [] : [{ secret, by: `envVar ${text(variable.name)}` }]
  }),
  ...objects(container.envFrom).flatMap((source) => {
    const secret = text(at(source, "secretRef", "name"))
    return secret === undefined ? [] : [{ secret, by: "envFrom" }]
  })
]

/** The error about the first Secret of a pod that its account does not list. */
const unallowed = (pod: JsonObject, account: JsonObject): string | undefined => {
  const shown = `service account ${nameOf(account)} does not reference that`
  const mountable = objects(account.secrets).map(({ name }) => name)
  for (const volume of objects(at(pod, "spec", "volumes"))) {
    const secret = text(at(volume, "secret", "secretName"))
    if (secret !== undefined && !mountable.includes(secret)) {
      return `volume with secret.secretName="${secret}" is not allowed because ${shown} secret`
    }
  }
  for (const { container, shown: name } of containersOf(pod)) {
    const found = secretsOf(container).find(({ secret }) => !mountable.includes(secret))
    if (found !== undefined) {
      return `${name} with ${found.by} referencing secret.secretName="${found.secret}" is not allowed because ${shown} secret`
    }
  }
  const pullable = objects(account.imagePullSecrets).map(({ name }) => name)
  for (const [index, { name }] of objects(at(pod, "spec", "imagePullSecrets")).entries()) {
    if (!pullable.includes(name)) {
      return `imagePullSecrets[${index}].name="${name}" is not allowed because ${shown} imagePullSecret`
    }
  }
  return undefined
}

/** Mounts a token, the certificates of the API server and the namespace in each container. */
const mount = (spec: DraftObject, identity: Identity): void => {
  const found = drafts(spec, "volumes").find(({ name }) => String(name).startsWith(volumePrefix))
  const name = found === undefined ? identity.name(volumePrefix) : String(found.name)
  let isMounted = false
  for (const from of ["initContainers", "containers"]) {
    for (const container of drafts(spec, from)) {
      if (drafts(container, "volumeMounts").some((one) => one.mountPath === mountPath)) continue
      items(container, "volumeMounts").push({ name, readOnly: true, mountPath })
      isMounted = true
    }
  }
  if (found === undefined && isMounted) items(spec, "volumes").push({ name, projected: copy(tokens) })
}

const tokens: JsonObject = {
  defaultMode: 0o644,
  sources: [
    // An hour and seven seconds. A kube-apiserver recognizes its own volumes by this value.
    { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    { downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] } }
  ]
}
