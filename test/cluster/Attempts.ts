/**
 * Records the last attempts of the controllers in a test, for the message of a failure. It uses the journal of `why`.
 *
 * @internal
 */
import type { Attempt, Observer } from "@homeostat/runtime/controller/Attempt"
import * as Journal from "@homeostat/runtime/manager/why/Journal"
import * as Text from "@homeostat/runtime/manager/why/Text"
import * as Why from "@homeostat/runtime/manager/why/Why"
import { keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"

/**
 * The recorded attempts.
 *
 * @internal
 */
export interface Attempts {
  /** Records an attempt. */
  readonly record: (attempt: Attempt) => void
  /** Records each attempt of a manager. */
  readonly observe: Observer
  /**
   * Returns the last attempts for the object that a test saw: a value or an error of the client. Without attempts for that object, it
   * returns those for the objects with the newest attempts. Empty without any attempt.
   */
  readonly describe: (seen: unknown, now: number) => string
}

/** The most objects in a message, and the most attempts of each object. */
const mostObjects = 3
const mostAttempts = 5

interface Subject {
  readonly controller: string
  readonly kind: string
  readonly key: string
  /** The number of the newest attempt, counted over all objects. */
  newest: number
}

const isRecord = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

const keyOf = (namespace: unknown, name: unknown): string =>
  keyString({ namespace: typeof namespace === "string" ? namespace : undefined, name: String(name) })

/** `/apis/apps/v1/namespaces/default/deployments/shop`. */
const pathPattern = /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+))?\/[^/]+\/([^/]+)/

/** The keys of the objects in a value and of their owners. The value is an object, a list of objects, or an error about an object. */
const keysOf = (seen: unknown): ReadonlyArray<string> => {
  if (Array.isArray(seen)) return seen.flatMap(keysOf)
  if (!isRecord(seen)) return []
  const { items, metadata, request } = seen
  if (Array.isArray(items)) return items.flatMap(keysOf)
  if (isRecord(metadata)) {
    const owners = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences.filter(isRecord) : []
    return [metadata, ...owners].map(({ name }) => keyOf(metadata.namespace, name))
  }
  const [, namespace, name] = pathPattern.exec(isRecord(request) ? String(request.path) : "") ?? []
  return name === undefined ? [] : [keyOf(namespace, name)]
}

const objectKey = (key: string): ObjectKey => {
  const [namespace = "", name] = key.split("/")
  return name === undefined ? { name: namespace } : { namespace, name }
}

/**
 * Makes a recorder without attempts.
 *
 * @internal
 */
export const make = (): Attempts => {
  const journals = new Map<string, Journal.Journal>()
  const subjects = new Map<string, Subject>()
  let count = 0

  const lines = ({ controller, key, kind }: Subject, now: number): ReadonlyArray<string> => {
    const object = { ...objectKey(key), kind }
    const recorded = journals.get(controller)?.of(key)?.runs.slice(-mostAttempts) ?? []
    const runs = Why.runsOf(recorded, { key: object, kind, isOwn: () => false })
    return [
      `Last attempts of ${kind} ${key} (controller ${controller}):`,
      ...Text.runLines({ object, runs, answer: "" }, now).map((line) => `  ${line}`)
    ]
  }

  const record = (attempt: Attempt): void => {
    const { controller, key, kind } = attempt
    const journal = journals.get(controller) ?? Journal.make()
    journals.set(controller, journal)
    journal.record(attempt)
    subjects.set(`${controller} ${key}`, { controller, kind, key, newest: count++ })
  }

  return {
    record,
    observe: (attempt) => Effect.sync(() => record(attempt)),
    describe: (seen, now) => {
      const keys = new Set(keysOf(seen))
      const all = [...subjects.values()].sort((one, other) => other.newest - one.newest)
      const own = all.filter(({ key }) => keys.has(key))
      return (own.length > 0 ? own : all)
        .slice(0, mostObjects)
        .flatMap((subject) => lines(subject, now))
        .join("\n")
    }
  }
}
