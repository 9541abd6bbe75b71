/** Many clients that write ConfigMaps concurrently, and many watchers, over any transport. */

import type { ApiServer } from "@homeostat/apiserver/http/ApiServer"
import * as Json from "@homeostat/apiserver/model/Json"
import type { Request } from "@homeostat/runtime/client/Request"
import type { Streaming } from "@homeostat/runtime/client/Response"
import type { Transport } from "@homeostat/runtime/client/Transport"
import { Data, Effect, Fiber, Latch, Semaphore } from "effect"

export interface Size {
  readonly objects: number
  readonly clients: number
  readonly watchers: number
  /** Whether clients change each object, and then delete every third one. */
  readonly changes: boolean
}

export interface Event {
  readonly type: string
  readonly name: string
  readonly revision: number
}

/** The list and the events of one watcher. */
export interface Seen {
  /** The list at `since`, the revision at which the watch starts. */
  readonly listed: ReadonlyArray<Event>
  readonly since: number
  readonly events: ReadonlyArray<Event>
}

export interface Result {
  /** All events of the store. */
  readonly written: ReadonlyArray<Event>
  /** The responses to the clients. */
  readonly answered: ReadonlyArray<Event>
  readonly seen: ReadonlyArray<Seen>
}

/** A request failed. */
export class Unexpected extends Data.TaggedError("Unexpected")<{ readonly message: string }> {}

type Wire = Transport["Service"]

const collection = "/api/v1/namespaces/default/configmaps"

/** The last object, which ends the watches. */
const last = "last"

/** Runs the load. Every other watcher starts after a tenth of the writes. */
export const run = (server: ApiServer, wire: Wire, size: Size) =>
  Effect.gen(function* () {
    const written: Array<Event> = []
    const answered: Array<Event> = []
    const underWay = yield* Latch.make(false)
    const opened = yield* Semaphore.make(size.watchers)
    yield* opened.take(size.watchers)
    const unsubscribe = server.store.subscribe(({ object, type }) => {
      if (written.push(eventOf(type, object)) > size.objects / 10) underWay.openUnsafe()
    }, "/configmaps")
    const watching = yield* Effect.forEach(count(size.watchers), (index) => {
      const watched = Effect.scoped(watch(wire, index, opened.release(1)))
      return Effect.forkChild(index % 2 === 0 ? watched : Effect.andThen(underWay.await, watched))
    })
    yield* Effect.forEach(count(size.clients), (client) => write(wire, size, client, answered), {
      concurrency: "unbounded"
    })
    yield* opened.take(size.watchers)
    answered.push(yield* make(wire, last))
    const seen = yield* Effect.forEach(watching, Fiber.join)
    unsubscribe()
    return { written, answered, seen } satisfies Result
  })

const count = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

const write = (wire: Wire, { changes, clients, objects }: Size, client: number, answered: Array<Event>) =>
  Effect.gen(function* () {
    for (let index = client; index < objects; index += clients) {
      const name = `c${index}`
      answered.push(yield* make(wire, name))
      if (!changes) continue
      const body = JSON.stringify({ data: { more: "b" } })
      answered.push(eventOf("MODIFIED", yield* ask(wire, "PATCH", `${collection}/${name}`, body)))
      if (index % 3 === 0) yield* ask(wire, "DELETE", `${collection}/${name}`)
    }
  })

const make = (wire: Wire, name: string) => {
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { some: "a" } })
  return Effect.map(ask(wire, "POST", collection, body), (made) => eventOf("ADDED", made))
}

const watch = (wire: Wire, index: number, opened: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const list = yield* ask(wire, "GET", collection)
    const since = revisionOf(list)
    const path = `${collection}?watch=true&resourceVersion=${since}&timeoutSeconds=600&by=${index}`
    const { next } = yield* wire.open(requestOf("GET", path))
    yield* opened
    const events = yield* read(next)
    return { listed: Json.objects(list.items).map((item) => eventOf("ADDED", item)), since, events } satisfies Seen
  })

const read = (next: Streaming["next"]) =>
  Effect.gen(function* () {
    const events: Array<Event> = []
    const decoder = new TextDecoder()
    let rest = ""
    while (events.at(-1)?.name !== last) {
      const bytes = yield* next
      if (bytes === undefined) return yield* new Unexpected({ message: `a watch ended after ${events.length} events` })
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        const { object, type } = Json.object(JSON.parse(line) as Json.Json)
        events.push(eventOf(Json.text(type) ?? "", Json.object(object)))
      }
    }
    return events
  })

const requestOf = (method: Request["method"], path: string, body?: string): Request => ({
  method,
  path,
  template: collection,
  headers: {
    accept: "application/json",
    ...(body !== undefined && {
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json"
    })
  },
  body,
  repeatable: false
})

const ask = (wire: Wire, method: Request["method"], path: string, body?: string) =>
  Effect.flatMap(wire.send(requestOf(method, path, body)), (answer) =>
    answer.status < 300
      ? Effect.succeed(Json.object(JSON.parse(answer.body) as Json.Json))
      : new Unexpected({ message: `${method} ${path}: ${answer.body}` })
  )

const revisionOf = (object: Json.JsonObject): number => Number(Json.at(object, "metadata", "resourceVersion"))

const eventOf = (type: string, object: Json.JsonObject): Event => ({
  type,
  name: Json.text(Json.at(object, "metadata", "name")) ?? "",
  revision: revisionOf(object)
})
