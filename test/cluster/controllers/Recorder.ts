/**
 * Events, as client-go's recorders make them of what controllers tell: said again, an Event counts; of ten similar ones within
 * ten minutes only the last is shown; and one object is not spoken of more than 25 times at once.
 *
 * kube-controller-manager writes Events of the core group, kube-scheduler those of events.k8s.io.
 */

import { at, type JsonObject, text } from "@homeostat/apiserver/model/Json"
import { nameOf, namespaceOf, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import type { Record } from "./BuiltInController.ts"

/** What is written for an Event. */
export type Written =
  | { readonly verb: "create"; readonly event: JsonObject }
  | { readonly verb: "patch"; readonly namespace: string; readonly name: string; readonly patch: JsonObject }

/** A recorder. */
export interface Recorder {
  /** What to write for what a component of a program tells; undefined: nothing. */
  readonly written: (record: Record, component: string, isScheduler: boolean, now: number) => Written | undefined
  /** Forgets all Events. Their names are not used again. */
  readonly forget: () => void
}

/** How many objects and messages are remembered: those of which nothing was heard for longest are forgotten. */
const remembered = 4096

/** A memory of bounded size. */
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

/** How many different messages of one sort are told within a time. */
const similar = { messages: 10, millis: 600_000 }

/** How many Events of one object are written at once, and how long it takes until there may be one more. */
const spam = { burst: 25, millis: 300_000 }

interface Said {
  readonly namespace: string
  readonly name: string
  readonly count: number
}

/** A recorder that writes nothing. */
export const silent: Recorder = { written: () => undefined, forget: () => {} }

/** A recorder. */
export const make = (): Recorder => {
  const said = new Memory<Said>()
  const sorts = new Memory<{ readonly messages: Set<string>; readonly last: number }>()
  const spoken = new Memory<{ readonly tokens: number; readonly at: number }>()
  let number = 0

  /** The message as it is told: of too many similar ones all count as one. */
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

  /** A name that no other Event has: the time in nanoseconds, of which those that the clock does not tell are counted. */
  const named = (about: JsonObject, now: number): string =>
    `${nameOf(about)}.${(BigInt(now) * 1_000_000n + BigInt(number++ % 1_000_000)).toString(16)}`

  const ofScheduler = (record: Record, component: string, now: number): Written | undefined => {
    const { about, action, message, reason, type } = record
    const regarding = reference(about)
    const key = JSON.stringify([regarding, type, reason, action, message])
    const before = said.get(key)
    // Only that there is a series is told at once; the real one tells its length every six minutes.
    if (before !== undefined && before.count > 1) return undefined
    if (before !== undefined) {
      said.set(key, { ...before, count: 2 })
      return { ...before, verb: "patch", patch: { series: { count: 2, lastObservedTime: micros(now) } } }
    }
    const metadata = { name: named(about, now), namespace: namespaceFor(about) }
    said.set(key, { ...metadata, count: 1 })
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
    { about, reason, type, message: told }: Record,
    component: string,
    now: number
  ): Written | undefined => {
    const object = JSON.stringify([component, namespaceOf(about), nameOf(about), uidOf(about)])
    const { key, message } = aggregated(JSON.stringify([object, type, reason]), told, now)
    const before = said.get(key)
    const time = timestamp(now)
    const name = before?.name ?? named(about, now)
    const namespace = namespaceFor(about)
    const { count } = said.set(key, { name, namespace, count: (before?.count ?? 0) + 1 })
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
        // An Event that stands for similar ones does not name its reporter.
        reportingComponent: message === told ? component : "",
        reportingInstance: ""
      }
    }
  }

  return {
    forget: () => {
      said.clear()
      sorts.clear()
      spoken.clear()
    },
    written: (record, component, isScheduler, now) =>
      isScheduler ? ofScheduler(record, component, now) : ofManager(record, component, now)
  }
}

/** Events about what is in no namespace are in `default`. */
const namespaceFor = (about: JsonObject): string => namespaceOf(about) || "default"

const reference = (about: JsonObject): JsonObject => ({
  kind: text(about.kind),
  ...(namespaceOf(about) === "" ? {} : { namespace: namespaceOf(about) }),
  name: nameOf(about),
  uid: uidOf(about),
  apiVersion: text(about.apiVersion),
  resourceVersion: text(at(about, "metadata", "resourceVersion"))
})

/** A time with its microseconds. */
const micros = (now: number): string => new Date(now).toISOString().replace("Z", "000Z")
