/**
 * Copies objects from the API server of the cluster to the one in memory, when a request first needs them. Each object is copied once,
 * so the plan sees one state of the cluster, and its own writes stay.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import type { Response } from "../client/Response.ts"
import type * as SecretValues from "../telemetry/SecretValues.ts"
import * as Live from "./Live.ts"
import * as Once from "./Once.ts"
import type { Collection, Simulation } from "./Simulation.ts"
import * as Target from "./Target.ts"

/** The end of a copy: undefined, or the response of the API server that refused the read. */
export type Copied = Effect.Effect<Response | undefined, ApiError>

/** The copies of a plan. */
export interface Snapshot {
  /** Copies what a read needs, or a write of one object. It succeeds for an absent object. */
  readonly copy: (target: Target.Target) => Copied
  /** Copies a namespace in which a write creates an object. */
  readonly namespace: (name: string) => Effect.Effect<void, ApiError>
  /** Stores an object in place of its copy. */
  readonly put: (target: Target.Target, object: object) => void
  /** Notes that a write has created, changed or removed an object. No later copy replaces it. */
  readonly touch: (target: Target.Target) => void
  readonly isTouched: (target: Target.Target) => boolean
}

/** Objects per page, as for caches. */
const pageSize = 500

interface Wire {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion?: string }
}

interface Page {
  readonly metadata?: { readonly continue?: string }
  readonly items?: ReadonlyArray<Wire> | null
}

const definitions: Collection = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" }
/** A namespace as the target of a read. */
export const namespace = (name: string): Target.Target => ({
  group: "",
  version: "v1",
  plural: "namespaces",
  namespace: "",
  name,
  subresource: "",
  query: new URLSearchParams()
})

/** Without the permission to read a namespace, which controllers do not need. */
const assumed = (name: string) => ({
  metadata: { name },
  spec: { finalizers: ["kubernetes"] },
  status: { phase: "Active" }
})

const selectorsOf = ({ query }: Target.Target): ReadonlyArray<readonly [string, string]> =>
  ["labelSelector", "fieldSelector"].flatMap((name) => {
    const value = query.get(name) ?? ""
    return value === "" ? [] : [[name, value] as const]
  })

/**
 * The copies for one plan.
 *
 * @param isInstalled whether the plan installs the CRD of a kind, which the cluster then need not serve
 * @param secrets learns the values of the copied Secrets
 */
export const make = (
  client: Live.Reader,
  simulation: Simulation,
  isInstalled: (target: Target.Target) => boolean,
  secrets: Pick<SecretValues.SecretValues, "learn">
): Effect.Effect<Snapshot, never, Scope.Scope> =>
  Effect.map(Once.make<Response | undefined, ApiError>(), (once) => {
    const touched = new Set<string>()
    /** The lists without selectors that are complete. */
    const complete = new Set<string>()

    const found = (target: Target.Target): Wire | undefined =>
      simulation.find(target, target.namespace, target.name) as Wire | undefined

    /** Whether the plan itself makes the API server serve a kind. */
    const isServedByPlan = (target: Target.Target): boolean =>
      isInstalled(target) ||
      touched.has(Target.keyOf({ ...definitions, namespace: "", name: `${target.plural}.${target.group}` }))

    const isThere = (target: Target.Target): boolean => touched.has(Target.keyOf(target)) || found(target) !== undefined

    const store = (target: Target.Target, object: Wire): void => {
      secrets.learn(object, Target.isSecrets(target))
      simulation.load(target, object)
    }

    const take = (collection: Target.Target, objects: ReadonlyArray<Wire>): void => {
      for (const object of objects) {
        const { name, namespace = "" } = object.metadata
        const target = { ...collection, namespace, name }
        if (!isThere(target)) store(target, object)
      }
    }

    const pages = (target: Target.Target, token: string, limit = pageSize): Effect.Effect<void, ApiError> => {
      const query = new URLSearchParams()
      for (const [name, value] of selectorsOf(target)) query.set(name, value)
      if (limit > 0) query.set("limit", String(limit))
      if (token !== "") query.set("continue", token)
      return Live.read<Page>(client, `${Target.collectionPath(target)}?${query}`).pipe(
        Effect.flatMap(({ items, metadata }) => {
          take(target, items ?? [])
          const next = metadata?.continue ?? ""
          return next === "" ? Effect.void : pages(target, next, limit)
        }),
        // The token has expired. One request then lists all.
        Effect.catchTag("Expired", (error) => (token === "" ? Effect.fail(error) : pages(target, "", 0)))
      )
    }

    const list = (target: Target.Target): Copied => {
      const selectors = selectorsOf(target)
      const path = Target.collectionPath(target)
      if (complete.has(path) || complete.has(Target.collectionPath({ ...target, namespace: "" }))) {
        return Effect.succeed(undefined)
      }
      return once.run(
        `list ${path}?${selectors.join("&")}`,
        Effect.map(
          Live.answered(pages(target, "")),
          Result.match({
            onFailure: (refused): Response | undefined =>
              refused.status === 404 && isServedByPlan(target) ? undefined : refused,
            onSuccess: () => {
              if (selectors.length === 0) complete.add(path)
              return undefined
            }
          })
        )
      )
    }

    const get = (target: Target.Target): Copied =>
      Effect.suspend(() => {
        const isListed = ["", target.namespace].some((namespace) =>
          complete.has(Target.collectionPath({ ...target, namespace }))
        )
        if (isListed || isThere(target)) return Effect.succeed(undefined)
        const path = Target.objectPath(target)
        return once.run(
          `get ${path}`,
          Effect.map(
            Live.answered(Live.read<Wire>(client, path)),
            Result.match({
              onFailure: (refused) => (refused.status === 404 ? undefined : refused),
              onSuccess: (object) => {
                take(target, [object])
                return undefined
              }
            })
          )
        )
      })

    return {
      copy: (target) => (target.name === "" ? list(target) : get(target)),
      namespace: (name) =>
        Effect.map(get(namespace(name)), (refused) => {
          if (refused !== undefined && found(namespace(name)) === undefined) {
            simulation.load(namespace(name), assumed(name))
          }
        }),
      put: (target, object) => {
        touched.add(Target.keyOf(target))
        const { metadata, ...rest } = object as Wire
        // The answer of a dry run has the version before the write.
        const { resourceVersion: _, ...meta } = metadata
        store(target, { ...rest, metadata: meta })
      },
      touch: (target) => void touched.add(Target.keyOf(target)),
      isTouched: (target) => touched.has(Target.keyOf(target))
    }
  })
