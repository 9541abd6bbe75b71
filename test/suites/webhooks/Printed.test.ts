/** The CRD of a kind of two versions, as programs print it for `kubectl apply`. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"

const print = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const environment = Binary.bare(yield* Directory.make)
    const file = join(import.meta.dir, "fixtures", `${program}.ts`)
    const running = yield* Running.start([process.execPath, file, ...args, "-o", "json"], environment)
    return yield* running.ended("60 seconds")
  })

interface Printed {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  // biome-ignore lint/suspicious/noExplicitAny: JSON of a program.
  readonly [field: string]: any
}

const items = (stdout: string): ReadonlyArray<Printed> => JSON.parse(stdout).items

const definition = (stdout: string) => items(stdout).find(({ kind }) => kind === "CustomResourceDefinition")?.spec

const versions = [
  { name: "v2", storage: true, served: true },
  { name: "v1", storage: false, served: true }
]

const conversion = (namespace: string, name: string) => ({
  strategy: "Webhook",
  webhook: {
    conversionReviewVersions: ["v1"],
    clientConfig: { service: { namespace, name, path: "/convert", port: 443 } }
  }
})

describe.each(["crates", "pallets"])("The program %s", (program) => {
  live("prints all versions of its kind, and the Service that converts them", () =>
    Effect.gen(function* () {
      const spec = definition((yield* print(program, "crd")).stdout)
      expect(spec).toMatchObject({ versions, conversion: conversion(`${program}-system`, `${program}-webhook`) })
      expect(spec.versions[1].schema.openAPIV3Schema.properties.spec.required).toEqual(["size"])
      const moved = definition((yield* print(program, "crd", "--service-account=shop/mine")).stdout)
      expect(moved).toMatchObject({ versions, conversion: conversion("shop", `${program}-webhook`) })
    })
  )

  live("prints manifests with the same CRD, and the permission to write the CA", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print(program, "manifests", "--webhooks", "--service-account=shop/mine", "--image=a:1")
      expect(definition(stdout)).toMatchObject({ versions, conversion: conversion("shop", `${program}-webhook`) })
      const role = items(stdout).find(
        ({ kind, metadata }) => kind === "ClusterRole" && metadata.name.endsWith("-webhooks")
      )
      expect(role?.rules).toContainEqual({
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        resourceNames: ["crates.suites.example.com"],
        verbs: ["get", "patch"]
      })
      const service = items(stdout).find(
        ({ kind, metadata }) => kind === "Service" && metadata.name === `${program}-webhook`
      )
      expect(service?.metadata.namespace).toBe("shop")
    })
  )

  live("may install the CRD with the permissions that it prints", () =>
    Effect.gen(function* () {
      const { stdout } = yield* print(program, "rbac", "--install-crds")
      expect(stdout).toContain("crates.suites.example.com")
      expect(stdout).toContain('"create"')
    })
  )

  live("rejects manifests that cannot convert", () =>
    Effect.gen(function* () {
      expect(yield* print(program, "manifests", "--image=a:1")).toMatchObject({
        code: 2,
        stdout: "",
        stderr: `${program}: --webhooks: required for the versions of crates.suites.example.com\n`
      })
    })
  )
})
