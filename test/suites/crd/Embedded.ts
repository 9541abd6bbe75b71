/** What our leaf modules make of definitions and objects, in the order in which a server does it, without a server. */
import * as Decode from "@homeostat/testkit/server/body/Decode"
import * as CustomKinds from "@homeostat/testkit/server/crd/CustomKinds"
import * as Failure from "@homeostat/testkit/server/Failure"
import * as Json from "@homeostat/testkit/server/Json"
import type { Kind, Strategy, Writing } from "@homeostat/testkit/server/Kind"

/** An answer: an object, or a Status; and the warnings that came with it. */
export interface Answer {
  readonly code: number
  readonly body: Json.JsonObject
  readonly warnings: ReadonlyArray<string>
}

const crds = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", plural: "customresourcedefinitions" }

/** Sends a definition. */
export const define = (crd: Json.JsonObject): Answer =>
  answered((writing) => created(crds, CustomKinds.definition, crd, writing), 201)

/** Takes a definition up beside others. */
export const establish = (crd: Json.JsonObject, others: ReadonlyArray<Json.JsonObject>): Json.JsonObject =>
  CustomKinds.establish(crd, others, 0)

/** The kind of a definition's version, as it is served. */
export const kindOf = (crd: Json.JsonObject, version = "v1"): Kind => {
  const { body } = define(crd)
  const found = CustomKinds.kindsOf(establish(body, [])).find((kind) => kind.version === version)
  if (found === undefined) throw new Error(`no kind: ${JSON.stringify(body)}`)
  return found
}

/** Sends a new object. */
export const create = (kind: Kind, object: Json.JsonObject): Answer =>
  answered((writing) => created(kind, kind.strategy, decoded(kind, object, writing), writing), 201)

/** Sends an object in the place of an old one, to the resource or to its status. */
export const update = (kind: Kind, strategy: Strategy, old: Json.JsonObject, object: Json.JsonObject): Answer =>
  answered((writing) => {
    const draft = Json.copy(decoded(kind, object, writing))
    strategy.default(draft)
    strategy.prepareForUpdate(draft, old, writing)
    refuse(kind, draft, strategy.validateUpdate(draft, old, writing))
    return draft
  }, 200)

const decoded = (kind: Kind, object: Json.JsonObject, { warn }: Writing): Json.JsonObject =>
  Decode.object(kind, JSON.stringify(object), "json", { fieldValidation: "Warn", warn, knows: () => true })

const created = (
  kind: Failure.Named,
  strategy: Strategy,
  object: Json.JsonObject,
  writing: Writing
): Json.JsonObject => {
  const draft = Json.copy(object)
  strategy.default(draft)
  strategy.prepareForCreate(draft, writing)
  refuse(kind, draft, strategy.validate(draft, writing))
  return draft
}

const refuse = (kind: Failure.Named, object: Json.JsonObject, mistakes: ReturnType<Strategy["validate"]>): void => {
  if (mistakes.length === 0) return
  // A server names the kind that the object says.
  const said = Json.text(object.kind) ?? kind.kind
  throw Failure.invalid({ ...kind, kind: said }, Json.text(Json.at(object, "metadata", "name")) ?? "", mistakes)
}

const answered = (decide: (writing: Writing) => Json.JsonObject, code: number): Answer => {
  const warnings: Array<string> = []
  const warn = (text: string) => {
    warnings.push(text)
  }
  const writing: Writing = { now: 0, user: { name: "test", groups: [] }, stored: () => [], warn }
  try {
    return { code, body: decide(writing), warnings }
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    return { code: error.code, body: Failure.status(error), warnings }
  }
}
