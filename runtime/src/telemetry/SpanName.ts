/**
 * Names of spans. They are low in number: what varies from object to object is an attribute.
 */

/** One request to the API server, kind CLIENT: `PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const request = (method: string, template: string): string => `${method} ${template}`

/** One reconcile, kind CONSUMER, the root of its trace. */
export const reconcile = (controller: string): string => `reconcile ${controller}`

/** From the first trigger's key being ready to its reconcile: back-dated, beneath the root. */
export const queueWait = "queue wait"

/** A child of the object that is reconciled, compared with what is wanted of it and made so. */
export const dependent = (kind: string): string => `dependent ${kind}`

/** The status is written. */
export const status = "status"

/** Our entry is put into `metadata.finalizers`. */
export const finalizerAdd = "finalizer add"

/** The clean-up that a finalizer stands for. */
export const finalizerCleanUp = "finalizer clean-up"

/** Entries are taken out of `metadata.finalizers`. */
export const finalizerRemove = "finalizer remove"

/** A Kubernetes Event is recorded. It is written later, by a fiber that belongs to no reconcile. */
export const event = "event"

/** Not a span but an event of one: a write that leads nowhere, as it is undone, or made without a cause, again and again. */
export const hotLoop = "hot_loop.suspected"
