/** PATCH: the server writes a patched object like a PUT. It merges an apply by the managers of the fields. */

import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as Decode from "../codec/Decode.ts"
import type { PatchType } from "../codec/Negotiation.ts"
import * as UnknownFields from "../codec/UnknownFields.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as Create from "./Create.ts"
import * as Body from "./PatchBody.ts"
import type { FieldValidation } from "./Query.ts"
import * as Update from "./Update.ts"

/** The options of a patch. */
export interface PatchOptions extends WriteOptions {
  readonly fieldValidation: FieldValidation
  /** True if an apply takes fields from other managers. */
  readonly force: boolean
}

/** A patch as the client sent it. */
export interface Patch {
  readonly type: PatchType
  readonly text: string
}

/** Patches an object. Throws a Failure. */
export const patch = (
  state: ServerState,
  target: Update.Target,
  change: Patch,
  options: PatchOptions
): Update.Changed => {
  if (change.type === "apply") return apply(state, target, change.text, options)
  const body = Body.read(change.type, change.text)
  const current = Update.live(state, target)
  if (current === undefined) throw Failure.notFound(target.kind, target.name)
  const draft = changed(state, target.kind, current, body, options)
  const strategy = Update.strategyOf(target)
  ObjectMeta.ensureNamespace(target.kind, ObjectMeta.draftOf(draft), target.namespace)
  ObjectMeta.checkName(draft, target.name)
  Update.fill(strategy, draft)
  ObjectMeta.dedupOwnerReferences(ObjectMeta.draftOf(draft), options.warn, true)
  const managed = ManagedFields.updated(Update.writeOf(state, target, options), current, draft)
  return Update.commit(state, target, current, managed, options)
}

/** A new object: the patched object, decoded like the body of a request. Throws a Failure. */
export const changed = (
  { registry }: ServerState,
  kind: Kind,
  current: Json.JsonObject,
  body: Body.Patch,
  options: PatchOptions
): Json.DraftObject => Body.apply(kind, body, current, { ...options, knows: registry.knows })

const apply = (state: ServerState, target: Update.Target, text: string, options: PatchOptions): Update.Changed => {
  const intent = intentOf(text, options)
  const current = Update.live(state, target)
  const uid = Json.text(Json.at(intent, "metadata", "uid")) ?? ""
  if (current === undefined && target.subresource !== "" && !target.kind.createOnUpdate)
    throw Failure.notFound(target.kind, target.name)
  if (current === undefined && uid !== "") {
    throw Failure.conflict(
      target.kind,
      target.name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
    )
  }
  const write = {
    ...Update.writeOf(state, target, options),
    force: options.force,
    default: (draft: Json.DraftObject) => {
      if (!target.kind.custom) convertible(target.kind, draft)
      Update.strategyOf(target).default(draft)
    }
  }
  const applied = Json.copy(ManagedFields.applied(write, current, intent))
  const metadata = ObjectMeta.draftOf(applied)
  ObjectMeta.ensureNamespace(target.kind, metadata, target.namespace)
  ObjectMeta.checkName(applied, target.name)
  ObjectMeta.dedupOwnerReferences(metadata, options.warn, true)
  if (current !== undefined) return Update.commit(state, target, current, applied, options)
  // An apply that creates the object may have a resourceVersion. It conflicts only with an existing object.
  delete metadata.resourceVersion
  const strategy = Update.strategyOf(target)
  Update.checkCreation(target, options)
  return { object: Create.insert(state, target.kind, target.namespace, applied, options, strategy), created: true }
}

/** Throws a Failure (500) if the merged object does not fit the Go type, because the schema of an apply has less precise types. */
const convertible = (kind: Kind, merged: Json.JsonObject): void => {
  try {
    UnknownFields.prune(kind.schema, merged, { decoder: "values" })
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    const type = `${apiVersionOf(kind).includes("/") ? "" : "/"}${apiVersionOf(kind)}, Kind=${kind.kind}`
    const key = `${ObjectMeta.namespaceOf(merged)}/${ObjectMeta.nameOf(merged)}`
    throw Failure.plain(
      `failed to convert new object (${key}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${error.message}`
    )
  }
}

const intentOf = (text: string, { fieldValidation, warn }: PatchOptions): Json.JsonObject => {
  const { duplicates, value } = yaml(text)
  if (duplicates.length > 0 && fieldValidation === "Strict") {
    throw Failure.badRequest(`error strict decoding YAML: ${duplicates.join(", ")}`)
  }
  if (fieldValidation === "Warn") for (const duplicate of duplicates) warn(duplicate)
  return Json.object(value)
}

const yaml = (text: string): Decode.Parsed => {
  try {
    return Decode.parse(text, "yaml")
  } catch (error) {
    throw error instanceof Failure.Failure ? Failure.badRequest(`error decoding YAML: ${error.message}`) : error
  }
}
