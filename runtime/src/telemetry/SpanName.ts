/**
 * Names of spans. They are low in number: what varies from object to object is an attribute.
 */

/** One request to the API server, kind CLIENT: `PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const request = (method: string, template: string): string => `${method} ${template}`

/** One reconcile, kind CONSUMER, the root of its trace. */
export const reconcile = (controller: string): string => `reconcile ${controller}`

/** From the first trigger's key being ready to its reconcile: back-dated, beneath the root. */
export const queueWait = "queue wait"
