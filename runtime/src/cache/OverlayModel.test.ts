import { expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as Mirror from "./Mirror.ts"
import { owner as ownerOf, web } from "./Scripted.fixture.ts"
import * as Store from "./Store.ts"

// A model of a server with its history, own writes whose responses are in flight, and a delayed watch.

type Command =
  | { readonly _tag: "write"; readonly by: "us" | "them"; readonly key: number }
  | { readonly _tag: "delete"; readonly by: "us" | "them"; readonly key: number; readonly answer: "status" | "object" }
  /** One of the responses in flight arrives. */
  | { readonly _tag: "answer"; readonly which: number }
  /** The watch delivers the next events as one chunk. */
  | { readonly _tag: "events"; readonly count: number }
  | { readonly _tag: "bookmark" }
  | { readonly _tag: "begin" }
  /** The server takes the snapshot for the requested list. */
  | { readonly _tag: "snapshot" }
  /** The next object of the list arrives. */
  | { readonly _tag: "stage" }
  | { readonly _tag: "commit" }

const keys = 3
const arbitrary: FastCheck.Arbitrary<Command> = FastCheck.oneof(
  {
    weight: 6,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("write" as const),
      by: FastCheck.constantFrom("us" as const, "us" as const, "them" as const),
      key: FastCheck.nat(keys - 1)
    })
  },
  {
    weight: 3,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("delete" as const),
      by: FastCheck.constantFrom("us" as const, "us" as const, "them" as const),
      key: FastCheck.nat(keys - 1),
      answer: FastCheck.constantFrom("status" as const, "object" as const)
    })
  },
  { weight: 6, arbitrary: FastCheck.record({ _tag: FastCheck.constant("answer" as const), which: FastCheck.nat(5) }) },
  {
    weight: 5,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("events" as const),
      count: FastCheck.integer({ min: 1, max: 3 })
    })
  },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "bookmark" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "begin" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "snapshot" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "stage" as const }) },
  { weight: 1, arbitrary: FastCheck.constant({ _tag: "commit" as const }) }
)

// With its default size, FastCheck makes arrays of about ten commands, which are too short for the rare combinations.
const commands = FastCheck.array(arbitrary, { minLength: 5, maxLength: 60, size: "max" })

/** One state in the history of a key; without an object if the key did not exist. */
interface Moment {
  readonly object: KubernetesObject | undefined
}

interface Answer {
  readonly key: string
  /** The index of the moment in the key's history. */
  readonly moment: number
  /** The UID of the deleted object. */
  readonly deleted: string | undefined
  readonly deliver: () => void
}

/** The list that replaces the cached objects: no list, a request in flight, or a response in flight. */
type Listing =
  | "no"
  | "asked"
  | {
      readonly at: number
      readonly revision: number
      /** The objects that have not arrived yet. */
      readonly objects: Array<KubernetesObject>
      readonly moments: ReadonlyMap<string, number>
    }

/** Runs commands. `version` converts revisions to resourceVersions. Throws if an assertion fails. */
const simulate = (commands: ReadonlyArray<Command>, version: (revision: number) => string): void => {
  const numeric = version(1) === "1"
  const table = Store.make()
  const mirror = Mirror.make({ table, namespace: undefined, clock: Time.machine })
  const { overlay } = mirror
  const histories = new Map<string, Array<Moment>>()
  const log: Array<{
    readonly revision: number
    readonly event: Watch.Event
    readonly key: string
    readonly moment: number
  }> = []
  /** The oldest moment that a reader may still see, given the responses, the delivered events and the earlier reads. */
  const floors = new Map<string, number>()
  /** The UIDs of objects whose deletion the server has confirmed. */
  const deleted = new Set<string>()
  const answers: Array<Answer> = []
  let revision = 100
  let uids = 0
  /** The number of log entries that the watch has delivered. */
  let deliveredTo = 0
  const server: { listing: Listing } = { listing: { at: 0, revision, objects: [], moments: new Map() } }
  const delivered = new Map<string, KubernetesObject>()

  const history = (key: string): Array<Moment> => {
    const found = histories.get(key) ?? [{ object: undefined }]
    histories.set(key, found)
    return found
  }
  const current = (key: string): KubernetesObject | undefined => history(key).at(-1)?.object
  const same = (one: KubernetesObject | undefined, other: KubernetesObject | undefined): boolean =>
    one?.metadata.uid === other?.metadata.uid && one?.metadata.resourceVersion === other?.metadata.resourceVersion

  /** Checks that the changes for subscribers are consistent steps, and lead to the state that the watch has delivered. */
  const follow = (changes: ReadonlyArray<Store.Change>): void => {
    for (const { object, previous, type } of changes) {
      const key = `${object.metadata.namespace}/${object.metadata.name}`
      expect(type === "added").toBe(delivered.get(key) === undefined)
      if (type === "updated") expect(previous).toBe(delivered.get(key) as KubernetesObject)
      if (type === "deleted") delivered.delete(key)
      else delivered.set(key, object)
    }
  }

  const record = (key: string, event: Watch.Event, object: KubernetesObject | undefined): void => {
    history(key).push({ object })
    log.push({ revision, event, key, moment: history(key).length - 1 })
  }

  const answer = (key: string, deleted: string | undefined, deliver: () => void): void => {
    answers.push({ key, moment: history(key).length - 1, deleted, deliver })
  }

  /** Updates the guarantees of a reader after a response has arrived. */
  const deliverAnswer = ({ deleted: uid, deliver, key, moment }: Answer): void => {
    deliver()
    const floor = floors.get(key) ?? 0
    if (uid !== undefined) {
      deleted.add(uid)
      // A deletion by name of an uncached object proves only that this object is gone, not what else existed.
      if (history(key).findIndex(({ object }) => object?.metadata.uid === uid) > floor) return
    }
    floors.set(key, Math.max(floor, moment))
  }

  /** Updates the guarantees of a reader after the watch or a list has delivered a moment. */
  const heard = (key: string, moment: number): void => {
    floors.set(key, Math.max(floors.get(key) ?? 0, moment))
  }

  const write = (name: string, key: string, by: "us" | "them"): void => {
    revision++
    const before = current(key)
    const rv = version(revision)
    const object = web({ name, rv, uid: before?.metadata.uid ?? `u${++uids}`, owner: `o${revision % 2}` })
    record(key, { type: before === undefined ? "ADDED" : "MODIFIED", object }, object)
    if (by === "us")
      answer(key, undefined, () => {
        overlay.written(key, rv, { ...object })
      })
  }

  const remove = (name: string, key: string, by: "us" | "them", how: "status" | "object"): void => {
    const before = current(key)
    if (before === undefined) return
    const { uid, resourceVersion } = before.metadata
    revision++
    const last = web({ name, rv: version(revision), uid })
    record(key, { type: "DELETED", object: last }, undefined)
    // The response to the removal of the last finalizer is the former state. The response to a deletion is a Status.
    if (by === "us") answer(key, uid, () => overlay.deleted(key, uid, how === "object" ? resourceVersion : undefined))
  }

  const check = (): void => {
    for (const [key, moments] of histories) {
      const shown = table.get(key)
      if (shown !== undefined && deleted.has(shown.metadata.uid))
        throw new Error(`${key} shows ${shown.metadata.uid}, which is deleted`)
      const floor = numeric ? (floors.get(key) ?? 0) : 0
      const found = moments.findIndex((moment, index) => index >= floor && same(moment.object, shown))
      if (found < 0) {
        throw new Error(
          `${key} shows ${shown?.metadata.uid ?? "nothing"} at ${shown?.metadata.resourceVersion}, but moment ${floor} was known`
        )
      }
      // If versions are not comparable, only the watch updates the cache, except for deleted objects.
      const known = delivered.get(key)
      if (
        !numeric &&
        shown !== known &&
        !(shown === undefined && known !== undefined && deleted.has(known.metadata.uid))
      )
        throw new Error(`${key} shows ${shown?.metadata.resourceVersion}, the watch says otherwise`)
      // Reads must not go back either.
      floors.set(key, Math.max(floor, found))
    }
  }

  const stage = (count: number): void => {
    if (server.listing === "no" || server.listing === "asked") return
    follow(mirror.edit({ _tag: "Stage", objects: server.listing.objects.splice(0, count) }))
  }

  const commit = (): void => {
    if (server.listing === "no" || server.listing === "asked") return
    stage(server.listing.objects.length)
    follow(mirror.edit({ _tag: "Commit", resourceVersion: version(server.listing.revision) }))
    for (const [key, moment] of server.listing.moments) heard(key, moment)
    deliveredTo = server.listing.at
    server.listing = "no"
  }

  const snapshot = (): void => {
    if (server.listing !== "asked") return
    const objects: Array<KubernetesObject> = []
    const moments = new Map<string, number>()
    for (const key of histories.keys()) {
      const object = current(key)
      if (object !== undefined) objects.push({ ...object })
      moments.set(key, history(key).length - 1)
    }
    server.listing = { at: log.length, revision, objects, moments }
  }

  const events = (count: number): void => {
    if (server.listing !== "no") return
    const next = log.slice(deliveredTo, deliveredTo + count)
    const last = next.at(-1)
    if (last === undefined) return
    deliveredTo += next.length
    const changes = mirror.edit({
      _tag: "Apply",
      events: next.map(({ event }) => event),
      resourceVersion: version(last.revision)
    })
    // Subscribers get every event in its order, including events of own writes and events that an overlay hides.
    expect(changes.length).toBe(next.length)
    next.forEach(({ event }, index) => {
      expect("object" in event && changes[index]?.object === event.object).toBe(true)
    })
    follow(changes)
    for (const { key, moment } of next) heard(key, moment)
  }

  mirror.edit({ _tag: "Begin" })
  for (const command of commands) {
    switch (command._tag) {
      case "write":
        write(`k${command.key}`, `default/k${command.key}`, command.by)
        break
      case "delete":
        remove(`k${command.key}`, `default/k${command.key}`, command.by, command.answer)
        break
      case "answer": {
        const [arrived] = answers.splice(command.which % Math.max(answers.length, 1), 1)
        if (arrived === undefined) break
        deliverAnswer(arrived)
        break
      }
      case "events":
        events(command.count)
        break
      case "bookmark":
        if (server.listing === "no" && deliveredTo === log.length)
          mirror.edit({
            _tag: "Apply",
            events: [{ type: "BOOKMARK", resourceVersion: version(revision), initialEventsEnd: false }],
            resourceVersion: version(revision)
          })
        break
      case "begin":
        mirror.edit({ _tag: "Begin" })
        server.listing = "asked"
        break
      case "snapshot":
        snapshot()
        break
      case "stage":
        stage(1)
        break
      case "commit":
        commit()
        break
    }
    check()
  }

  // At the end everything has arrived, and the cache equals the state of the server without overlays.
  for (const each of answers) deliverAnswer(each)
  snapshot()
  commit()
  events(log.length)
  check()
  expect(overlay.size()).toBe(0)
  for (const key of histories.keys()) {
    expect(same(table.get(key), current(key))).toBe(true)
    expect(same(delivered.get(key), current(key))).toBe(true)
  }
  for (const owner of ["o0", "o1"]) {
    expect(table.byOwner(ownerOf(owner)).length).toBe(
      table.list().filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === owner).length
    )
  }
}

test("A read never returns an older state than an earlier answer, event or read, in any order", () => {
  FastCheck.assert(
    FastCheck.property(commands, (all) => simulate(all, String)),
    { numRuns: 2000, seed: Seed.current() }
  )
})

test("With resourceVersions that are not numbers, the watch has precedence, and the cache converges", () => {
  FastCheck.assert(
    FastCheck.property(commands, (all) => simulate(all, (revision) => `v${revision}`)),
    { numRuns: 500, seed: Seed.current() }
  )
})
