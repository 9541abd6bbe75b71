/**
 * The strategies of CustomResourceDefinition. `establish` accepts the names of a CRD, so that the server can serve its kinds.
 */

import * as Conditions from "../../model/Conditions.ts"
import * as Json from "../../model/Json.ts"
import type { Strategy, Writing } from "../../model/Kind.ts"
import * as Shape from "../Shape.ts"
import * as DefinitionValidation from "./definition/DefinitionValidation.ts"
import * as Warnings from "./definition/Warnings.ts"

const shape = Shape.of("apiextensions/v1.CustomResourceDefinition")

/** The strategy of CustomResourceDefinition. */
export const definition: Strategy = {
  default: (draft) => {
    Shape.canonicalize(shape, draft, "kept")
    const spec = Json.member(draft, "spec")
    const names = Json.member(spec, "names")
    const kind = Json.text(names.kind) ?? ""
    if ((Json.text(names.singular) ?? "") === "" && kind !== "") names.singular = kind.toLowerCase()
    if ((Json.text(names.listKind) ?? "") === "" && kind !== "") names.listKind = `${kind}List`
    if (!Json.isObject(spec.conversion)) spec.conversion = { strategy: "None" }
    if (Json.isObject(Json.at(draft, "spec", "conversion", "webhook", "clientConfig", "service"))) {
      const service = ["conversion", "webhook", "clientConfig", "service"].reduce(Json.member, spec)
      service.port ??= 443
    }
  },
  prepareForCreate: (draft) => {
    draft.status = { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: [] }
    store(draft)
    Json.member(draft, "metadata").generation = 1
  },
  prepareForUpdate: (draft, old) => {
    draft.status = Json.copy(Json.object(old.status))
    store(draft)
    countChange(draft, old)
  },
  validate: (object, writing) => {
    const errors = DefinitionValidation.validate(object)
    if (errors.length === 0) for (const warning of Warnings.of(object)) writing.warn(warning)
    return errors
  },
  validateUpdate: (object, old, writing) => {
    const errors = DefinitionValidation.validateUpdate(object, old)
    if (errors.length === 0) warnOfNew(object, old, writing)
    return errors
  },
  resetFields: [["status"]]
}

/** The strategy of the `/status` of CustomResourceDefinition. */
export const definitionStatus: Strategy = {
  ...definition,
  prepareForUpdate: (draft, old) => {
    draft.spec = Json.copy(Json.object(old.spec))
    const metadata = Json.member(draft, "metadata")
    const before = Json.object(old.metadata)
    for (const name of ["labels", "annotations", "ownerReferences", "generation"]) {
      const value = before[name]
      if (value === undefined) delete metadata[name]
      else metadata[name] = Json.copy(value)
    }
  },
  validateUpdate: (object) =>
    DefinitionValidation.ofNames(Json.at(object, "status", "acceptedNames"), "status.acceptedNames"),
  resetFields: [["metadata"], ["spec"]]
}

/**
 * Returns a CRD with its conditions and accepted names. Names that another CRD of the group uses are not accepted. `others` are all
 * other CRDs. Returns the same object if nothing changes. Call it again for all CRDs of a group after one of them is changed or deleted.
 */
export const establish = (
  crd: Json.JsonObject,
  others: ReadonlyArray<Json.JsonObject>,
  now: number
): Json.JsonObject => {
  const wanted = Json.object(Json.at(crd, "spec", "names"))
  const accepted = Json.object(Json.at(crd, "status", "acceptedNames"))
  if (Json.equal(namesOf(wanted), namesOf(accepted)) && Conditions.isTrue(crd, "Established")) return crd
  const draft = Json.copy(crd)
  const status = Json.member(draft, "status")
  const group = others.filter((other) => Json.at(other, "spec", "group") === Json.at(crd, "spec", "group"))
  const { conflict, names } = acceptNames(wanted, accepted, group)
  const isAccepted = conflict === undefined
  const { message, reason } = conflict ?? { reason: "NoConflicts", message: "no conflicts found" }
  status.acceptedNames = Json.copy(names)
  Conditions.set(draft, { type: "NamesAccepted", status: isAccepted ? "True" : "False", reason, message }, now)
  if (!Conditions.isTrue(draft, "Established")) {
    Conditions.set(draft, isAccepted ? established : notEstablished, now)
  }
  return Json.equal(draft, crd) ? crd : draft
}

const established: Conditions.Condition = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted"
}

const notEstablished: Conditions.Condition = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted"
}

/** The reason and message of the condition if names are not accepted. */
interface Conflict {
  readonly reason: string
  readonly message: string
}

/** Adds the storage version to `status.storedVersions`. */
const store = (draft: Json.DraftObject): void => {
  const stored = Json.items(Json.member(draft, "status"), "storedVersions")
  const storage = Json.objects(Json.at(draft, "spec", "versions")).find((version) => version.storage === true)
  const name = Json.text(storage?.name)
  if (name !== undefined && !stored.includes(name)) stored.push(name)
}

const countChange = (draft: Json.DraftObject, old: Json.JsonObject): void => {
  if (Json.equal(draft.spec, old.spec)) return
  Json.member(draft, "metadata").generation = (Json.number(Json.at(old, "metadata", "generation")) ?? 0) + 1
}

const warnOfNew = (object: Json.JsonObject, old: Json.JsonObject, { warn }: Writing): void => {
  const known = new Set(Warnings.of(old))
  for (const warning of Warnings.of(object)) if (!known.has(warning)) warn(warning)
}

/** Returns the names without empty ones. */
const namesOf = (names: Json.JsonObject): Json.JsonObject =>
  Object.fromEntries(
    Object.entries(names).filter(([, value]) => value !== "" && Json.list(value).length + String(value).length > 0)
  )

const acceptNames = (
  wanted: Json.JsonObject,
  accepted: Json.JsonObject,
  others: ReadonlyArray<Json.JsonObject>
): { readonly names: Json.JsonObject; readonly conflict: Conflict | undefined } => {
  const taken = others.map((other) => Json.object(Json.at(other, "status", "acceptedNames")))
  const resources = new Set(
    taken.flatMap(({ plural, shortNames, singular }) => [plural, singular, ...Json.list(shortNames)])
  )
  const kinds = new Set(taken.flatMap(({ kind, listKind }) => [kind, listKind]))
  const names: { [name: string]: Json.Json | undefined } = { ...accepted }
  let conflict: Conflict | undefined
  const claim = (name: string, reason: string, used: ReadonlySet<Json.Json | undefined>) => {
    const word = wanted[name]
    if (word !== accepted[name] && word !== undefined && used.has(word)) conflict = { reason, message: inUse(word) }
    else if (word !== undefined) names[name] = word
  }
  claim("plural", "PluralConflict", resources)
  claim("singular", "SingularConflict", resources)
  if (!Json.equal(wanted.shortNames ?? [], accepted.shortNames ?? [])) {
    const own = new Set(Json.list(accepted.shortNames))
    const used = Json.list(wanted.shortNames).filter((name) => !own.has(name) && resources.has(name))
    if (used.length > 0) conflict = { reason: "ShortNamesConflict", message: aggregate(used.map(inUse)) }
    else names.shortNames = wanted.shortNames
  }
  claim("kind", "KindConflict", kinds)
  claim("listKind", "ListKindConflict", kinds)
  names.categories = wanted.categories
  return { names, conflict }
}

const inUse = (name: Json.Json): string => `${JSON.stringify(name)} is already in use`

/** Joins error messages as Go's aggregate does. */
const aggregate = (messages: ReadonlyArray<string>): string => {
  const [only = ""] = messages
  return messages.length === 1 ? only : `[${messages.join(", ")}]`
}
