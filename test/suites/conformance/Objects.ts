/** Objects of built-in kinds. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"

export const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], ...spec }
})

export const configMap = (name: string, members: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  ...members,
  metadata: { name, ...(members.metadata as JsonObject | undefined) }
})
