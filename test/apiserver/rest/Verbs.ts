/**
 * The verbs on the objects of a server. Each runs in one synchronous step, for requests and for controllers inside of the server. All throw
 * a Failure.
 */
import * as Admission from "../admission/Admission.ts"
import { internally, type ServerState, type WriteOptions } from "../admission/ServerState.ts"
import type { JsonObject } from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as Binding from "./Binding.ts"
import * as Create from "./Create.ts"
import * as CustomDefinitions from "./CustomDefinitions.ts"
import * as Delete from "./Delete.ts"
import * as Patch from "./Patch.ts"
import * as Read from "./Read.ts"
import * as Update from "./Update.ts"

/** The identity and the options of a writer. Absent options have the defaults of a client. */
export type Options = Partial<WriteOptions> & Pick<WriteOptions, "now">

/** The verbs. An empty subresource is the object itself. */
export interface Verbs {
  readonly create: (kind: Kind, namespace: string, object: JsonObject, options: Options) => JsonObject
  readonly update: (
    kind: Kind,
    subresource: string,
    namespace: string,
    name: string,
    object: JsonObject,
    options: Options
  ) => Update.Changed
  readonly patch: (
    kind: Kind,
    subresource: string,
    namespace: string,
    name: string,
    patch: Patch.Patch,
    options: Options & Partial<Patch.PatchOptions>
  ) => Update.Changed
  /** Deletes an object with DeleteOptions. */
  readonly delete: (
    kind: Kind,
    namespace: string,
    name: string,
    deleteOptions: JsonObject,
    options: Options
  ) => Delete.Deleted
  /** Assigns a pod to the node that a Binding names. */
  readonly bind: (pods: Kind, namespace: string, name: string, binding: JsonObject, options: Options) => void
  readonly get: (kind: Kind, namespace: string, name: string) => JsonObject
  /** All objects, or the objects of one namespace, in the version of the kind. */
  readonly list: (kind: Kind, namespace?: string) => ReadonlyArray<JsonObject>
}

/** The options of a write with its admission. */
export const admitted = (state: ServerState, options: WriteOptions): WriteOptions =>
  Admission.admitted(state, options, (target, object) =>
    Update.update(state, { ...target, subresource: "status" }, object, internally(state, options.now))
  )

/** The verbs of a server. */
export const make = (state: ServerState): Verbs => {
  const complete = (options: Options): WriteOptions =>
    admitted(state, { ...internally(state, options.now), ...options })
  /** The effects of a write of a custom kind, or of its CRD, run in the same step. */
  const reconciled = <A>(kind: Kind, options: Options, result: A): A => {
    if (options.dryRun !== true) CustomDefinitions.reconcile(state, kind, options.now)
    return result
  }
  return {
    create: (kind, namespace, object, options) =>
      reconciled(kind, options, Create.create(state, kind, namespace, object, complete(options))),
    update: (kind, subresource, namespace, name, object, options) =>
      reconciled(
        kind,
        options,
        Update.update(state, { kind, namespace, name, subresource }, object, complete(options))
      ),
    patch: (kind, subresource, namespace, name, patch, options) =>
      reconciled(
        kind,
        options,
        Patch.patch(state, { kind, namespace, name, subresource }, patch, {
          fieldValidation: "Strict",
          force: false,
          ...options,
          ...complete(options)
        })
      ),
    delete: (kind, namespace, name, deleteOptions, options) =>
      reconciled(kind, options, Delete.remove(state, kind, namespace, name, deleteOptions, complete(options))),
    bind: (pods, namespace, name, binding, options) =>
      Binding.bind(state, pods, namespace, name, binding, complete(options)),
    get: (kind, namespace, name) => Read.get(state, kind, namespace, name),
    list: (kind, namespace) => Read.all(state, kind, namespace)
  }
}
