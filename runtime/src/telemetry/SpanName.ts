/**
 * Names of spans. They are low in number: what varies from object to object is an attribute.
 */

/** One request to the API server, kind CLIENT: `PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}`. */
export const request = (method: string, template: string): string => `${method} ${template}`
