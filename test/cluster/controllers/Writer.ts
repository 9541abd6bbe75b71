/** Makes the writes of controllers with the verbs of the server. */
import { Failure } from "@homeostat/apiserver/model/Failure"
import { at, type JsonObject, text } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import { nameOf, namespaceOf, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import type { Registry } from "@homeostat/apiserver/model/Registry"
import type { Verbs } from "@homeostat/apiserver/rest/Verbs"
import * as Step from "@homeostat/apiserver/storage/Step"
import type { Store } from "@homeostat/apiserver/storage/Store"
import type { BuiltInController, Record, Write } from "./BuiltInController.ts"
import type { Recorder } from "./Recorder.ts"

/** The target of the writes. */
export interface Target {
  readonly store: Store
  readonly registry: Registry
  readonly verbs: Verbs
}

/** The writer and the time of a pass. */
interface Writing extends Target {
  readonly recorder: Recorder
  readonly controller: BuiltInController
  readonly now: number
}

/**
 * Makes the writes of a pass in order. Returns the error that ended the pass; undefined if all writes succeeded. In a step that waits for
 * a webhook, finished writes are not repeated.
 */
export const write = (writing: Writing, writes: ReadonlyArray<Write>): Failure | undefined => {
  for (const one of writes) {
    const refused = attempt(writing, one)
    if (refused !== undefined) return refused
  }
  return undefined
}

const attempt = (writing: Writing, one: Write): Failure | undefined => {
  if (one.verb === "record") return record(writing, one)
  try {
    const written = Step.once(() => make(writing, one))
    return write(writing, one.done?.(written) ?? [])
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (isPointless(one, error)) return undefined
    write(writing, one.failed?.(error) ?? [])
    return error
  }
}

/** Whether an error can be ignored, because the object is gone or the namespace is terminating. */
const isPointless = ({ verb }: Exclude<Write, Record>, { code, details }: Failure): boolean =>
  verb === "create"
    ? details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
    : verb !== "update" && code === 404

const make = (writing: Writing, one: Exclude<Write, Record>): JsonObject => {
  const { controller, now, registry, verbs } = writing
  const { manager } = controller
  const kind = kindOf(registry, one.object)
  const [namespace, name] = [namespaceOf(one.object), nameOf(one.object)]
  const options = { now, manager }
  switch (one.verb) {
    case "create":
      if (one.subresource !== "binding") return verbs.create(kind, namespace, one.object, options)
      verbs.bind(kind, namespace, name, one.object, options)
      return one.object
    case "update":
      return verbs.update(kind, one.subresource ?? "", namespace, name, one.object, options).object
    case "patch": {
      const patch = { type: "merge" as const, text: JSON.stringify(one.patch) }
      return verbs.patch(kind, one.subresource ?? "", namespace, name, patch, options).object
    }
    case "apply": {
      const patch = { type: "apply" as const, text: JSON.stringify(one.object) }
      return verbs.patch(kind, "", namespace, name, patch, { now, manager: one.manager, force: true }).object
    }
    case "delete":
      verbs.delete(kind, namespace, name, deleteOptions(one), options)
      return one.object
  }
}

const deleteOptions = ({ object, propagation, unchanged }: Extract<Write, { verb: "delete" }>): JsonObject => ({
  preconditions: {
    uid: uidOf(object),
    ...(unchanged === true ? { resourceVersion: text(at(object, "metadata", "resourceVersion")) } : {})
  },
  ...(propagation === undefined ? {} : { propagationPolicy: propagation })
})

/** Returns the kind of a stored object. The API server need not serve the stored version. */
const kindOf = (registry: Registry, { apiVersion, kind }: JsonObject): Kind => {
  const named = registry.named(text(apiVersion) ?? "", text(kind) ?? "")
  const [group = ""] = (text(apiVersion) ?? "").includes("/") ? (text(apiVersion) ?? "").split("/") : [""]
  const found = named ?? registry.resources().find((one) => one.group === group && one.kind === kind)
  if (found === undefined) throw new Failure({ code: 404, reason: "NotFound", message: `no kind ${text(kind)}` })
  return found
}

/** Writes an Event. A failed Event never stops a pass. */
const record = ({ controller, now, recorder, registry, verbs }: Writing, one: Record): undefined => {
  const { component, manager } = controller
  const isScheduler = manager === "kube-scheduler"
  const event = Step.once(() => recorder.written(one, component, isScheduler, now))
  const kind = registry.named(isScheduler ? "events.k8s.io/v1" : "v1", "Event")
  if (event === undefined || kind === undefined) return
  try {
    Step.once(() => {
      if (event.verb === "create") verbs.create(kind, namespaceOf(event.event), event.event, { now, manager })
      else {
        const patch = { type: "merge" as const, text: JSON.stringify(event.patch) }
        verbs.patch(kind, "", event.namespace, event.name, patch, { now, manager })
      }
    })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}
