/** ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings. */

import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import * as AdmissionExpressions from "../cel/AdmissionExpressions.ts"
import { type Definition, type Errors, spec as ofSpec, statusStrategy, strategy } from "../Definition.ts"
import * as Rules from "./AdmissionRules.ts"
import * as ConditionValidation from "./ConditionValidation.ts"

const specOf = (object: JsonObject): JsonObject => Json.object(object.spec)

const failurePolicies = ["Fail", "Ignore"]

/** Yields the errors of the fields that both kinds of policies share, up to the variables. */
function* common(object: JsonObject, old: JsonObject | undefined): Errors {
  const given = specOf(object)
  yield* Rules.word("spec.failurePolicy", given.failurePolicy, failurePolicies)
  if (Json.isObject(given.paramKind)) yield* paramKind("spec.paramKind", given.paramKind)
  const constraints = given.matchConstraints
  if (!Json.isObject(constraints)) yield FieldError.required("spec.matchConstraints")
  else {
    yield* Rules.matchResources("spec.matchConstraints", constraints)
    if (Json.list(constraints.resourceRules).length === 0) {
      yield FieldError.required("spec.matchConstraints.resourceRules")
    }
    if (object.kind === "MutatingAdmissionPolicy") yield* Rules.mutatingRules("spec.matchConstraints", constraints)
  }
  const before = old === undefined ? undefined : specOf(old)
  const same =
    before !== undefined &&
    Json.equal(given.paramKind, before.paramKind) &&
    Json.equal(given.matchConditions, before.matchConditions)
  if (!same) {
    yield* Rules.matchConditions("spec.matchConditions", given.matchConditions, Json.isObject(given.paramKind))
  }
}

function* paramKind(at: string, given: JsonObject): Errors {
  const apiVersion = Json.text(given.apiVersion) ?? ""
  const parts = apiVersion === "/" ? [""] : apiVersion.split("/")
  if (apiVersion === "") yield FieldError.required(`${at}.apiVersion`)
  else if (parts.length > 2) {
    yield FieldError.invalid(`${at}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
  } else {
    const [group = "", version = ""] = parts.length === 2 ? parts : ["", ...parts]
    const wrongGroup = group === "" ? [] : Format.dnsSubdomain(group)
    if (wrongGroup.length > 0) yield FieldError.invalid(`${at}.apiVersion`, group, wrongGroup.join(","))
    const wrong = Format.dnsLabel1035(version)
    if (version === "") yield FieldError.invalid(`${at}.apiVersion`, apiVersion, "version must be specified")
    else if (wrong.length > 0) yield FieldError.invalid(`${at}.apiVersion`, version, wrong.join(","))
  }
  const kind = Json.text(given.kind) ?? ""
  const wrong = Format.dnsLabel1035(kind.toLowerCase())
  if (kind === "") yield FieldError.required(`${at}.kind`)
  else if (wrong.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${wrong.join(",")}`
    yield FieldError.invalid(`${at}.kind`, kind, detail)
  }
}

const isBlank = (value: JsonValue | undefined): boolean => (Json.text(value) ?? "").trim() === ""

const reserved: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " "
  )
)

function* variables(given: JsonObject, compiler: AdmissionExpressions.Compiler): Errors {
  for (const [index, variable] of Json.objects(given.variables).entries()) {
    const at = `spec.variables[${index}]`
    const name = Json.text(variable.name) ?? ""
    if (isBlank(name)) yield FieldError.required(`${at}.name`, "name is not specified")
    else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || reserved.has(name)) {
      yield FieldError.invalid(`${at}.name`, name, "must be a valid CEL identifier")
    }
    const source = Json.text(variable.expression) ?? ""
    if (isBlank(source)) {
      yield FieldError.required(`${at}.expression`, "expression is not specified")
      continue
    }
    const problem = compiler.declare(name, source)
    if (problem !== undefined) yield FieldError.invalid(`${at}.expression`, source, problem)
  }
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"]

function* validation(at: string, given: JsonObject, compiler: AdmissionExpressions.Compiler): Errors {
  const source = Json.text(given.expression) ?? ""
  if (isBlank(source)) yield FieldError.required(`${at}.expression`, "expression is not specified")
  else yield* Rules.expression(`${at}.expression`, source, compiler.compile(source, ["bool"]))
  const expression = Json.text(given.messageExpression) ?? ""
  if (expression !== "" && isBlank(expression)) {
    yield FieldError.invalid(`${at}.messageExpression`, expression, "must be non-empty if specified")
  } else if (expression !== "") {
    yield* Rules.expression(`${at}.messageExpression`, expression, compiler.compile(expression, ["string"], false))
  }
  const message = Json.text(given.message) ?? ""
  if (message !== "" && isBlank(message)) {
    yield FieldError.invalid(`${at}.message`, message, "must be non-empty if specified")
  } else if (/[\n\r]/.test(message.trim())) {
    yield FieldError.invalid(`${at}.message`, message, "must not contain line breaks")
  }
  yield* Rules.word(`${at}.reason`, given.reason, reasons)
}

const mostAnnotations = 20
const mostExpressionBytes = 5 * 1024

function* annotations(object: JsonObject, compiler: AdmissionExpressions.Compiler): Errors {
  const given = Json.objects(specOf(object).auditAnnotations)
  if (given.length > mostAnnotations) {
    const detail = `must not have more than ${mostAnnotations} auditAnnotations`
    yield FieldError.invalid("spec.auditAnnotations", given, detail)
  }
  const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
  const keys = new Set<string>()
  for (const [index, annotation] of given.entries()) {
    const at = `spec.auditAnnotations[${index}]`
    const key = Json.text(annotation.key) ?? ""
    if (name === "") yield FieldError.invalid(`${at}.key`, key, "requires metadata.name be non-empty")
    else yield* Check.text(`${at}.key`, `${name}/${key}`, Format.labelKey)
    const source = (Json.text(annotation.valueExpression) ?? "").trim()
    const field = `${at}.valueExpression`
    if (source === "") yield FieldError.required(field, "valueExpression is not specified")
    else if (Buffer.byteLength(source) > mostExpressionBytes) {
      yield FieldError.required(field, `must not exceed ${mostExpressionBytes} bytes in length`)
    } else {
      const compiled = compiler.compile(source, ["string", "null_type"])
      yield* Rules.expression(field, Json.text(annotation.valueExpression) ?? "", compiled)
    }
    if (keys.has(key)) yield FieldError.duplicate(`${at}.key`, key)
    keys.add(key)
  }
}

const either = "validations or auditAnnotations must contain at least one item"

function* validating(object: JsonObject, old: JsonObject | undefined): Errors {
  yield* common(object, old)
  const given = specOf(object)
  const compiler = AdmissionExpressions.compiler({
    composed: Json.list(given.variables).length > 0,
    params: Json.isObject(given.paramKind)
  })
  yield* variables(given, compiler)
  const validations = Json.objects(given.validations)
  if (validations.length === 0 && Json.list(given.auditAnnotations).length === 0) {
    yield FieldError.required("spec.validations", either)
    yield FieldError.required("spec.auditAnnotations", either)
    return
  }
  for (const [index, one] of validations.entries()) yield* validation(`spec.validations[${index}]`, one, compiler)
  yield* annotations(object, compiler)
}

const patchTypes = { ApplyConfiguration: "applyConfiguration", JSONPatch: "jsonPatch" } as const

function* mutating(object: JsonObject, old: JsonObject | undefined): Errors {
  yield* common(object, old)
  const given = specOf(object)
  const compiler = AdmissionExpressions.compiler({ composed: true, params: Json.isObject(given.paramKind) })
  yield* variables(given, compiler)
  const mutations = Json.objects(given.mutations)
  if (mutations.length === 0) yield FieldError.required("spec.mutations", "mutations must contain at least one item")
  for (const [index, one] of mutations.entries()) yield* mutation(`spec.mutations[${index}]`, one, compiler)
  yield* Check.word("spec.reinvocationPolicy", given.reinvocationPolicy, ["IfNeeded", "Never"])
}

function* mutation(at: string, given: JsonObject, compiler: AdmissionExpressions.Compiler): Errors {
  const { patchType } = given
  if (patchType !== "ApplyConfiguration" && patchType !== "JSONPatch") {
    return yield* Check.word(`${at}.patchType`, patchType, Object.keys(patchTypes))
  }
  const own = patchTypes[patchType]
  const other = patchTypes[patchType === "JSONPatch" ? "ApplyConfiguration" : "JSONPatch"]
  const patch = given[own]
  if (!Json.isObject(patch)) {
    yield FieldError.required(`${at}.${own}`, `must be specified when patchType is ${patchType}`)
  } else if (isBlank(patch.expression)) yield FieldError.required(`${at}.${own}.expression`)
  else {
    const source = String(patch.expression).trim()
    const compiled = compiler.mutation(source, patchType === "JSONPatch" ? "list(JSONPatch)" : "Object")
    yield* Rules.expression(`${at}.${own}.expression`, source, compiled)
  }
  if (Json.isObject(given[other])) {
    yield FieldError.invalid(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`)
  }
}

const policy = (
  kind: "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy",
  validate: (object: JsonObject, old: JsonObject | undefined) => Errors
): Definition => ({
  group: Rules.group,
  version: "v1",
  kind,
  strategy: strategy({
    shape: `admissionregistration/v1.${kind}`,
    generation: ofSpec,
    ...(kind === "ValidatingAdmissionPolicy" && { status: {} }),
    default: (draft) => {
      const spec = Json.member(draft, "spec")
      Rules.fillAbsent(spec, "failurePolicy", "Fail")
      Rules.fillMatchResources(spec, "matchConstraints")
    },
    *validate(object) {
      yield* validate(object, undefined)
      yield* Rules.staticName(object)
    },
    validateUpdate: (object, old) => validate(object, old),
    warnings: Rules.staticNameWarning
  })
})

const validatingPolicy = policy("ValidatingAdmissionPolicy", validating)

const validatingStatus = statusStrategy(
  validatingPolicy.strategy,
  "admissionregistration/v1.ValidatingAdmissionPolicy",
  {
    kept: ["labels", "annotations", "finalizers", "ownerReferences", "generation"].map((name) => ["metadata", name]),
    *validateUpdate(object) {
      const warnings = Json.objects(Json.at(object, "status", "typeChecking", "expressionWarnings"))
      for (const [index, { fieldRef, warning }] of warnings.entries()) {
        const at = `status.typeChecking.expressionWarnings[${index}]`
        yield* Check.requiredText(`${at}.warning`, warning)
        if (isBlank(fieldRef)) yield FieldError.required(`${at}.fieldRef`)
      }
      yield* ConditionValidation.validate("status.conditions", Json.at(object, "status", "conditions"))
    }
  }
)

function* paramReference(at: string, value: JsonValue | undefined): Errors {
  if (!Json.isObject(value)) return
  const name = Json.text(value.name) ?? ""
  const selects = Json.isObject(value.selector)
  if (name !== "") {
    yield* Check.text(`${at}.name`, name, Format.pathSegment)
    if (selects) yield FieldError.forbidden(`${at}.name`, "name and selector are mutually exclusive")
  }
  yield* Check.labelSelector(`${at}.selector`, value.selector)
  if (selects && name !== "") {
    yield FieldError.forbidden(`${at}.selector`, "name and selector are mutually exclusive")
  }
  if (!selects && name === "") yield FieldError.required(at, "one of name or selector must be specified")
  const action = Json.text(value.parameterNotFoundAction) ?? ""
  if (action === "") yield FieldError.required(`${at}.parameterNotFoundAction`)
  else yield* Rules.word(`${at}.parameterNotFoundAction`, action, ["Deny", "Allow"])
}

const actions = ["Audit", "Deny", "Warn"]

function* validationActions(field: string, value: JsonValue | undefined): Errors {
  const given = Json.list(value)
  const seen = new Set<JsonValue>()
  for (const [index, action] of given.entries()) {
    yield* Rules.word(`${field}[${index}]`, action, actions)
    if (seen.has(action)) yield FieldError.duplicate(`${field}[${index}]`, action)
    seen.add(action)
  }
  if (seen.has("Deny") && seen.has("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"
    yield FieldError.invalid(field, given, detail)
  }
  if (given.length === 0) yield FieldError.required(field)
}

function* validateBinding(object: JsonObject, isMutating: boolean): Errors {
  const given = specOf(object)
  yield* Check.requiredText("spec.policyName", given.policyName, Format.dnsSubdomain)
  yield* paramReference("spec.paramRef", given.paramRef)
  const resources = given.matchResources
  if (Json.isObject(resources)) yield* Rules.matchResources("spec.matchResources", resources)
  if (!isMutating) yield* validationActions("spec.validationActions", given.validationActions)
  else if (Json.isObject(resources)) yield* Rules.mutatingRules("spec.matchResources", resources)
}

const binding = (kind: "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding"): Definition => {
  const isMutating = kind === "MutatingAdmissionPolicyBinding"
  return {
    group: Rules.group,
    version: "v1",
    kind,
    strategy: strategy({
      shape: `admissionregistration/v1.${kind}`,
      generation: ofSpec,
      default: (draft) => Rules.fillMatchResources(Json.member(draft, "spec"), "matchResources"),
      *validate(object) {
        yield* validateBinding(object, isMutating)
        yield* Rules.staticName(object)
      },
      validateUpdate: (object) => validateBinding(object, isMutating),
      warnings: Rules.staticNameWarning
    })
  }
}

/** The definitions of the policies and their bindings. */
export const policies: ReadonlyArray<Definition> = [
  policy("MutatingAdmissionPolicy", mutating),
  binding("MutatingAdmissionPolicyBinding"),
  { ...validatingPolicy, status: { ...validatingStatus, resetFields: [["metadata"], ["spec"]] } },
  binding("ValidatingAdmissionPolicyBinding")
]
