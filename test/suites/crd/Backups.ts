/** A Backup kind with rules and formats. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"

const text = (maxLength: number, more: JsonObject = {}): JsonObject => ({ type: "string", maxLength, ...more })
const ruled = (maxLength: number, rule: string, message: string): JsonObject =>
  text(maxLength, { "x-kubernetes-validations": [{ rule, message }] })
const immutable = (name: string, field: string): JsonObject => ({
  rule: `self.${field} == oldSelf.${field}`,
  message: `${name} is immutable: delete the Backup and create it again`,
  fieldPath: `.${field}`
})

export const backups: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "backups.crd.example.com" },
  spec: {
    group: "crd.example.com",
    scope: "Namespaced",
    names: { plural: "backups", kind: "Backup", shortNames: ["bk"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Source", type: "string", jsonPath: ".spec.source" },
          { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: "Last Success", type: "date", jsonPath: ".status.lastBackupTime" }
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                required: ["source", "destination"],
                "x-kubernetes-validations": [
                  immutable("source", "source"),
                  immutable("destination", "destination"),
                  {
                    rule: "has(self.retention) || has(self.retentionPolicy) || !has(self.pruneInterval)",
                    messageExpression: "'pruneInterval ' + self.pruneInterval + ' needs a retention'"
                  },
                  {
                    rule: "!has(self.repository) || !has(self.repository.path) || (has(oldSelf.repository) && has(oldSelf.repository.path) && self.repository.path == oldSelf.repository.path)",
                    message: "repository.path is immutable"
                  }
                ],
                properties: {
                  source: ruled(
                    253,
                    "self.matches('^((pvc|deployment|statefulset)/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",
                    "source is a name, or pvc/, deployment/ or statefulset/ and a name"
                  ),
                  schedule: ruled(
                    100,
                    "self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)(-random)?|@every .+|(\\\\S+\\\\s+){4}\\\\S+)$') && !self.contains('TZ')",
                    "schedule is five fields or one of @daily, @every …"
                  ),
                  destination: ruled(
                    1024,
                    "self.matches('^(s3|rest[+]https?|gs|azure|b2|pvc)://[^@]+$') && !self.contains('@')",
                    "no such destination"
                  ),
                  retentionPolicy: ruled(
                    50,
                    "self == '' || self.matches('^([1-9][0-9]{0,3}y)?([1-9][0-9]{0,3}m)?([1-9][0-9]{0,3}w)?([1-9][0-9]{0,3}d)?([1-9][0-9]{0,3}h)?$')",
                    "retentionPolicy is like 1y6m or 30d"
                  ),
                  timeZone: ruled(
                    64,
                    "self.matches('^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$') && self != 'Local'",
                    "timeZone is an IANA name"
                  ),
                  suspend: { type: "boolean", default: false },
                  startingDeadlineSeconds: { type: "integer", format: "int64", minimum: 10, nullable: true },
                  concurrencyPolicy: text(10, { enum: ["Forbid", "Replace"], default: "Forbid" }),
                  startPolicy: text(12, { enum: ["Immediately", "OnSchedule"], default: "Immediately" }),
                  retention: {
                    type: "object",
                    minProperties: 1,
                    properties: Object.fromEntries(
                      ["keepLast", "keepHourly", "keepDaily"].map((name) => [
                        name,
                        { type: "integer", format: "int32", minimum: 1 }
                      ])
                    )
                  },
                  repository: { type: "object", properties: { endpoint: text(1024), path: text(512) } },
                  pruneInterval: text(20, { default: "7d" }),
                  backoffLimit: { type: "integer", format: "int32", minimum: 0, maximum: 10, default: 2 },
                  hooks: {
                    type: "object",
                    properties: {
                      pre: {
                        type: "array",
                        maxItems: 8,
                        items: {
                          type: "object",
                          required: ["command"],
                          properties: {
                            command: { type: "array", minItems: 1, maxItems: 32, items: text(1024) },
                            timeoutSeconds: { type: "integer", default: 30, minimum: 1 },
                            onError: text(10, { enum: ["Fail", "Continue"], default: "Fail" })
                          }
                        }
                      }
                    }
                  },
                  excludes: { type: "array", maxItems: 100, items: text(512), "x-kubernetes-list-type": "set" },
                  podSecurityContext: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
                }
              },
              status: {
                type: "object",
                properties: {
                  phase: text(20, { enum: ["Pending", "Running", "Completed", "Failed"] }),
                  conditions: {
                    type: "array",
                    maxItems: 10,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    items: {
                      type: "object",
                      required: ["type", "status"],
                      properties: {
                        type: text(316),
                        status: text(10, { enum: ["True", "False", "Unknown"] }),
                        lastTransitionTime: { type: "string", format: "date-time" }
                      }
                    }
                  }
                }
              }
            }
          }
        }
      }
    ]
  }
}

const right: JsonObject = { source: "pvc/data", destination: "s3://bucket/prefix", retentionPolicy: "30d" }

export const specs: ReadonlyArray<JsonObject> = [
  right,
  { ...right, schedule: "0 2 * * *", timeZone: "Europe/Berlin", hooks: { pre: [{ command: ["sync"] }] } },
  { ...right, schedule: "@daily-random", retention: { keepLast: 3 }, excludes: ["a", "b"] },
  { ...right, schedule: "0 2 * *" },
  { ...right, schedule: "TZ=UTC 0 2 * * *" },
  { ...right, source: "pod/data" },
  { ...right, source: "Data" },
  { ...right, destination: "file:///x" },
  { ...right, destination: "s3://user@host" },
  { ...right, retentionPolicy: "0d" },
  { ...right, retentionPolicy: "30D" },
  { ...right, retentionPolicy: "" },
  { ...right, timeZone: "Local" },
  { ...right, startingDeadlineSeconds: 5 },
  { ...right, startingDeadlineSeconds: null },
  { ...right, concurrencyPolicy: "Allow" },
  { ...right, excludes: ["a", "a"] },
  { ...right, retention: {} },
  { source: "data", destination: "b2://x", pruneInterval: "7d" },
  { source: "data" },
  {}
]
