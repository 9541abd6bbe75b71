/** ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import * as ClientConfig from "../ClientConfig.ts"
import { type Definition, drafts, type Errors, part, strategy } from "../Definition.ts"
import * as Rules from "./AdmissionRules.ts"

/** The checks that an update skips, because the old object does not pass them or did not change. */
interface Lenience {
  readonly sideEffects: boolean
  readonly reviewVersions: boolean
  readonly names: boolean
  readonly labelValues: boolean
  readonly matchConditions: boolean
}

const none: Lenience = {
  sideEffects: false,
  reviewVersions: false,
  names: false,
  labelValues: false,
  matchConditions: false
}

const webhooksOf = (object: JsonObject): ReadonlyArray<JsonObject> => Json.objects(object.webhooks)

const validateSelector = (hook: JsonObject): ReadonlyArray<FieldError.FieldError> =>
  ["namespaceSelector", "objectSelector"].flatMap((name) => [...Check.labelSelector(name, hook[name])])

const lenience = (object: JsonObject, old: JsonObject): Lenience => {
  const before = webhooksOf(old)
  const now = webhooksOf(object)
  return {
    sideEffects: !before.every(({ sideEffects }) => harmless.includes(Json.text(sideEffects) ?? "")),
    reviewVersions: !before.every(({ admissionReviewVersions: versions }) => {
      const given = Json.list(versions)
      return given.length === 0 || given.some(isAccepted)
    }),
    names: new Set(before.map(({ name }) => name)).size < before.length,
    labelValues: before.some((hook) => validateSelector(hook).length > 0),
    matchConditions:
      before.length === now.length &&
      before.every(({ matchConditions }, index) => Json.equal(matchConditions, now[index]?.matchConditions))
  }
}

function* errors(object: JsonObject, lenient: Lenience): Errors {
  const seen = new Set<string>()
  for (const [index, hook] of webhooksOf(object).entries()) {
    const at = `webhooks[${index}]`
    yield* webhook(at, hook, lenient)
    yield* reviewVersions(`${at}.admissionReviewVersions`, hook.admissionReviewVersions, lenient)
    const name = Json.text(hook.name) ?? ""
    if (name === "" || lenient.names) continue
    if (seen.has(name)) yield FieldError.duplicate(`${at}.name`, name)
    seen.add(name)
  }
}

const harmless = ["None", "NoneOnDryRun"]
const effects = [...harmless, "Some", "Unknown"]

function* webhook(at: string, hook: JsonObject, lenient: Lenience): Errors {
  yield* qualifiedName(`${at}.name`, Json.text(hook.name) ?? "")
  for (const [index, rule] of Json.objects(hook.rules).entries()) yield* Rules.rule(`${at}.rules[${index}]`, rule)
  yield* Rules.word(`${at}.failurePolicy`, hook.failurePolicy, ["Fail", "Ignore"])
  yield* Rules.selectors(at, hook, true)
  const allowed = lenient.sideEffects ? effects : harmless
  if (typeof hook.sideEffects !== "string") {
    yield FieldError.required(`${at}.sideEffects`, `must specify one of ${allowed.join(", ")}`)
  }
  yield* Rules.word(`${at}.sideEffects`, hook.sideEffects, allowed)
  const seconds = Json.number(hook.timeoutSeconds) ?? 0
  if (seconds < 1 || seconds > 30) {
    const detail = "the timeout value must be between 1 and 30 seconds"
    yield FieldError.invalid(`${at}.timeoutSeconds`, seconds, detail)
  }
  if (!lenient.labelValues)
    for (const { field, ...error } of validateSelector(hook)) yield { field: `${at}.${field}`, ...error }
  yield* Rules.word(`${at}.reinvocationPolicy`, hook.reinvocationPolicy, ["IfNeeded", "Never"])
  yield* ClientConfig.validate(`${at}.clientConfig`, Json.object(hook.clientConfig))
  if (!lenient.matchConditions) yield* Rules.matchConditions(`${at}.matchConditions`, hook.matchConditions, false)
}

function* qualifiedName(field: string, name: string): Errors {
  if (name === "") return yield FieldError.required(field)
  const wrong = Format.dnsSubdomain(name)
  if (wrong.length > 0) return yield FieldError.invalid(field, name, wrong.join(","))
  if (name.split(".").length < 3) {
    yield FieldError.invalid(field, name, "should be a domain with at least three segments separated by dots")
  }
}

const accepted = ["v1", "v1beta1"]
const isAccepted = (version: JsonValue): boolean => typeof version === "string" && accepted.includes(version)

function* reviewVersions(field: string, value: JsonValue | undefined, lenient: Lenience): Errors {
  const given = Json.list(value)
  if (given.length === 0) return yield FieldError.required(field, `must specify one of ${accepted.join(", ")}`)
  const seen = new Set<string>()
  for (const [index, one] of given.entries()) {
    const version = Json.text(one) ?? ""
    if (seen.has(version)) yield FieldError.invalid(`${field}[${index}]`, version, "duplicate version")
    else yield* Check.text(`${field}[${index}]`, version, Format.dnsLabel1035)
    seen.add(version)
  }
  if (!lenient.reviewVersions && !given.some(isAccepted)) {
    yield FieldError.invalid(field, given, `must include at least one of ${accepted.join(", ")}`)
  }
}

/** Review resources, for which a kube-apiserver calls no webhook. */
const excluded: ReadonlySet<string> = new Set([
  "selfsubjectreviews.authentication.k8s.io",
  "tokenreviews.authentication.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io"
])

function* warnings(object: JsonObject, old?: JsonObject): Iterable<string> {
  yield* Rules.staticNameWarning(object, old)
  for (const [hook, { rules }] of webhooksOf(object).entries()) {
    for (const [index, { apiGroups, resources }] of Json.objects(rules).entries()) {
      const groups = Json.list(apiGroups)
      const names = Json.list(resources)
      if (groups.includes("*") || names.includes("*")) continue
      const named = groups.flatMap((group) => names.map((name) => `${name}.${group}`))
      for (const one of new Set(named.filter((name) => excluded.has(name)))) {
        const at = `webhooks[${hook}].rules[${index}]`
        yield `${at}: ${one} is excluded from admission webhooks; this rule will have no effect`
      }
    }
  }
}

const configuration = (kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"): Definition => ({
  group: Rules.group,
  version: "v1",
  kind,
  strategy: strategy({
    shape: `admissionregistration/v1.${kind}`,
    generation: [["webhooks"]],
    default: (draft) => {
      for (const hook of drafts(draft, "webhooks")) {
        Rules.fillAbsent(hook, "failurePolicy", "Fail")
        Rules.fillSelectors(hook)
        Rules.fillAbsent(hook, "timeoutSeconds", 10)
        if (kind === "MutatingWebhookConfiguration") Rules.fillAbsent(hook, "reinvocationPolicy", "Never")
        Rules.fillRules(hook, "rules")
        const service = part(part(hook, "clientConfig"), "service")
        if (service !== undefined) Rules.fillAbsent(service, "port", 443)
      }
    },
    *validate(object) {
      yield* errors(object, none)
      yield* Rules.staticName(object)
    },
    validateUpdate: (object, old) => errors(object, lenience(object, old)),
    warnings
  })
})

/** ValidatingWebhookConfiguration. */
export const validatingWebhooks: Definition = configuration("ValidatingWebhookConfiguration")

/** MutatingWebhookConfiguration. */
export const mutatingWebhooks: Definition = configuration("MutatingWebhookConfiguration")
