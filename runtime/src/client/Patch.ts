/**
 * A change to an object, in one of the forms that the API server takes. (Server-side apply is not one of them: it is a
 * statement of intent, `Client.apply`.)
 */

/** One step of a JSON Patch (RFC 6902). A `test` that does not hold makes the server refuse the whole. */
export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string }

/** A change, as it is sent. */
export interface Patch {
  /** Which form it has: `application/merge-patch+json`, `application/json-patch+json`. */
  readonly contentType: string
  /** What is sent, as JSON. */
  readonly body: unknown
}

/**
 * JSON Merge Patch (RFC 7386): fields that are there are set, `null` removes one, lists are replaced as a whole. With
 * `metadata.resourceVersion` in it, the server refuses (Conflict) when the object has changed.
 */
export const merge = (value: object): Patch => ({ contentType: "application/merge-patch+json", body: value })

/** JSON Patch: the steps in order, all or none. */
export const json = (operations: ReadonlyArray<Operation>): Patch => ({
  contentType: "application/json-patch+json",
  body: operations
})

/** Strategic merge patch: merges lists by key. For built-in kinds only; custom resources answer 415. */
export const strategic = (value: object): Patch => ({
  contentType: "application/strategic-merge-patch+json",
  body: value
})

/** A key of an object as part of a JSON Pointer: `app.kubernetes.io/name` to `app.kubernetes.io~1name`. */
export const pointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
