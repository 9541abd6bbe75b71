/** The kind of the examples in the reference. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Schema from "effect/Schema"

export const Site = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({
    replicas: Schema.optionalWith(Schema.Int, { default: () => 1 }),
    host: Schema.optionalWith(Schema.String, { exact: true })
  }),
  status: Schema.Struct({
    url: Schema.optionalWith(Schema.String, { exact: true }),
    conditions: Schema.optionalWith(Condition.list, { exact: true })
  })
})

export type Site = typeof Site.Type
