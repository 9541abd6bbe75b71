import { describe, expect, test } from "bun:test"
import { names } from "../kinds/Names.ts"
import { definitionOf, schemaNamed, schemaOf } from "./OpenApiDefinitions.ts"
import type { Schema } from "./Schema.ts"

const at = (schema: Schema | undefined, ...path: ReadonlyArray<string>): Schema | undefined =>
  path.reduce<Schema | undefined>(
    (here, name) => (name === "[]" ? here?.items : name === "{}" ? values(here) : here?.properties?.[name]),
    schema
  )

const values = (schema: Schema | undefined): Schema | undefined =>
  typeof schema?.additionalProperties === "object" ? schema.additionalProperties : undefined

describe("A linked schema", () => {
  test("exists for each served kind, with its metadata", () => {
    for (const { group, kind, version } of names) {
      expect([kind, at(schemaOf(group, version, kind), "metadata", "name")?.type]).toEqual([kind, "string"])
    }
  })

  test("exists for the bodies of subresources", () => {
    for (const [group, version, kind] of [
      ["policy", "v1", "Eviction"],
      ["authentication.k8s.io", "v1", "TokenRequest"],
      ["autoscaling", "v1", "Scale"],
      ["", "v1", "Binding"],
      ["", "v1", "DeleteOptions"]
    ] as const) {
      expect(schemaOf(group, version, kind)?.type).toBe("object")
    }
  })

  test("does not exist for other names", () => {
    expect(schemaOf("", "v1", "Nothing")).toBeUndefined()
    expect(schemaOf("apps", "v2", "Deployment")).toBeUndefined()
  })

  test("resolves references, lists and maps", () => {
    const pod = schemaOf("", "v1", "Pod")
    expect(at(pod, "spec", "containers", "[]", "ports", "[]", "containerPort")?.type).toBe("integer")
    expect(at(pod, "spec", "containers", "[]", "resources", "limits", "{}")?.oneOf?.length).toBe(2)
  })

  test("prefers the fields beside a reference to those of its target", () => {
    const spec = at(schemaOf("", "v1", "Pod"), "spec")
    expect(spec?.description).toStartWith("Specification of the desired behavior of the pod.")
    expect(spec?.default).toEqual({})
    expect(spec?.properties).toBe(schemaNamed("io.k8s.api.core.v1.PodSpec").properties)
    expect(schemaNamed("io.k8s.api.core.v1.PodSpec").description).toBe("PodSpec is a description of a pod.")
  })

  test("keeps the extensions for merging", () => {
    const containers = at(schemaOf("", "v1", "Pod"), "spec", "containers")
    expect(containers?.["x-kubernetes-list-map-keys"]).toEqual(["name"])
    expect(containers?.["x-kubernetes-patch-merge-key"]).toBe("name")
  })

  test("may contain itself", () => {
    const schema = at(
      schemaOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
      ...["spec", "versions", "[]", "schema", "openAPIV3Schema"]
    )
    expect(at(schema, "properties", "{}")?.properties).toBe(schema?.properties)
    expect(schema?.properties?.not?.properties).toBe(schema?.properties)
  })

  test("is the same value each time, and has its name everywhere", () => {
    const pod = schemaOf("", "v1", "Pod")
    expect(schemaOf("", "v1", "Pod")).toBe(pod)
    const spec = at(pod, "spec")
    expect(spec === undefined ? undefined : definitionOf(spec)).toBe("io.k8s.api.core.v1.PodSpec")
    expect(definitionOf({ type: "string" })).toBeUndefined()
  })
})
