/**
 * The built-in kinds' strategies alone, as a server would call them for one request: enough of a server to compare what
 * they make of an object with what a kube-apiserver does.
 */
import { kinds } from "@homeostat/testkit/server/builtin/BuiltInKinds"
import * as Failure from "@homeostat/testkit/server/Failure"
import * as Json from "@homeostat/testkit/server/Json"
import { apiVersionOf, type Kind, type Writing } from "@homeostat/testkit/server/Kind"
import * as Metadata from "@homeostat/testkit/server/Metadata"
import * as ObjectMeta from "@homeostat/testkit/server/ObjectMeta"

/** The kind of an object. */
export const kindOf = (object: Json.JsonObject): Kind => {
  const found = kinds.find((kind) => kind.kind === object.kind && apiVersionOf(kind) === object.apiVersion)
  if (found === undefined) throw new Error(`no kind ${object.apiVersion} ${object.kind}`)
  return found
}

/** What a request was answered with: the object, or the Status of a refusal; and the warnings. */
export interface Answer {
  readonly body: Json.JsonObject
  readonly warnings: ReadonlyArray<string>
}

/** A new object, given the uid that it has elsewhere. */
export const create = (object: Json.JsonObject, namespace: string, uid: string, now: number): Answer =>
  answered((writing) => {
    const kind = kindOf(object)
    const draft = Json.copy(object)
    const metadata = Metadata.of(draft)
    Metadata.wipe(metadata)
    Metadata.place(kind, metadata, kind.namespaced ? namespace : "")
    kind.strategy.default(draft)
    metadata.uid = uid
    kind.strategy.prepareForCreate(draft, writing)
    const isStored = kind.verbs.includes("get")
    const mistakes = [...(isStored ? Metadata.mistakes(kind, draft) : []), ...kind.strategy.validate(draft, writing)]
    if (mistakes.length > 0) throw Failure.invalid(kind, ObjectMeta.nameOf(draft), mistakes)
    return stored(kind, draft)
  }, now)

/** A change of the object that a kube-apiserver has, by a merge patch. */
export const patch = (
  live: Json.JsonObject,
  change: Json.JsonObject,
  subresource: "" | "status" | "finalize",
  now: number
): Answer =>
  answered((writing) => {
    const kind = kindOf(live)
    const strategy =
      subresource === "" ? kind.strategy : subresource === "status" ? kind.status : kind.subresources?.[subresource]
    if (strategy === undefined) throw new Error(`${kind.kind} has no ${subresource}`)
    const draft = Json.copy(live)
    merge(draft, change)
    strategy.default(draft)
    strategy.prepareForUpdate(draft, live, writing)
    const mistakes = [...Metadata.mistakes(kind, draft), ...strategy.validateUpdate(draft, live, writing)]
    const distinct = new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake]))
    if (distinct.size > 0) throw Failure.invalid(kind, ObjectMeta.nameOf(draft), [...distinct.values()])
    return stored(kind, draft)
  }, now)

/** What an object that is stored in one form looks like in another. */
const stored = (kind: Kind, object: Json.JsonObject): Json.JsonObject => kind.fromStorage(kind.toStorage(object))

const answered = (write: (writing: Writing) => Json.JsonObject, now: number): Answer => {
  const warnings: Array<string> = []
  const writing: Writing = {
    now,
    warn: (text) => warnings.push(text),
    user: { name: "admin", groups: ["system:masters", "system:authenticated"] },
    stored: () => []
  }
  try {
    return { body: write(writing), warnings }
  } catch (failure) {
    if (failure instanceof Failure.Failure) return { body: Failure.status(failure), warnings }
    throw failure
  }
}

const merge = (draft: Json.DraftObject, change: Json.JsonObject): void => {
  for (const name in change) {
    const value = change[name]
    if (value === null || value === undefined) delete draft[name]
    else if (Json.isObject(value)) merge(Json.member(draft, name), value)
    else draft[name] = Json.copy(value)
  }
}
