/**
 * The intent of a child: the fields that the author sets, an owner reference and a hash. The hash distinguishes a new intent from a
 * child that another manager has changed.
 */
import type { Operation } from "../client/Patch.ts"
import { controllerOf, type DesiredMeta, type KubernetesObject, type ObjectKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type * as Recording from "../telemetry/Recording.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { type Settings, annotation as traceAnnotation } from "../telemetry/Tracing.ts"
import * as Drift from "./Drift.ts"

/**
 * The annotation on each child with the hash of the intent that was applied last. Every program has the same key: with another key, all
 * existing children would look changed.
 */
export const intentAnnotation = "homeostat.dev/intent"

/** The desired child of type D: metadata without the parts that {@link of} adds. */
export type Intended = { readonly metadata: DesiredMeta }

/** The kind and key of an intent. */
export const keyOf = (owner: KubernetesObject, kind: Resource.Any, { metadata }: Intended): ObjectKey => {
  if (metadata.name === undefined) throw new Error(`Owned.apply needs metadata.name on a ${kind.kind}`)
  const namespace = kind.namespaced ? (metadata.namespace ?? owner.metadata.namespace) : undefined
  return { name: metadata.name, namespace }
}

/**
 * The desired child with the `stringData` of a Secret in `data`, in base64. The API server stores it so, and never returns
 * `stringData`. Other kinds stay as they are.
 */
export const encoded = <D extends Intended>(kind: Resource.Any, desired: D): D => {
  if (kind.kind !== "Secret" || kind.group !== "" || !("stringData" in desired)) return desired
  const { data, stringData, ...rest } = Drift.json(desired)
  const texts = Object.entries(Drift.isRecord(stringData) ? stringData : {}).filter(([, text]) => text !== undefined)
  const added = texts.map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")] as const)
  return { ...rest, data: { ...(Drift.isRecord(data) ? data : {}), ...Object.fromEntries(added) } } as object as D
}

/**
 * The intent: the desired child with the owner reference and the hash.
 *
 * @param child the existing child, if any. Its hash stays if it has the same intent
 */
export const of = <D extends Intended>(
  owner: KubernetesObject,
  resource: Resource.Any,
  { namespace }: ObjectKey,
  desired: D,
  child: Intended | undefined
): D => {
  const { name, uid } = owner.metadata
  const reference = { apiVersion: Resource.apiVersionOf(resource), kind: resource.kind, name, uid }
  const metadata: { -readonly [Field in keyof DesiredMeta]: DesiredMeta[Field] } = { ...desired.metadata }
  if (namespace !== undefined) metadata.namespace = namespace
  metadata.ownerReferences = [{ ...reference, controller: true, blockOwnerDeletion: true }]
  const intent = { ...desired, metadata }
  // The hash is of the intent without the hash.
  const hash = digest(intent, child && hashOf(child))
  metadata.annotations = { ...metadata.annotations, [intentAnnotation]: hash }
  return intent
}

/**
 * The hash of an intent: 16 digits of its canonical form, and 16 digits of its text with the author's order of keys. The text is cheap to
 * hash and mostly the same. Only a different text needs the canonical form.
 *
 * @param standing the former hash. It stays if its canonical form is the same
 *
 * @internal
 */
export const digest = (intent: object, standing: string | undefined): string => {
  const text = Bun.hash.xxHash64(JSON.stringify(intent)).toString(16).padStart(16, "0")
  if (standing !== undefined && standing.length > 16 && standing.endsWith(text)) return standing
  const canonical = Bun.CryptoHasher.hash("sha256", Drift.canonical(Drift.json(intent)), "hex").slice(0, 16)
  return standing?.startsWith(canonical) === true ? standing : canonical + text
}

/** The intent with the hash of a child that was made from the same intent. */
export const as = <D extends Intended>(intent: D, child: Intended): D => {
  const standing = hashOf(child)
  const { annotations } = intent.metadata
  return standing === undefined || standing.slice(0, 16) !== hashOf(intent)?.slice(0, 16)
    ? intent
    : { ...intent, metadata: { ...intent.metadata, annotations: { ...annotations, [intentAnnotation]: standing } } }
}

/** The hash in the annotation of a child or an intent. */
export const hashOf = ({ metadata }: Intended): string | undefined => metadata.annotations?.[intentAnnotation]

/** Whether a child was made from this intent, for this owner. */
export const isOf = (intent: Intended, child: KubernetesObject): boolean =>
  hashOf(child) === hashOf(intent) && controllerOf(child)?.uid === intent.metadata.ownerReferences?.[0]?.uid

/**
 * The intent to send, with the trace of the write in an annotation, if the settings ask for one. Only a write that certainly changes
 * something else sends a new trace. Any other write repeats the existing annotation, because the server removes fields that an apply
 * omits.
 *
 * The annotation is not part of the intent: neither its hash nor a comparison includes it.
 */
export const traced = <D extends Intended>(
  intent: D,
  child: Intended | undefined,
  tracing: Settings | undefined,
  span: Recording.Span | undefined
): D => {
  if (tracing === undefined || tracing.propagation === "off") return intent
  const { annotation } = tracing
  const { annotations } = intent.metadata
  const changes = child === undefined || hashOf(child) !== hashOf(intent)
  const value = changes && span !== undefined ? TraceParent.format(span) : child?.metadata.annotations?.[annotation]
  return value === undefined || annotations?.[annotation] !== undefined
    ? intent
    : { ...intent, metadata: { ...intent.metadata, annotations: { ...annotations, [annotation]: value } } }
}

/** The intent with the trace annotation of a child, for the comparison of the parts that the intent owns alone. */
const standing = <D extends Intended>(intent: D, child: Intended, tracing: Settings | undefined): D => {
  const annotation = tracing?.annotation ?? traceAnnotation
  const value = child.metadata.annotations?.[annotation]
  const { annotations } = intent.metadata
  return value === undefined || annotations?.[annotation] !== undefined
    ? intent
    : { ...intent, metadata: { ...intent.metadata, annotations: { ...annotations, [annotation]: value } } }
}

/**
 * The foreign fields in the parts that the intent owns alone. The trace annotation is not in the intent, and not a foreign field.
 *
 * The annotation has the key of the settings, or the default key without tracing. After a change of that key, the old annotation is a
 * foreign field. One write per child removes it.
 */
export const foreignFieldsIn = (
  intent: Intended,
  child: KubernetesObject,
  exclusive: ReadonlyArray<ReadonlyArray<Drift.Step>> = [],
  tracing: Settings | undefined
): ReadonlyArray<Drift.ForeignField> =>
  exclusive.length === 0
    ? []
    : Drift.foreignFields(Drift.json(standing(intent, child, tracing)), Drift.json(child), exclusive)

/** The operations that make these parts match the intent, with the trace annotation of the child: see `Drift.restoration`. */
export const restorationOf = (
  intent: Intended,
  child: KubernetesObject,
  exclusive: ReadonlyArray<ReadonlyArray<Drift.Step>>,
  tracing: Settings | undefined
): ReadonlyArray<Operation> =>
  Drift.restoration(Drift.json(standing(intent, child, tracing)), Drift.json(child), exclusive)
