/** v1 LimitRange, v1 ResourceQuota and scheduling.k8s.io/v1 PriorityClass. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, part, statusStrategy, strategy } from "../Definition.ts"
import { roundUp } from "../pods/PodDefaults.ts"
import * as ResourceNames from "../ResourceNames.ts"

const limitLists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"]

/** The definition of LimitRange. */
export const limitRange: Definition = {
  group: "",
  version: "v1",
  kind: "LimitRange",
  strategy: strategy({
    shape: "core/v1.LimitRange",
    default: (draft) => {
      for (const item of drafts(part(draft, "spec") ?? {}, "limits")) {
        for (const name of limitLists) roundUp(part(item, name))
        if (item.type !== "Container") continue
        const limits = Json.member(item, "default")
        const requests = Json.member(item, "defaultRequest")
        for (const [from, to] of [
          [part(item, "max"), limits],
          [limits, requests],
          [part(item, "min"), requests]
        ] as const) {
          for (const name in from) fill(to, name, from[name] ?? "0")
        }
        for (const name of ["default", "defaultRequest"]) {
          if (Object.keys(Json.object(item[name])).length === 0) delete item[name]
        }
      }
    },
    *validate(object) {
      const types = new Set<string>()
      for (const [index, item] of Json.objects(Json.at(object, "spec", "limits")).entries()) {
        const at = `spec.limits[${index}]`
        const type = Json.text(item.type) ?? ""
        yield* Check.text(`${at}.type`, type, Format.labelKey)
        if (types.has(type)) yield FieldError.duplicate(`${at}.type`, type)
        types.add(type)
        yield* ordered(at, item)
      }
    }
  }),
  createOnUpdate: true,
  unconditionalUpdate: true
}

/** The pairs whose low value must not exceed the high one, in the order of a kube-apiserver. The error names the field `reported`. */
const order: ReadonlyArray<readonly [reported: string, low: string, high: string]> = [
  ["min", "min", "max"],
  ["defaultRequest", "min", "defaultRequest"],
  ["defaultRequest", "defaultRequest", "max"],
  ["defaultRequest", "defaultRequest", "default"],
  ["default", "min", "default"],
  ["default", "default", "max"]
]

function* ordered(field: string, item: JsonObject): Errors {
  for (const [reported, low, high] of order) {
    const lows = Json.texts(item[low])
    const highs = Json.texts(item[high])
    for (const name in lows) {
      const [less = "0", more] = [lows[name], highs[name]]
      if (more === undefined || Quantity.amount(less) <= Quantity.amount(more)) continue
      yield FieldError.invalid(
        `${field}.${reported}[${name}]`,
        reported === "defaultRequest" && low === "min" ? more : less,
        `${wordsFor(low)} value ${less} is greater than ${wordsFor(high)} value ${more}`
      )
    }
  }
}

const wordsFor = (list: string): string => (list === "defaultRequest" ? "default request" : list)

const quotaStrategy = strategy({
  shape: "core/v1.ResourceQuota",
  status: {},
  default: (draft) => roundUp(part(part(draft, "spec"), "hard")),
  validate: validateQuota,
  *validateUpdate(object, old) {
    yield* validateQuota(object)
    yield* Check.immutable(
      "spec.scopes",
      Json.at(object, "spec", "scopes") ?? null,
      Json.at(old, "spec", "scopes") ?? null
    )
  }
})

const scopes = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass"
]

const whole: ReadonlySet<string> = new Set(
  [...ResourceNames.ofQuotas].filter((name) => !/cpu|memory|storage/.test(name))
)

function* validateQuota(object: JsonObject): Errors {
  const spec = Json.object(object.spec)
  const hard = Json.texts(spec.hard)
  for (const name in hard) {
    const at = `spec.hard[${name}]`
    const value = hard[name] ?? "0"
    const wrong = Format.labelKey(name)
    for (const detail of wrong) yield FieldError.invalid(at, name, detail)
    if (
      wrong.length === 0 &&
      !name.includes("/") &&
      !ResourceNames.ofQuotas.has(name) &&
      !/^(requests\.)?hugepages-/.test(name)
    ) {
      yield FieldError.invalid(at, name, "must be a standard resource type or fully qualified")
      yield FieldError.invalid(at, name, "must be a standard resource for quota")
    }
    yield* Check.quantity(at, value)
    if (whole.has(name) && Quantity.amount(value) % 1_000_000_000n !== 0n) {
      yield FieldError.invalid(at, value, "must be an integer")
    }
  }
  const given = Json.list(spec.scopes)
  for (const scope of given) {
    if (typeof scope !== "string" || !scopes.includes(scope)) {
      yield FieldError.invalid("spec.scopes", given, "unsupported scope")
    }
    if (
      scope === "BestEffort" &&
      Object.keys(hard).some((name) => ResourceNames.ofQuotas.has(name) && name !== "pods")
    ) {
      yield FieldError.invalid("spec.scopes", given, "unsupported scope applied to resource")
    }
  }
}

/** The definition of ResourceQuota. */
export const resourceQuota: Definition = {
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  strategy: quotaStrategy,
  status: statusStrategy(quotaStrategy, "core/v1.ResourceQuota"),
  unconditionalUpdate: true
}

/** The definition of PriorityClass. */
export const priorityClass: Definition = {
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  strategy: strategy({
    shape: "scheduling/v1.PriorityClass",
    generation: [],
    default: (draft) => fill(draft, "preemptionPolicy", "PreemptLowerPriority"),
    *validate(object) {
      const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
      const value = Json.number(object.value) ?? 0
      if (name.startsWith("system-")) {
        if (!system.has(name)) {
          yield FieldError.forbidden(
            "metadata.name",
            `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`
          )
        }
      } else if (value > 1_000_000_000) {
        yield FieldError.forbidden("value", "maximum allowed value of a user defined priority is 1000000000")
      }
      yield* Check.word("preemptionPolicy", object.preemptionPolicy, ["PreemptLowerPriority", "Never"])
    },
    *validateUpdate(object, old) {
      if (object.value !== old.value) yield FieldError.forbidden("value", "may not be changed in an update.")
      yield* Check.immutable("preemptionPolicy", object.preemptionPolicy, old.preemptionPolicy)
    }
  }),
  unconditionalUpdate: true
}

const system: ReadonlySet<string> = new Set(["system-cluster-critical", "system-node-critical"])
