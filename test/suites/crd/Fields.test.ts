import { describe, expect, test } from "bun:test"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as SchemaFields from "@homeostat/runtime/resource/SchemaFields"
import { controllers } from "../Shipped.ts"

const kinds = controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource)

describe("The fields that a start compares with the CRD of the cluster", () => {
  test.each(kinds.map((kind) => [kind.kind, kind] as const))("are those of the CRD of %s", (_, { definition }) => {
    const { properties = {} } = definition.schema
    expect<object>(definition.fields()).toEqual({
      spec: SchemaFields.ofStructural(properties.spec),
      status: SchemaFields.ofStructural(properties.status)
    })
  })
})
