/**
 * Records Events, as client-go's recorders do. A repeated Event increments a count. From the tenth similar Event within ten minutes on,
 * similar Events are combined into one. An object gets at most 25 Events at once.
 *
 * kube-controller-manager writes Events of the core group, and kube-scheduler writes those of events.k8s.io.
 */

import { at, type JsonObject, text } from "@homeostat/apiserver/model/Json"
import { nameOf, namespaceOf, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import type { Record } from "./BuiltInController.ts"

/** The write of an Event. */
export type Written =
  | { readonly verb: "create"; readonly event: JsonObject }
  | { readonly verb: "patch"; readonly namespace: string; readonly name: string; readonly patch: JsonObject }

/** A recorder. */
export interface Recorder {
  /** Returns the write for a record of a component; undefined if the recorder drops the Event. */
  readonly written: (record: Record, component: string, isScheduler: boolean, now: number) => Written | undefined
  /** Clears all recorded Events. Their names are not reused. */
  readonly forget: () => void
}

/** The maximum number of cached objects and messages. The least recently used entries are dropped. */
const remembered = 4096

/** An LRU cache. */
class Memory<A> {
  private readonly entries = new Map<string, A>()

  clear(): void {
    this.entries.clear()
  }

  get(key: string): A | undefined {
    return this.entries.get(key)
  }

  set(key: string, value: A): A {
    this.entries.delete(key)
    this.entries.set(key, value)
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= remembered) break
      this.entries.delete(oldest)
    }
    return value
  }
}

/** The maximum number of different messages of similar Events within a time. */
const similar = { messages: 10, millis: 600_000 }

/** The burst of Events per object, and the time until one more Event is allowed. */
const spam = { burst: 25, millis: 300_000 }

interface Said {
  readonly namespace: string
  readonly name: string
  readonly count: number
}

/** A recorder that writes nothing. */
export const silent: Recorder = { written: () => undefined, forget: () => {} }

/** Makes a recorder. */
export const make = (): Recorder => {
  const recorded = new Memory<Said>()
  const sorts = new Memory<{ readonly messages: Set<string>; readonly last: number }>()
  const spoken = new Memory<{ readonly tokens: number; readonly at: number }>()
  let number = 0

  /** Returns the message to write. Too many similar messages count as one. */
  const aggregated = (
    sort: string,
    message: string,
    now: number
  ): { readonly message: string; readonly key: string } => {
    const before = sorts.get(sort)
    const known = before !== undefined && now - before.last <= similar.millis ? before.messages : new Set<string>()
    known.add(message)
    sorts.set(sort, { messages: known, last: now })
    if (known.size < similar.messages) return { message, key: `${sort} ${message}` }
    for (const any of known) {
      known.delete(any)
      break
    }
    return { message: `(combined from similar events): ${message}`, key: sort }
  }

  const isAllowed = (object: string, now: number): boolean => {
    const before = spoken.get(object) ?? { tokens: spam.burst, at: now }
    const tokens = Math.min(spam.burst, before.tokens + (now - before.at) / spam.millis)
    spoken.set(object, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    return tokens >= 1
  }

  /** Returns a unique name for an Event: the time in nanoseconds. A counter fills the digits below a millisecond. */
  const named = (about: JsonObject, now: number): string =>
    `${nameOf(about)}.${(BigInt(now) * 1_000_000n + BigInt(number++ % 1_000_000)).toString(16)}`

  const ofScheduler = (record: Record, component: string, now: number): Written | undefined => {
    const { about, action, message, reason, type } = record
    const regarding = reference(about)
    const key = JSON.stringify([regarding, type, reason, action, message])
    const before = recorded.get(key)
    // Only the start of a series is written. The real recorder updates its count every six minutes.
    if (before !== undefined && before.count > 1) return undefined
    if (before !== undefined) {
      recorded.set(key, { ...before, count: 2 })
      return { ...before, verb: "patch", patch: { series: { count: 2, lastObservedTime: micros(now) } } }
    }
    const metadata = { name: named(about, now), namespace: namespaceFor(about) }
    recorded.set(key, { ...metadata, count: 1 })
    return {
      verb: "create",
      event: {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata,
        eventTime: micros(now),
        reportingController: component,
        reportingInstance: `${component}-embedded`,
        action: action ?? reason,
        reason,
        regarding,
        note: message,
        type
      }
    }
  }

  const ofManager = (
    { about, reason, type, message: original }: Record,
    component: string,
    now: number
  ): Written | undefined => {
    const object = JSON.stringify([component, namespaceOf(about), nameOf(about), uidOf(about)])
    const { key, message } = aggregated(JSON.stringify([object, type, reason]), original, now)
    const before = recorded.get(key)
    const time = timestamp(now)
    const name = before?.name ?? named(about, now)
    const namespace = namespaceFor(about)
    const { count } = recorded.set(key, { name, namespace, count: (before?.count ?? 0) + 1 })
    if (!isAllowed(object, now)) return undefined
    if (before !== undefined) {
      return { namespace, name, verb: "patch", patch: { count, lastTimestamp: time, message } }
    }
    return {
      verb: "create",
      event: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name, namespace },
        involvedObject: reference(about),
        reason,
        message,
        source: { component },
        firstTimestamp: time,
        lastTimestamp: time,
        count,
        type,
        eventTime: null,
        // An aggregated Event does not name its reporter.
        reportingComponent: message === original ? component : "",
        reportingInstance: ""
      }
    }
  }

  return {
    forget: () => {
      recorded.clear()
      sorts.clear()
      spoken.clear()
    },
    written: (record, component, isScheduler, now) =>
      isScheduler ? ofScheduler(record, component, now) : ofManager(record, component, now)
  }
}

/** Events about cluster-scoped objects are in `default`. */
const namespaceFor = (about: JsonObject): string => namespaceOf(about) || "default"

const reference = (about: JsonObject): JsonObject => ({
  kind: text(about.kind),
  ...(namespaceOf(about) === "" ? {} : { namespace: namespaceOf(about) }),
  name: nameOf(about),
  uid: uidOf(about),
  apiVersion: text(about.apiVersion),
  resourceVersion: text(at(about, "metadata", "resourceVersion"))
})

/** Formats a time with microseconds. */
const micros = (now: number): string => new Date(now).toISOString().replace("Z", "000Z")
