/** The compute resources of a WebApp's container. */
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

const amount = (description: string) =>
  Schema.optionalKey(
    Field.Quantity.pipe(
      Field.rule({
        rule: "!quantity(string(self)).isLessThan(quantity('0'))",
        message: "must be greater than or equal to 0"
      })
    )
  ).annotate({ description })

const Amounts = Schema.Struct({
  cpu: amount("Cores, such as 500m."),
  memory: amount("Bytes, such as 256Mi."),
  "ephemeral-storage": amount("Bytes of local disk, such as 1Gi.")
})

/** A request beyond its limit could never be scheduled. */
const withinLimit = (name: string, member = name) =>
  Field.rule({
    rule: `!has(self.requests) || !has(self.limits) || !has(self.requests.${member}) || !has(self.limits.${member}) || quantity(string(self.requests.${member})).compareTo(quantity(string(self.limits.${member}))) <= 0`,
    message: `requests.${name} must be less than or equal to limits.${name}`
  })

/** Requests and limits. */
export const Compute = Schema.Struct({
  requests: Schema.optionalKey(Amounts).annotate({
    description: "The resources that the scheduler reserves for each pod."
  }),
  limits: Schema.optionalKey(Amounts).annotate({ description: "The most that a pod may use." })
}).pipe(withinLimit("cpu"), withinLimit("memory"), withinLimit("ephemeral-storage", "ephemeral__dash__storage"))
