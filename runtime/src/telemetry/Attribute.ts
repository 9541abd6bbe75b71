/**
 * Attributes of spans and logs. A name is written here once and nowhere else, so that what is recorded and what is
 * searched for cannot drift apart. Where OpenTelemetry's conventions have a name, it is used.
 */

/** `GET`, `PATCH`, … */
export const httpMethod = "http.request.method"

/** The path with its variable parts in braces: `/apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const urlTemplate = "url.template"

/** The status code of the answer; absent when there was none. */
export const httpStatus = "http.response.status_code"

/** How many times the request was sent again; absent when it was sent once. */
export const httpResendCount = "http.request.resend_count"

/** Host of the API server. */
export const serverAddress = "server.address"

/** What failed: the tag of an `ApiError`, or the class of another error. */
export const errorType = "error.type"

/** The namespace a request is about. */
export const namespace = "k8s.namespace.name"

/** The name of the object a request is about. */
export const objectName = "k8s.object.name"

/** The id the API server's audit log has for a request. */
export const auditId = "k8s.audit_id"

/** In whose name a write was made. */
export const fieldManager = "k8s.field_manager"

/** The resourceVersion of what is written, as it was known before. */
export const resourceVersionBefore = "k8s.object.resource_version.before"

/** The resourceVersion of what is written, as the answer has it. */
export const resourceVersionAfter = "k8s.object.resource_version.after"

/** Whether a write changed what is stored. */
export const changed = "k8s.write.changed"
