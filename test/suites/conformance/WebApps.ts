/**
 * The kind of the cases: `webapps.example.com/v1`. Its schema has one field for each thing that a structural schema can say.
 */

import type { JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"

/** The group and version. */
export const groupVersion = "example.com/v1"

const string = { type: "string" }
const integer = { type: "integer" }
// What a rule reads has a limit, as its cost is estimated.
const short = { type: "string", maxLength: 20 }

/** The structural schema of `spec`. */
const spec = {
  type: "object",
  properties: {
    replicas: { type: "integer", default: 1, maximum: 100 },
    image: string,
    color: string,
    startedAt: { type: "string", format: "date-time" },
    paused: { type: "boolean" },
    // Lists and maps, by how they are merged.
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: string, port: integer, protocol: { type: "string", default: "TCP" } }
      }
    },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: string },
    args: { type: "array", items: string },
    settings: { type: "object", additionalProperties: string },
    // What is kept, dropped and filled in.
    nested: {
      type: "object",
      properties: { size: { type: "integer", default: 3 }, label: string }
    },
    anything: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    embedded: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { spec: { type: "object", properties: { size: integer } } }
    },
    target: { "x-kubernetes-int-or-string": true },
    nullable: { type: "string", nullable: true },
    // What values may be.
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

const status = {
  type: "object",
  properties: {
    replicas: integer,
    selector: string,
    phase: string,
    conditions: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: { type: "object", required: ["type"], properties: { type: string, status: string } }
    }
  }
}

/** The definition. */
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
        schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } }
      }
    ]
  }
}

/** A WebApp to be sent. */
export const webapp = (name: string | undefined, members: JsonObject = {}): JsonObject => ({
  apiVersion: groupVersion,
  kind: "WebApp",
  ...members,
  metadata: { ...(name !== undefined && { name }), ...J.object(members.metadata) }
})
