/** Defaults and validation that webhooks and policies share: rules, selectors and match conditions in CEL. */

import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { Draft, DraftObject, JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import * as AdmissionExpressions from "../cel/AdmissionExpressions.ts"
import { drafts, type Errors, part } from "../Definition.ts"

/** The API group of the six kinds. */
export const group = "admissionregistration.k8s.io"

/** Sets the default of a Go pointer: writes the member if it is missing or null. Keeps an empty string. */
export const fillAbsent = (draft: DraftObject, name: string, value: Draft): void => {
  if ((draft[name] ?? null) === null) draft[name] = value
}

/** Sets the defaults that webhooks and match resources share. */
export const fillSelectors = (draft: DraftObject): void => {
  fillAbsent(draft, "matchPolicy", "Equivalent")
  fillAbsent(draft, "namespaceSelector", {})
  fillAbsent(draft, "objectSelector", {})
}

/** Sets the default scope of each rule in a list. */
export const fillRules = (draft: DraftObject, name: string): void => {
  for (const rule of drafts(draft, name)) fillAbsent(rule, "scope", "*")
}

/** Sets the defaults of match resources, if the member is present. */
export const fillMatchResources = (draft: DraftObject, name: string): void => {
  const resources = part(draft, name)
  if (resources === undefined) return
  fillSelectors(resources)
  fillRules(resources, "resourceRules")
  fillRules(resources, "excludeResourceRules")
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"]
const scopes = ["*", "Cluster", "Namespaced"]

/** Yields an error for an unsupported string. A missing value is valid, because it is optional or has a default. */
export function* word(field: string, value: JsonValue | undefined, words: ReadonlyArray<string>): Errors {
  if (typeof value === "string" && !words.includes(value)) yield FieldError.notSupported(field, value, words)
}

const wordsOf = (value: JsonValue | undefined): ReadonlyArray<string> =>
  Json.list(value).map((one) => Json.text(one) ?? "")

/** Yields the errors of a rule with operations. */
export function* rule(at: string, given: JsonObject): Errors {
  const chosen = wordsOf(given.operations)
  if (chosen.length === 0) yield FieldError.required(`${at}.operations`)
  if (chosen.length > 1 && chosen.includes("*")) {
    yield FieldError.invalid(
      `${at}.operations`,
      given.operations,
      "if '*' is present, must not specify other operations"
    )
  }
  for (const [index, operation] of chosen.entries()) yield* word(`${at}.operations[${index}]`, operation, operations)
  yield* listed(`${at}.apiGroups`, given.apiGroups, "API groups")
  yield* listed(`${at}.apiVersions`, given.apiVersions, "API versions")
  for (const [index, version] of wordsOf(given.apiVersions).entries()) {
    if (version === "") yield FieldError.required(`${at}.apiVersions[${index}]`)
  }
  yield* resources(`${at}.resources`, wordsOf(given.resources))
  yield* word(`${at}.scope`, given.scope, scopes)
}

function* listed(field: string, value: JsonValue | undefined, what: string): Errors {
  const given = wordsOf(value)
  if (given.length === 0) yield FieldError.required(field)
  if (given.length > 1 && given.includes("*")) {
    yield FieldError.invalid(field, given, `if '*' is present, must not specify other ${what}`)
  }
}

function* resources(field: string, given: ReadonlyArray<string>): Errors {
  if (given.length === 0) yield FieldError.required(field)
  const wholes = new Set<string>()
  const everywhere = new Set<string>()
  // Only the last resource without a subresource counts, as in a kube-apiserver.
  let hasPlain = false
  for (const [index, one] of given.entries()) {
    if (one === "") {
      yield FieldError.required(`${field}[${index}]`)
      continue
    }
    const slash = one.indexOf("/")
    if (slash < 0) {
      hasPlain = one !== "*"
      continue
    }
    const resource = one.slice(0, slash)
    const sub = one.slice(slash + 1)
    if (wholes.has(resource)) {
      const detail = `if '${resource}/*' is present, must not specify ${one}`
      yield FieldError.invalid(`${field}[${index}]`, one, detail)
    }
    if (everywhere.has(sub)) {
      yield FieldError.invalid(`${field}[${index}]`, one, `if '*/${sub}' is present, must not specify ${one}`)
    }
    if (sub === "*") wholes.add(resource)
    if (resource === "*") everywhere.add(sub)
  }
  if (given.length > 1 && given.includes("*/*")) {
    yield FieldError.invalid(field, given, "if '*/*' is present, must not specify other resources")
  }
  if (given.includes("*") && hasPlain) {
    const detail = "if '*' is present, must not specify other resources without subresources"
    yield FieldError.invalid(field, given, detail)
  }
}

const matchPolicies = ["Equivalent", "Exact"]

/** Yields the errors of `matchPolicy` and, unless `onlyMatchPolicy`, of the selectors. */
export function* selectors(at: string, given: JsonObject, onlyMatchPolicy = false): Errors {
  yield* word(`${at}.matchPolicy`, given.matchPolicy, matchPolicies)
  if (onlyMatchPolicy) return
  yield* Check.labelSelector(`${at}.namespaceSelector`, given.namespaceSelector)
  yield* Check.labelSelector(`${at}.objectSelector`, given.objectSelector)
}

/** Yields the errors of match resources. */
export function* matchResources(at: string, given: JsonObject): Errors {
  yield* selectors(at, given)
  for (const name of ["resourceRules", "excludeResourceRules"]) {
    for (const [index, one] of Json.objects(given[name]).entries()) yield* namedRule(`${at}.${name}[${index}]`, one)
  }
}

/** Yields an error for each DELETE operation: mutating policies do not support it. */
export function* mutatingRules(at: string, given: JsonObject): Errors {
  for (const one of Json.objects(given.resourceRules)) {
    for (const operation of wordsOf(one.operations)) {
      yield* word(`${at}.resourceRules.operations`, operation, mutatingOperations)
    }
  }
}

function* namedRule(at: string, given: JsonObject): Errors {
  const seen = new Set<string>()
  for (const [index, name] of wordsOf(given.resourceNames).entries()) {
    const field = `${at}.resourceNames[${index}]`
    yield* Check.text(field, name, Format.pathSegment)
    if (seen.has(name)) yield FieldError.duplicate(field, name)
    seen.add(name)
  }
  yield* rule(at, given)
}

/** The maximum number of match conditions. */
const mostConditions = 64

/** Yields the errors of match conditions. `params`: the expressions may use `params`. */
export function* matchConditions(field: string, value: JsonValue | undefined, params: boolean): Errors {
  const given = Json.objects(value)
  if (given.length > mostConditions) {
    const detail = `must have at most ${mostConditions} items`
    yield FieldError.make("FieldValueTooMany", field, given.length, detail)
  }
  const seen = new Set<string>()
  const compiler = AdmissionExpressions.compiler({ composed: false, params })
  for (const [index, condition] of given.entries()) {
    const at = `${field}[${index}]`
    const source = (Json.text(condition.expression) ?? "").trim()
    if (source === "") yield FieldError.required(`${at}.expression`)
    else yield* expression(`${at}.expression`, source, compiler.compile(source, ["bool"]))
    const name = Json.text(condition.name) ?? ""
    if (name === "") {
      yield FieldError.required(`${at}.name`)
      continue
    }
    yield* Check.text(`${at}.name`, name, Format.labelKey)
    if (seen.has(name)) yield FieldError.duplicate(`${at}.name`, name)
    seen.add(name)
  }
}

/** Yields an error if the expression does not compile. */
export function* expression(field: string, source: string, compiled: AdmissionExpressions.Compiled): Errors {
  if ("problem" in compiled) yield FieldError.invalid(field, source, compiled.problem)
}

const staticSuffix = ".static.k8s.io"
const reserved = `names ending with "${staticSuffix}" are reserved for static manifest-based configurations and cannot be managed via the API`

/** Yields an error for a name with the suffix of static manifests, which a kube-apiserver loads from files at its start. */
export function* staticName(object: JsonObject): Errors {
  const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
  if (name.endsWith(staticSuffix)) yield FieldError.invalid("metadata.name", name, reserved)
}

/** Yields a warning on an update of an object with such a reserved name. */
export function* staticNameWarning(object: JsonObject, old: JsonObject | undefined): Iterable<string> {
  const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
  if (old !== undefined && name.endsWith(staticSuffix)) yield `metadata.name: ${reserved}`
}
