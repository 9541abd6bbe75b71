/** Names of spans. Their cardinality is low: attributes contain the values that vary by object. */

/** One request to the API server, kind CLIENT: `PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const request = (method: string, template: string): string => `${method} ${template}`

/** One reconcile, kind CONSUMER, the root of its trace. */
export const reconcile = (controller: string): string => `reconcile ${controller}`

/** One request of the API server to a webhook, kind SERVER: `POST /validate-example-com-v1-site`. */
export const webhook = (method: string, path: string): string => `${method} ${path}`

/** From the first ready trigger of a key to its reconcile: backdated, a child of the root. */
export const queueWait = "queue wait"

/** Compares a child with its desired state and applies it. */
export const dependent = (kind: string): string => `dependent ${kind}`

/** Writes the status. */
export const status = "status"

/** Adds our entry to `metadata.finalizers`. */
export const finalizerAdd = "finalizer add"

/** Runs the clean-up of a finalizer. */
export const finalizerCleanUp = "finalizer clean-up"

/** Removes entries from `metadata.finalizers`. */
export const finalizerRemove = "finalizer remove"

/** Records a Kubernetes Event. A fiber outside of reconciles writes it later. */
export const event = "event"

/** An event of a span: repeated writes that other managers revert, or that have no cause. */
export const hotLoop = "hot_loop.suspected"
