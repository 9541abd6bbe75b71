/** The kind of the examples in the reference. */
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export const Site = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({
    replicas: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(1))),
    host: Schema.optionalKey(Schema.String)
  }),
  status: Schema.Struct({
    url: Schema.optionalKey(Schema.String),
    conditions: Schema.optionalKey(Condition.list)
  })
})

export type Site = typeof Site.Type
