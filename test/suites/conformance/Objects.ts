/** Objects of built-in kinds that the cases send. */
import type { JsonObject } from "@homeostat/testkit/server/Json"

/** A Pod with one container, and more of its spec. */
export const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], ...spec }
})

/** A ConfigMap. */
export const configMap = (name: string, members: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  ...members,
  metadata: { name, ...(members.metadata as JsonObject | undefined) }
})
