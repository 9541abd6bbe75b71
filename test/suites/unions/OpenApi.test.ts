/** The table of unions has each union that the OpenAPI of the built-in kinds shows. */
import { describe, expect, test } from "bun:test"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import * as Unions from "@homeostat/runtime/resource/Unions"
import definitions from "../../apiserver/model/definitions.json"

interface Schema {
  readonly $ref?: string
  readonly allOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly type?: string
  readonly description?: string
  readonly required?: ReadonlyArray<string>
  readonly properties?: { readonly [name: string]: Schema }
  readonly "x-kubernetes-group-version-kind"?: ReadonlyArray<{ group: string; version: string; kind: string }>
  readonly "x-kubernetes-list-type"?: string
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-unions"?: ReadonlyArray<{
    readonly discriminator?: string
    readonly "fields-to-discriminateBy": { readonly [field: string]: string }
  }>
}

const types: { readonly [name: string]: Schema } = definitions

const referred = ({ $ref, allOf }: Schema): string | undefined => ($ref ?? allOf?.[0]?.$ref)?.split("/").at(-1)

const propertiesOf = (type: string) => Object.entries(types[type]?.properties ?? {})

/** Fields that a subresource sets, or that exist only in answers. */
const skipped = ["status", "ephemeralContainers"]

/** A struct in the objects of a kind, which an apply does not replace as a whole. */
interface Place {
  readonly path: string
  readonly type: string
  /** Its unions in the table. */
  readonly shape: Unions.Shape | undefined
}

const places = (type: string, path: string, shape: Unions.Shape | undefined): ReadonlyArray<Place> => {
  if (types[type]?.["x-kubernetes-map-type"] === "atomic" || type.endsWith("ObjectMeta")) return []
  const inner = propertiesOf(type).flatMap(([name, property]) => {
    if (skipped.includes(name)) return []
    const isList = property.type === "array"
    if (isList && property["x-kubernetes-list-type"] !== "map") return []
    if (property["x-kubernetes-map-type"] === "atomic") return []
    const next = referred(isList ? (property.items ?? {}) : property)
    return next === undefined ? [] : places(next, `${path}.${name}${isList ? "[]" : ""}`, shape?.fields?.[name])
  })
  return [{ path, type, shape }, ...inner]
}

/** Reviews are answers, and not stored. */
const stored = Object.values(BuiltIn).filter(({ kind }) => !kind.endsWith("Review"))

const kinds = stored.flatMap((kind) => {
  const found = Object.entries(types).find(([, schema]) =>
    schema["x-kubernetes-group-version-kind"]?.some(
      ({ group, kind: name, version }) => group === kind.group && version === kind.version && name === kind.kind
    )
  )
  return found === undefined ? [] : [{ kind, type: found[0] }]
})

const all = kinds.flatMap(({ kind, type }) => places(type, kind.kind, Unions.of(kind)))

/** The structs of a type whose optional fields are all structs: most often a union. */
const isChoice = (type: string): boolean => {
  const { required = [] } = types[type] ?? {}
  const optional = propertiesOf(type).filter(([name]) => !required.includes(name))
  return optional.length > 1 && optional.every(([, property]) => types[referred(property) ?? ""]?.type === "object")
}

const words =
  /mutually exclusive|[Ee]xactly one of|[Oo]ne and only one|[Pp]resent only if|may not both|Cannot be used if|cannot both be set|must be unset|must be unspecified|must be nil|not both simultaneously|can only be set when|only be set if/

/** The fields of a type that the OpenAPI shows to be in a union. */
const shown = (type: string): ReadonlyArray<string> => {
  const { description = "", required = [], "x-kubernetes-unions": unions = [] } = types[type] ?? {}
  const declared = unions.flatMap((union) => [
    ...(union.discriminator === undefined ? [] : [union.discriminator]),
    ...Object.keys(union["fields-to-discriminateBy"])
  ])
  const isWhole = isChoice(type) || words.test(description)
  const described = propertiesOf(type).flatMap(([name, property]) =>
    isWhole ? (required.includes(name) ? [] : [name]) : words.test(property.description ?? "") ? [name] : []
  )
  return [...new Set([...declared, ...described])]
}

/** Structs with the members of a choice beside other fields, such as a probe. */
const choices = [...new Set(all.map(({ type }) => type).filter(isChoice))].map((type) =>
  propertiesOf(type).flatMap(([, property]) => referred(property) ?? [])
)
const membersOf = (type: string): ReadonlyArray<string> => {
  const within = choices.map((members) =>
    propertiesOf(type).flatMap(([name, property]) => (members.includes(referred(property) ?? "") ? [name] : []))
  )
  return within.find(({ length }) => length > 2) ?? []
}

/** The fields that the OpenAPI shows, and that exclude no field that another manager can change. */
const reasons: { readonly [field: string]: string } = {
  "Affinity.nodeAffinity": "they add up",
  "Affinity.podAffinity": "they add up",
  "Affinity.podAntiAffinity": "they add up",
  "HorizontalPodAutoscalerBehavior.scaleDown": "they add up",
  "HorizontalPodAutoscalerBehavior.scaleUp": "they add up",
  "JobSchedulingConfiguration.schedulingPolicy": "immutable",
  "JobSpec.backoffLimitPerIndex": "immutable",
  "JobTemplateSpec.metadata": "they add up",
  "JobTemplateSpec.spec": "they add up",
  "LeaseSpec.preferredHolder": "it needs a field, and excludes none",
  "PodSchedulingGroup.podGroupName": "immutable",
  "PodSpec.os": "its admission excludes fields of many structs",
  "PodTemplateSpec.metadata": "they add up",
  "PodTemplateSpec.spec": "they add up",
  "ServiceSpec.loadBalancerClass": "the API server wipes it when the type changes",
  "ValidatingAdmissionPolicyBindingSpec.matchResources": "they add up",
  "ValidatingAdmissionPolicyBindingSpec.paramRef": "they add up",
  "ValidatingAdmissionPolicySpec.auditAnnotations": "one of them is required",
  "ValidatingAdmissionPolicySpec.validations": "one of them is required",
  "WorkloadPodGroupDisruptionMode.all": "immutable",
  "WorkloadPodGroupDisruptionMode.single": "immutable",
  "WorkloadPodGroupSchedulingPolicy.basic": "immutable",
  "WorkloadPodGroupSchedulingPolicy.gang": "immutable"
}

const namesIn = ({ unions = [] }: Unions.Shape): ReadonlyArray<string> =>
  unions.flatMap((union) =>
    "oneOf" in union ? union.oneOf : "disjoint" in union ? union.disjoint : [union.field, ...union.excludes]
  )

describe("The table of unions", () => {
  test("has each field that the OpenAPI shows to exclude another one", () => {
    const absent = all.flatMap(({ shape = {}, type }) => {
      const known = namesIn(shape)
      const short = type.split(".").slice(-1)[0] ?? type
      return [...shown(type), ...membersOf(type)].flatMap((field) =>
        known.includes(field) ? [] : [`${short}.${field}`]
      )
    })
    expect([...new Set(absent)].toSorted()).toEqual(Object.keys(reasons).toSorted())
  })

  test("names only structs and fields of the OpenAPI", () => {
    const count = (shape: Unions.Shape | undefined): number =>
      shape === undefined
        ? 0
        : (shape.unions === undefined ? 0 : 1) +
          Object.values(shape.fields ?? {}).reduce((sum, each) => sum + count(each), 0)
    const found = all.filter(({ shape }) => shape?.unions !== undefined)
    expect(found).toHaveLength(kinds.reduce((sum, { kind }) => sum + count(Unions.of(kind)), 0))
    const unknown = found.flatMap(({ path, shape = {}, type }) =>
      namesIn(shape).flatMap((name) => (types[type]?.properties?.[name] === undefined ? [`${path}.${name}`] : []))
    )
    expect(unknown).toEqual([])
  })
})
