import { expect, test } from "bun:test"
import * as Failure from "../../model/Failure.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import * as ObjectIndex from "../../model/ObjectIndex.ts"
import { keyOfObject } from "../../model/ObjectMeta.ts"
import * as Allocation from "./Allocation.ts"
import { service } from "./Service.ts"

const writing = (...services: ReadonlyArray<Json.JsonObject>): Writing => ({
  now: 0,
  warn: () => {},
  user: { name: "u", groups: [] },
  stored: () => [],
  values: (_, valuesOf) =>
    ObjectIndex.make(
      valuesOf,
      services.map((one) => [keyOfObject(one), one] as const)
    )
})

const made = (name: string, spec: Json.JsonObject, others: ReadonlyArray<Json.JsonObject> = []): Json.JsonObject => {
  const draft = Json.copy({ metadata: { name, uid: name }, spec: { ports: [{ port: 80 }], ...spec } })
  service.strategy.default(draft)
  service.strategy.prepareForCreate(draft, writing(...others))
  return draft
}

const addressOf = (object: Json.JsonObject) => Json.at(object, "spec", "clusterIP")
const nodePortOf = (object: Json.JsonObject) => Json.objects(Json.at(object, "spec", "ports"))[0]?.nodePort

test("each service gets the lowest free address and port", () => {
  const first = made("a", { type: "NodePort" })
  const second = made("b", { type: "NodePort" }, [first])
  const third = made("c", { type: "NodePort" }, [second])
  expect([first, second, third].map(addressOf)).toEqual(["10.0.1.1", "10.0.1.2", "10.0.1.1"])
  expect([first, second, third].map(nodePortOf)).toEqual([30086, 30087, 30086])
})

test("an address is the lowest free one again after a Service has lost it", () => {
  const values = ObjectIndex.make(Allocation.valuesOf, [])
  const give = (name: string) => {
    const address = Allocation.address(values)
    values.change(name, undefined, { spec: { clusterIPs: [address] } })
    return address
  }
  expect(["a", "b", "c"].map(give)).toEqual(["10.0.1.1", "10.0.1.2", "10.0.1.3"])
  values.change("b", { spec: { clusterIPs: ["10.0.1.2"] } }, undefined)
  expect([give("b"), give("d")]).toEqual(["10.0.1.2", "10.0.1.4"])
})

test("a taken address or port is rejected", () => {
  const other = made("a", { type: "NodePort" })
  const errors = (spec: Json.JsonObject) =>
    service.strategy
      .validate(made("b", spec, [other]), writing(other))
      .map(({ field, message }) => `${field}: ${message}`)
  expect(errors({ clusterIP: "10.0.1.1" })).toEqual([
    'spec.clusterIPs: Invalid value: ["10.0.1.1"]: failed to allocate IP 10.0.1.1: provided IP is already allocated'
  ])
  expect(errors({ type: "NodePort", ports: [{ port: 80, nodePort: 30086 }] })).toEqual([
    "spec.ports[0].nodePort: Invalid value: 30086: provided port is already allocated"
  ])
  expect(errors({ type: "NodePort", ports: [{ port: 80, nodePort: 30086, protocol: "UDP" }] })).toEqual([])
})

test("an update without the allocated values keeps them, and allocates no others", () => {
  const old = made("a", { type: "NodePort" })
  const draft = Json.copy({ metadata: { name: "a", uid: "a" }, spec: { type: "NodePort", ports: [{ port: 81 }] } })
  service.strategy.default(draft)
  service.strategy.prepareForUpdate(draft, old, writing(old))
  expect(addressOf(draft)).toBe("10.0.1.1")
  expect(nodePortOf(draft)).toBe(30086)
  expect(service.strategy.validateUpdate(draft, old, writing(old))).toEqual([])
})

test("an update that keeps its address and its ports does not read the other Services", () => {
  const old = made("a", { type: "NodePort" })
  const draft = Json.copy(old)
  Json.member(Json.member(draft, "metadata"), "labels").a = "b"
  let reads = 0
  const { values, ...rest } = writing(old)
  const counting: Writing = {
    ...rest,
    values: (storage, valuesOf) => {
      reads++
      return values(storage, valuesOf)
    }
  }
  service.strategy.prepareForUpdate(draft, old, counting)
  expect([service.strategy.validateUpdate(draft, old, counting), reads]).toEqual([[], 0])
  Json.member(draft, "spec").ports = [{ port: 80, targetPort: 80, protocol: "TCP", nodePort: 30090 }]
  expect([service.strategy.validateUpdate(draft, old, counting), reads]).toEqual([[], 1])
})

test("a service that no longer has node ports loses its own one, and keeps a new one for the validation", () => {
  const old = made("a", { type: "NodePort" })
  const kept = (nodePort?: number) => {
    const next = Json.copy(old)
    Object.assign(Json.member(next, "spec"), { type: "ClusterIP", ports: [{ port: 80, nodePort }] })
    service.strategy.prepareForUpdate(next, old, writing(old))
    return nodePortOf(next)
  }
  expect([kept(), kept(30086), kept(30099)]).toEqual([undefined, undefined, 30099])
})

test("an update allocates no address for a service of type ExternalName", () => {
  const old = made("a", { type: "ExternalName", externalName: "a.example.com" })
  const next = Json.copy(old)
  Json.member(next, "spec").externalName = "b.example.com"
  service.strategy.prepareForUpdate(next, old, writing(old))
  expect(Object.keys(Json.object(next.spec)).filter((name) => name.startsWith("clusterIP"))).toEqual([])
})

test("ports of one number and two protocols share a node port", () => {
  const both = made("a", {
    type: "NodePort",
    ports: [
      { name: "t", port: 53 },
      { name: "u", port: 53, protocol: "UDP" }
    ]
  })
  expect(Json.objects(Json.at(both, "spec", "ports")).map(({ nodePort }) => nodePort)).toEqual([30086, 30086])
})

test("an error in the allocation of an address is reported alone", () => {
  const refused = (spec: Json.JsonObject) => {
    try {
      made("a", spec)
      return "made"
    } catch (error) {
      return error instanceof Failure.Failure ? error.message : String(error)
    }
  }
  expect(refused({ ipFamilyPolicy: "RequireDualStack", sessionAffinity: "Other" })).toBe(
    'Service "a" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'
  )
  expect(refused({ ipFamilies: ["IPv6"] })).toContain('spec.ipFamilies[0]: Invalid value: "IPv6": not configured')
  expect(refused({ clusterIP: "10.0.1.9", ipFamilies: ["IPv6"] })).toContain("expected an IPv6 value as indicated by")
  expect(refused({ ipFamilies: ["IPv4", "IPv4"] })).toContain('spec.ipFamilies[1]: Duplicate value: "IPv4"')
})

test("a value that a service releases is not free for its other allocations", () => {
  const old = made("a", { type: "LoadBalancer", externalTrafficPolicy: "Local" })
  expect([nodePortOf(old), Json.at(old, "spec", "healthCheckNodePort")]).toEqual([30086, 30087])
  const next = Json.copy(old)
  Json.member(next, "spec").ports = [{ name: "b", port: 80 }]
  service.strategy.default(next)
  service.strategy.prepareForUpdate(next, old, writing(old))
  expect(nodePortOf(next)).toBe(30088)
})

test("two ports with the same node port are rejected", () => {
  const old = made("a", { type: "NodePort" })
  const next = Json.copy(old)
  Json.member(next, "spec").ports = [{ port: 80 }, { port: 81 }]
  service.strategy.default(next)
  expect(() => service.strategy.prepareForUpdate(next, old, writing(old))).toThrow("duplicate nodePort: {TCP 30086}")
})

test("the stored service has more fields than the returned one", () => {
  const name = { metadata: {}, spec: { type: "ExternalName", internalTrafficPolicy: "Local" } }
  expect(service.fromStorage?.(name)).toEqual({ metadata: {}, spec: { type: "ExternalName" } })
  expect(service.forUpdate?.(name)).toBe(name)
  const read = (spec: Json.JsonObject) => Json.object(Json.at(service.fromStorage?.({ spec }), "spec")).ipFamilies
  expect(read({ clusterIP: "None" })).toEqual(["IPv4", "IPv6"])
  expect(read({ clusterIP: "None", selector: { a: "b" } })).toEqual(["IPv4"])
  expect(read({ clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"] })).toEqual(["IPv4"])
  expect(read({})).toBeUndefined()
})

test("a removed IP family requires another policy, and two families require a dual-stack policy", () => {
  const headless = made("a", { clusterIP: "None" })
  const refused = (spec: Json.JsonObject) => {
    const next = Json.copy({ ...headless, spec: { ...Json.object(headless.spec), ...spec } })
    expect(() => service.strategy.prepareForUpdate(next, headless, writing(headless))).toThrow(Failure.Failure)
  }
  refused({ ipFamilies: ["IPv4"] })
  refused({ ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "SingleStack" })
  refused({ selector: { a: "b" } })
  expect(Json.at(made("b", { clusterIP: "None", ipFamilies: ["IPv6", "IPv4"] }), "spec", "ipFamilyPolicy")).toBe(
    "RequireDualStack"
  )
})

test("a headless service without a selector has both families unless its policy is SingleStack", () => {
  const headless = made("a", { clusterIP: "None", ipFamilies: ["IPv4"] })
  expect(Json.at(headless, "spec", "ipFamilies")).toEqual(["IPv4", "IPv6"])
  const next = Json.copy(headless)
  Json.member(next, "spec").ipFamilyPolicy = "SingleStack"
  service.strategy.prepareForUpdate(next, headless, writing(headless))
  expect(Json.at(next, "spec", "ipFamilies")).toEqual(["IPv4"])
})

test("ignored fields get a warning, and source ranges without a load balancer are rejected", () => {
  const warnings: Array<string> = []
  const judge = (spec: Json.JsonObject) =>
    service.strategy.validate(made("a", spec), { ...writing(), warn: (text) => warnings.push(text) })
  judge({ externalName: "a.example.com" })
  judge({ clusterIP: "None", sessionAffinity: "ClientIP" })
  expect(warnings).toEqual([
    'spec.externalName is ignored when spec.type is not "ExternalName"',
    "spec.SessionAffinity is ignored for headless services"
  ])
  expect(judge({ loadBalancerSourceRanges: ["10.1.0.0/16", "a"] }).map(({ field }) => field)).toEqual([
    "spec.LoadBalancerSourceRanges",
    "spec.LoadBalancerSourceRanges[1]"
  ])
})

test.each([
  ["an address with an ipMode", { ip: "1.2.3.4", ipMode: "Proxy" }, []],
  ["a name", { hostname: "a.example.com" }, []],
  ["an address without an ipMode", { ip: "1.2.3.4" }, ["ipMode FieldValueRequired"]],
  ["no address", { ip: "a", ipMode: "Other" }, ["ip FieldValueInvalid", "ipMode FieldValueNotSupported"]],
  ["how, without an address", { ipMode: "VIP" }, ["ipMode FieldValueForbidden"]],
  ["an address as a name", { hostname: "1.2.3.4" }, ["hostname FieldValueInvalid"]]
])("the status of a balancer: %s", (_, ingress, said) => {
  const old = made("a", { type: "LoadBalancer" })
  const next = { ...old, status: { loadBalancer: { ingress: [ingress] } } }
  const errors = service.status?.validateUpdate(next, old, writing()) ?? []
  expect(errors.map(({ field, reason }) => `${field} ${reason}`)).toEqual(
    said.map((one) => `status.loadBalancer.ingress[0].${one}`)
  )
})
