/** A patch of an object, in one of the formats that the API server accepts. Server-side apply is not a patch: see `Client.apply`. */
import * as Effect from "effect/Effect"
import { type ApiError, Conflict, Invalid } from "./ApiError.ts"

/** One step of a JSON Patch (RFC 6902). If a `test` fails, the server rejects the whole patch. */
export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string }

/**
 * For a JSON patch that was made from the state of an object: fails with Conflict if the object has changed. If a `test` fails or a
 * path does not exist, the server responds with 422 without a cause.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "page" }
 * const change = Patch.json([
 *   { op: "test", path: "/data/index.html", value: "Hi" },
 *   { op: "remove", path: "/data/index.html" }
 * ])
 * const error = yield* Effect.flip(Patch.guarded(Client.patch(BuiltIn.ConfigMap, key, change)))
 * error._tag // => "Conflict"
 * ```
 */
export const guarded = <A, E, R>(
  effect: Effect.Effect<A, E | ApiError, R>
): Effect.Effect<A, Exclude<E, Invalid> | ApiError, R> =>
  Effect.catch(effect, (error) =>
    Effect.fail(
      error instanceof Invalid && error.causes.length === 0
        ? new Conflict({
            ...error,
            message: `${error.message} (the object has changed)`,
            code: 409,
            reason: "Conflict"
          })
        : (error as Exclude<E, Invalid> | ApiError)
    )
  )

/** A patch to send. */
export interface Patch {
  /** The format: `application/merge-patch+json`, `application/json-patch+json`. */
  readonly contentType: string
  /** The body, as JSON. */
  readonly body: unknown
}

/**
 * JSON Merge Patch (RFC 7386): sets the given fields, removes those with `null`, and replaces whole lists. With
 * `metadata.resourceVersion`, the server responds with Conflict if the object has changed.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "page" }
 * const page = yield* Client.patch(BuiltIn.ConfigMap, key, Patch.merge({ data: { "index.html": null } }))
 * page.data // => undefined
 * ```
 */
export const merge = (value: object): Patch => ({ contentType: "application/merge-patch+json", body: value })

/**
 * JSON Patch: all steps in order, or none.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "page" }
 * const change = Patch.json([{ op: "add", path: "/metadata/labels/tier", value: "web" }])
 * const page = yield* Client.patch(BuiltIn.ConfigMap, key, change)
 * page.metadata.labels // => { app: "shop", tier: "web" }
 * ```
 */
export const json = (operations: ReadonlyArray<Operation>): Patch => ({
  contentType: "application/json-patch+json",
  body: operations
})

/**
 * Strategic merge patch: merges lists by key. Only for built-in kinds; for custom resources the server responds with 415.
 *
 * @example
 * ```ts
 * const key = { namespace: "default", name: "web" }
 * const change = Patch.strategic({ spec: { template: { spec: { containers: [{ name: "app", image: "nginx:1.28" }] } } } })
 * const web = yield* Client.patch(BuiltIn.Deployment, key, change)
 * web.spec?.template.spec?.containers.map(({ image }) => image) // => ["nginx:1.28"]
 * ```
 */
export const strategic = (value: object): Patch => ({
  contentType: "application/strategic-merge-patch+json",
  body: value
})

/**
 * A key of an object as part of a JSON Pointer: `app.kubernetes.io/name` to `app.kubernetes.io~1name`.
 *
 * @example
 * ```ts
 * Patch.json([{ op: "remove", path: `/metadata/labels/${Patch.pointer("app.kubernetes.io/name")}` }])
 * Patch.pointer("app.kubernetes.io/name") // => "app.kubernetes.io~1name"
 * ```
 */
export const pointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
