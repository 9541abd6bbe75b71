import { describe, expect, test } from "bun:test"
import * as Definitions from "./Definitions.ts"

const version = (name: string, storage: boolean, served = true) => ({ name, served, storage, schema: { name } })

const definition = (strategy: string | undefined, ...versions: ReadonlyArray<ReturnType<typeof version>>) => ({
  metadata: { name: "sites.example.com", uid: "u", annotations: { "api-approved.kubernetes.io": "yes", other: "x" } },
  spec: { group: "example.com", ...(strategy && { conversion: { strategy, webhook: {} } }), versions },
  status: { conditions: [] }
})

describe("The definition for the API server in memory", () => {
  test("has no status and no metadata of the cluster, except for the approval", () => {
    expect(Definitions.plain(definition(undefined, version("v1", true)), "v1")).toEqual({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "sites.example.com", annotations: { "api-approved.kubernetes.io": "yes" } },
      spec: { group: "example.com", versions: [version("v1", true)] }
    })
  })

  test("keeps all versions without a conversion webhook, and otherwise only the wanted one", () => {
    const versions = [version("v1", true), version("v2", false)]
    expect(Definitions.plain(definition("None", ...versions), "v2")).toMatchObject({ spec: { versions } })
    const single = Definitions.plain(definition("Webhook", ...versions), "v2")
    expect(single).toMatchObject({ spec: { versions: [version("v2", true)] } })
    expect(JSON.stringify(single)).not.toContain("webhook")
  })

  test("is undefined for a version that the cluster does not serve", () => {
    expect(Definitions.plain(definition("None", version("v1", true)), "v2")).toBeUndefined()
    expect(
      Definitions.plain(definition("None", version("v1", true), version("v2", false, false)), "v2")
    ).toBeUndefined()
  })
})

test("Definitions.permissive accepts everything", () => {
  const made = Definitions.permissive({ group: "example.com", version: "v1", plural: "sites" }, "Site", true)
  expect(made).toMatchObject({ metadata: { name: "sites.example.com" }, spec: { scope: "Namespaced" } })
  expect(Definitions.permissive({ group: "a.b", version: "v1", plural: "sites" }, "Site", false)).toMatchObject({
    spec: { scope: "Cluster" }
  })
})
