/** The custom kind of the cases, with a field for each feature of a structural schema. */

import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Schema from "../comparison/Schema.ts"

export const groupVersion = "example.com/v1"

const { integer, text: string } = Schema
// A field in a rule needs a limit, because the server estimates the cost of the rule.
const short = { type: "string", maxLength: 20 }

const spec = {
  type: "object",
  properties: {
    replicas: { type: "integer", default: 1, maximum: 100 },
    image: string,
    color: string,
    startedAt: { type: "string", format: "date-time" },
    paused: { type: "boolean" },
    ports: Schema.map(["name"], { name: string, port: integer, protocol: { type: "string", default: "TCP" } }),
    tags: Schema.set(string),
    args: { type: "array", items: string },
    settings: { type: "object", additionalProperties: string },
    nested: Schema.object({ size: { type: "integer", default: 3 }, label: string }),
    anything: Schema.open,
    embedded: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { spec: Schema.object({ size: integer }) }
    },
    target: { "x-kubernetes-int-or-string": true },
    nullable: { type: "string", nullable: true },
    limited: {
      type: "object",
      required: ["mode"],
      properties: {
        mode: { type: "string", enum: ["fast", "slow"] },
        size: { type: "integer", minimum: 1 },
        letters: { type: "string", pattern: "^[a-z]+$" },
        code: { type: "string", minLength: 2, maxLength: 4 },
        few: { type: "array", maxItems: 2, items: integer },
        ratio: { type: "number" }
      }
    },
    range: {
      type: "object",
      properties: { min: integer, max: integer, fixed: short, secret: short, word: short },
      "x-kubernetes-validations": [
        { rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min must not exceed max" },
        {
          rule: "!has(self.secret) || self.secret != 'no'",
          message: "this secret is taken",
          reason: "FieldValueForbidden",
          fieldPath: ".secret"
        },
        {
          rule: "!has(self.word) || !self.word.startsWith('x')",
          messageExpression: "'the word ' + self.word + ' begins with x'"
        },
        { rule: "!has(oldSelf.fixed) || (has(self.fixed) && self.fixed == oldSelf.fixed)", message: "fixed is fixed" }
      ]
    }
  }
}

const status = Schema.object({
  replicas: integer,
  selector: string,
  phase: string,
  conditions: Schema.map(["type"], { type: string, status: string })
})

export const definition = {
  metadata: { name: "webapps.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "webapps", singular: "webapp", kind: "WebApp", shortNames: ["wa"], categories: ["all"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: ".spec.replicas",
            statusReplicasPath: ".status.replicas",
            labelSelectorPath: ".status.selector"
          }
        },
        selectableFields: [{ jsonPath: ".spec.color" }],
        additionalPrinterColumns: [
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", description: "How many there shall be" },
          { name: "Image", type: "string", jsonPath: ".spec.image", priority: 1 },
          { name: "Started", type: "date", jsonPath: ".spec.startedAt" },
          { name: "Number", type: "integer", jsonPath: ".spec.color" }
        ],
        schema: { openAPIV3Schema: Schema.object({ spec, status }) }
      }
    ]
  }
}

export const webapp = (name: string | undefined, members: JsonObject = {}): JsonObject => ({
  apiVersion: groupVersion,
  kind: "WebApp",
  ...members,
  metadata: { ...(name !== undefined && { name }), ...J.object(members.metadata) }
})
