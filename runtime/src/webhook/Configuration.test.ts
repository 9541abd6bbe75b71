/** The webhook configurations: for which requests the API server calls a webhook. */
import { expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Admission from "./Admission.ts"
import * as Configuration from "./Configuration.ts"

const Site = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({ host: Schema.String })
})
const settings = {
  program: "sites",
  namespace: "sites-system",
  namespaces: [],
  target: { service: { namespace: "sites-system", name: "sites-webhook" } }
}

/** The names of the conditions by the name of the webhook. */
const conditions = (...declared: ReadonlyArray<Admission.Admission>) => {
  const { mutating, validating } = Configuration.configurations(declared, settings, undefined)
  return Object.fromEntries(
    [validating, mutating].flatMap((each) =>
      (each?.webhooks ?? []).map(({ matchConditions, name }) => [name, matchConditions.map(({ name }) => name)])
    )
  )
}

test("a rule applies to the subresource scale only if it contains the subresource", () => {
  const rule = { expression: "true", message: "" }
  const declared = Admission.validate(Site, {
    cel: [
      { ...rule, name: "host" },
      { ...rule, name: "replicas", scale: true }
    ]
  })
  const resources = Configuration.policies([declared], settings).map(({ policy }) =>
    policy.spec.matchConstraints.resourceRules.map(({ resources }) => resources)
  )
  expect(resources).toEqual([[["sites"]], [["sites", "sites/scale"]]])
})

test("the API server calls for changes of the spec, and for deletions except those of garbage collection", () => {
  const extra = [{ name: "mine", expression: "true" }]
  expect(
    conditions(
      Admission.validate(Site, { write: () => [], delete: () => [] }),
      Admission.default(Site, () => undefined, { changes: "all", matchConditions: extra }),
      Admission.validate(BuiltIn.ConfigMap, { write: () => [], delete: () => [] })
    )
  ).toEqual({
    "validate.sites.example.com": ["not-being-deleted", "spec-changed"],
    "validate-deletion.sites.example.com": ["not-garbage-collection"],
    "mutate.sites.example.com": ["not-being-deleted", "mine"],
    "validate.configmaps.core.sites": ["not-being-deleted"],
    "validate-deletion.configmaps.core.sites": ["not-garbage-collection"]
  })
})
