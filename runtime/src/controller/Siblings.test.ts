import { describe, expect, test } from "bun:test"
import * as Unions from "../resource/Unions.ts"
import type * as Drift from "./Drift.ts"
import * as Siblings from "./Siblings.ts"

const shapeOf = (group: string, plural: string) => Unions.of({ group, plural })

const deployment = shapeOf("apps", "deployments")

const withPod = (pod: Drift.Json): Drift.Json => ({ spec: { template: { spec: pod } } })

const pod = "/spec/template/spec"

describe("of", () => {
  test("finds nothing in an object without siblings, in one of another kind, and beside other fields", () => {
    const intent = withPod({ volumes: [{ name: "a", emptyDir: {} }] })
    const theirs = withPod({
      volumes: [
        { name: "b", hostPath: { path: "/b" } },
        { name: "a", emptyDir: { medium: "Memory" } }
      ]
    })
    expect(Siblings.of(deployment, intent, theirs)).toBe(Siblings.none)
    expect(Siblings.of(shapeOf("example.com", "deployments"), intent, theirs)).toBe(Siblings.none)
    expect(Siblings.of(shapeOf("", "constructor"), intent, theirs)).toBe(Siblings.none)
  })

  test("replaces a member of a union in an item, wherever the item is", () => {
    const found = Siblings.of(
      deployment,
      withPod({ volumes: [{ name: "a", emptyDir: {} }] }),
      withPod({ volumes: [{ name: "b" }, { name: "a", hostPath: { path: "/a" } }] })
    )
    expect(found).toEqual({
      fields: [{ path: "spec.template.spec.volumes[a].hostPath", pointer: `${pod}/volumes/1/hostPath` }],
      operations: [
        { op: "remove", path: `${pod}/volumes/1/hostPath` },
        { op: "add", path: `${pod}/volumes/1/emptyDir`, value: {} }
      ]
    })
  })

  test("sets the other intended fields of the struct, too", () => {
    const found = Siblings.of(
      shapeOf("", "services"),
      { spec: { type: "ExternalName", externalName: "example.com", ports: [{ port: 1 }] } },
      { spec: { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"], ports: [{ port: 2 }] } }
    )
    expect(found.operations).toEqual([
      { op: "remove", path: "/spec/loadBalancerSourceRanges" },
      { op: "add", path: "/spec/type", value: "ExternalName" },
      { op: "add", path: "/spec/externalName", value: "example.com" }
    ])
  })

  test.each<[string, { readonly [field: string]: Drift.Json }, { readonly [field: string]: Drift.Json }, string[]]>([
    [
      "another value of the decider",
      { type: "RuntimeDefault" },
      { type: "Localhost", localhostProfile: "a" },
      ["localhostProfile"]
    ],
    ["an own member", { type: "Localhost", localhostProfile: "a" }, { type: "Localhost", localhostProfile: "b" }, []],
    ["no decider", {}, { type: "Localhost", localhostProfile: "a" }, []]
  ])("decides by %s", (_, seccompProfile, theirs, names) => {
    const found = Siblings.of(
      deployment,
      withPod({ securityContext: { seccompProfile } }),
      withPod({ securityContext: { seccompProfile: theirs } })
    )
    expect(found.fields.map(({ path }) => path.split(".").at(-1) ?? "")).toEqual(names)
  })

  test("leaves a harmless value", () => {
    const own = withPod({ containers: [{ name: "app", securityContext: { allowPrivilegeEscalation: false } }] })
    const have = (privileged: boolean) => withPod({ containers: [{ name: "app", securityContext: { privileged } }] })
    expect(Siblings.of(deployment, own, have(false)).fields).toEqual([])
    expect(Siblings.of(deployment, own, have(true)).fields).toHaveLength(1)
  })

  test("removes a key of a map that another map may not have", () => {
    const configMaps = shapeOf("", "configmaps")
    expect(
      Siblings.of(configMaps, { data: { "a/b": "c" } }, { data: {}, binaryData: { "a/b": "Yw==", d: "" } })
    ).toEqual({
      fields: [{ path: "binaryData.a/b", pointer: "/binaryData/a~1b" }],
      operations: [
        { op: "remove", path: "/binaryData/a~1b" },
        { op: "add", path: "/data/a~1b", value: "c" }
      ]
    })
    const whole = Siblings.of(configMaps, { data: { a: "c" } }, { binaryData: { a: "" } })
    expect(whole.operations.at(-1)).toEqual({ op: "add", path: "/data", value: { a: "c" } })
  })

  test("finds the unions of a CustomResourceDefinition", () => {
    const found = Siblings.of(
      shapeOf("apiextensions.k8s.io", "customresourcedefinitions"),
      { spec: { conversion: { strategy: "None" } } },
      { spec: { conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } } } }
    )
    expect(found.fields).toEqual([{ path: "spec.conversion.webhook", pointer: "/spec/conversion/webhook" }])
  })

  test("leaves out siblings within a part that is restored as a whole", () => {
    const found = Siblings.of(
      deployment,
      { spec: { strategy: { type: "Recreate" } } },
      { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } }
    )
    expect(found.fields).toHaveLength(1)
    expect(Siblings.outside(found, ["/spec/strategy"])).toEqual(Siblings.none)
    expect(Siblings.outside(found, ["/spec/strategyOfOthers"])).toEqual(found)
  })
})

const container = (fields: { readonly [field: string]: Drift.Json }) => ({ containers: [{ name: "app", ...fields }] })

const cause = (field: string, message: string) => ({ reason: "FieldValueInvalid", field, message })

describe("named", () => {
  test("is the refused field that the intent leaves out, beside its own fields", () => {
    const found = Siblings.named(
      withPod(container({ resources: { limits: { memory: "1Gi" } } })),
      withPod({
        containers: [
          { name: "proxy" },
          { name: "app", resources: { limits: { memory: "4Gi", cpu: "1" }, requests: { memory: "2Gi", cpu: "1" } } }
        ]
      }),
      [
        cause(
          "spec.template.spec.containers[1].resources.requests",
          'Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi'
        )
      ]
    )
    expect(found).toEqual({
      fields: [
        {
          path: "spec.template.spec.containers[app].resources.requests.memory",
          pointer: `${pod}/containers/1/resources/requests/memory`
        }
      ],
      operations: [
        { op: "remove", path: `${pod}/containers/1/resources/requests/memory` },
        { op: "add", path: `${pod}/containers/1/resources/limits/memory`, value: "1Gi" }
      ]
    })
  })

  test("is a neighbour of a refused own field that the message names", () => {
    const found = Siblings.named(
      { spec: { progressDeadlineSeconds: 60 } },
      { spec: { progressDeadlineSeconds: 600, minReadySeconds: 300, paused: true } },
      [cause("spec.progressDeadlineSeconds", "Invalid value: 60: must be greater than minReadySeconds")]
    )
    expect(found.operations).toEqual([
      { op: "remove", path: "/spec/minReadySeconds" },
      { op: "add", path: "/spec/progressDeadlineSeconds", value: 60 }
    ])
  })

  test.each([
    ["a field that the object lacks", "spec.nothing"],
    ["an own field without such a neighbour", "spec.replicas"],
    ["no field", ""],
    ["an item of another manager", "spec.template.spec.containers[0].image"],
    ["a place without an item", "spec.template.spec.containers[9].image"]
  ])("is nothing for %s", (_, field) => {
    const intent = { spec: { replicas: 1, template: { spec: container({ image: "a" }) } } }
    const object = { spec: { replicas: 2, paused: true, template: { spec: { containers: [{ name: "proxy" }] } } } }
    expect(Siblings.named(intent, object, [cause(field, "Invalid value")])).toBe(Siblings.none)
  })
})
