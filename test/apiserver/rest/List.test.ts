import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import type { ApiServer } from "../http/ApiServer.ts"
import { ask, make, thing, things } from "../http/Client.fixture.ts"
import * as Json from "../model/Json.ts"

const names = (body: Json.JsonObject) => Json.objects(body.items).map((one) => Json.at(one, "metadata", "name"))

const metadata = (body: Json.JsonObject) => Json.object(body.metadata)

const withThings = (count: number, history?: number) =>
  Effect.tap(make({ history }), (server) =>
    Effect.forEach(
      Array.from({ length: count }, (_, index) => `t${index}`),
      (name) => ask(server, "POST", things, thing(name, {}, { labels: { odd: String(Number(name.slice(1)) % 2) } }))
    )
  )

/** All pages of a list. */
const pages = (server: ApiServer, query: string): Effect.Effect<ReadonlyArray<Json.JsonObject>> => {
  const from = (next: string): Effect.Effect<ReadonlyArray<Json.JsonObject>> =>
    Effect.flatMap(ask(server, "GET", `${things}?${query}${next && `&continue=${next}`}`), ({ body }) => {
      const more = Json.text(metadata(body).continue) ?? ""
      return more === "" ? Effect.succeed([body]) : Effect.map(from(more), (rest) => [body, ...rest])
    })
  return from("")
}

describe("List", () => {
  effect("has pages of one revision, whatever changes meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* withThings(5)
      const first = yield* ask(server, "GET", `${things}?limit=2`)
      expect(names(first.body)).toEqual(["t0", "t1"])
      expect(metadata(first.body).remainingItemCount).toBe(3)
      yield* ask(server, "POST", things, thing("t11"))
      yield* ask(server, "DELETE", `${things}/t3`)
      const second = yield* ask(server, "GET", `${things}?limit=9&continue=${String(metadata(first.body).continue)}`)
      expect(names(second.body)).toEqual(["t2", "t3", "t4"])
      expect(metadata(second.body)).toEqual({
        resourceVersion: metadata(first.body).resourceVersion ?? "",
        continue: ""
      })
    })
  )

  effect("of all namespaces continues after the last key", () =>
    Effect.gen(function* () {
      const server = yield* withThings(3)
      const all = yield* pages(server, "limit=1")
      expect(all.flatMap(names)).toEqual(["t0", "t1", "t2"])
      const { body } = yield* ask(server, "GET", "/apis/probe.io/v1/things?limit=1")
      const token = JSON.parse(Buffer.from(String(metadata(body).continue), "base64url").toString())
      expect(token).toEqual({ v: "meta.k8s.io/v1", rv: server.store.revision, start: "default/t0\0" })
    })
  )

  effect("ends with its last page, even if the page is full", () =>
    Effect.gen(function* () {
      const server = yield* withThings(4)
      const all = yield* pages(server, "limit=2")
      expect(all.map(names)).toEqual([
        ["t0", "t1"],
        ["t2", "t3"]
      ])
      const { body } = yield* ask(server, "GET", `${things}?limit=4`)
      expect(names(body)).toHaveLength(4)
      expect(metadata(body)).toEqual({ resourceVersion: String(server.store.revision), continue: "" })
    })
  )

  effect("omits the number of the remaining objects if it is unknown", () =>
    Effect.gen(function* () {
      const server = yield* withThings(5)
      const all = yield* pages(server, "limit=1&labelSelector=odd%3D1")
      expect(all.flatMap(names)).toEqual(["t1", "t3"])
      expect(all.map((body) => metadata(body).remainingItemCount)).not.toContain(3)
    })
  )

  effect("of an expired revision can continue from the current one, with a token in the error", () =>
    Effect.gen(function* () {
      const server = yield* withThings(4, 2)
      const first = yield* ask(server, "GET", `${things}?limit=1`)
      for (const name of ["u0", "u1", "u2", "u3", "u4"]) yield* ask(server, "POST", things, thing(name))
      const late = yield* ask(server, "GET", `${things}?continue=${String(metadata(first.body).continue)}`)
      expect(late.body).toMatchObject({ code: 410, reason: "Expired" })
      const rest = yield* ask(server, "GET", `${things}?continue=${String(metadata(late.body).continue)}`)
      expect(names(rest.body)).toEqual(["t1", "t2", "t3", "u0", "u1", "u2", "u3", "u4"])
    })
  )

  effect("shows an exact revision, at least a revision, or any", () =>
    Effect.gen(function* () {
      const server = yield* withThings(1)
      const then = server.store.revision
      yield* ask(server, "POST", things, thing("later"))
      const list = (query: string) => Effect.map(ask(server, "GET", `${things}?${query}`), ({ body }) => names(body))
      expect(yield* list(`resourceVersion=${then}&resourceVersionMatch=Exact`)).toEqual(["t0"])
      expect(yield* list(`resourceVersion=${then}&limit=5`)).toEqual(["t0"])
      expect(yield* list(`resourceVersion=${then}&resourceVersionMatch=NotOlderThan`)).toEqual(["later", "t0"])
      expect(yield* list("resourceVersion=0&limit=1")).toEqual(["later", "t0"])
    })
  )
})
