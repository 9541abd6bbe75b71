/** The kinds of rbac.authorization.k8s.io/v1. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, strategy } from "../Definition.ts"

const group = "rbac.authorization.k8s.io"

const shared = {
  group,
  version: "v1",
  names: Format.pathSegment,
  createOnUpdate: true,
  unconditionalUpdate: true
} as const

function* rules(object: JsonObject, namespaced: boolean): Errors {
  for (const [index, rule] of Json.objects(object.rules).entries()) {
    const at = `rules[${index}]`
    const has = (name: string) => Json.list(rule[name]).length > 0
    if (has("nonResourceURLs")) {
      if (namespaced) {
        yield FieldError.invalid(
          `${at}.nonResourceURLs`,
          rule.nonResourceURLs,
          "namespaced rules cannot apply to non-resource URLs"
        )
      }
      if (has("apiGroups") || has("resources") || has("resourceNames")) {
        yield FieldError.invalid(
          `${at}.nonResourceURLs`,
          rule.nonResourceURLs,
          "rules cannot apply to both regular resources and non-resource URLs"
        )
      }
      continue
    }
    if (!has("apiGroups"))
      yield FieldError.required(`${at}.apiGroups`, "resource rules must supply at least one api group")
    if (!has("resources"))
      yield FieldError.required(`${at}.resources`, "resource rules must supply at least one resource")
  }
  for (const [index, { verbs }] of Json.objects(object.rules).entries()) {
    if (Json.list(verbs).length === 0) yield FieldError.required(`rules[${index}].verbs`)
  }
}

const role = (kind: "Role" | "ClusterRole"): Definition => ({
  ...shared,
  kind,
  strategy: strategy({
    shape: `rbac/v1.${kind}`,
    *validate(object) {
      yield* rules(object, kind === "Role")
      for (const [index, selector] of Json.objects(
        Json.at(object, "aggregationRule", "clusterRoleSelectors")
      ).entries()) {
        yield* Check.labelSelector(`aggregationRule.clusterRoleSelectors[${index}]`, selector)
      }
    }
  })
})

const fillBinding = (draft: DraftObject): void => {
  fill(Json.member(draft, "roleRef"), "apiGroup", group)
  for (const subject of drafts(draft, "subjects")) {
    if (subject.kind === "User" || subject.kind === "Group") fill(subject, "apiGroup", group)
  }
}

function* subject(field: string, given: JsonObject, namespaced: boolean): Errors {
  const { kind } = given
  const name = Json.text(given.name) ?? ""
  const apiGroup = Json.text(given.apiGroup) ?? ""
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") yield* Check.text(`${field}.name`, name, Format.dnsSubdomain)
      if (apiGroup !== "") yield FieldError.notSupported(`${field}.apiGroup`, apiGroup, [""])
      if (!namespaced && (Json.text(given.namespace) ?? "") === "") yield FieldError.required(`${field}.namespace`)
      break
    case "User":
    case "Group":
      if (apiGroup !== group) yield FieldError.notSupported(`${field}.apiGroup`, apiGroup, [group])
      break
    default:
      yield FieldError.notSupported(`${field}.kind`, kind ?? "", ["ServiceAccount", "User", "Group"])
  }
}

function* validateBinding(object: JsonObject, namespaced: boolean): Errors {
  const reference = Json.object(object.roleRef)
  if (reference.apiGroup !== group) {
    yield FieldError.notSupported("roleRef.apiGroup", reference.apiGroup ?? "", [group])
  }
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]
  const kind = Json.text(reference.kind) ?? ""
  if (!kinds.includes(kind)) yield FieldError.notSupported("roleRef.kind", kind, kinds)
  const name = Json.text(reference.name) ?? ""
  if (name !== "") yield* Check.text("roleRef.name", name, Format.pathSegment)
  for (const [index, given] of Json.objects(object.subjects).entries()) {
    yield* subject(`subjects[${index}]`, given, namespaced)
  }
  for (const [index, given] of Json.objects(object.subjects).entries()) {
    yield* Check.requiredText(`subjects[${index}].name`, given.name)
  }
  yield* Check.requiredText("roleRef.name", name)
}

const binding = (kind: "RoleBinding" | "ClusterRoleBinding"): Definition => {
  const namespaced = kind === "RoleBinding"
  return {
    ...shared,
    kind,
    strategy: strategy({
      shape: `rbac/v1.${kind}`,
      default: fillBinding,
      validate: (object) => validateBinding(object, namespaced),
      *validateUpdate(object, old) {
        yield* validateBinding(object, namespaced)
        if (Json.equal(object.roleRef, old.roleRef)) return
        const { apiGroup, kind, name } = Json.object(object.roleRef)
        yield FieldError.invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "field is immutable")
      }
    })
  }
}

/** The definitions of Role, ClusterRole and their bindings. */
export const rbac: ReadonlyArray<Definition> = [
  role("Role"),
  role("ClusterRole"),
  binding("RoleBinding"),
  binding("ClusterRoleBinding")
]
