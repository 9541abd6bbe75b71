/** The server serves each path of a kube-apiserver, or responds with 501 and the name of the path. */
import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { names } from "../../kinds/Names.ts"
import * as Json from "../../model/Json.ts"
import * as ApiServer from "../ApiServer.ts"
import { ask } from "../Client.fixture.ts"
import * as Unserved from "./Unserved.ts"

const methods: { readonly [verb: string]: readonly [string, "collection" | "object"] } = {
  create: ["POST", "collection"],
  delete: ["DELETE", "object"],
  deletecollection: ["DELETE", "collection"],
  get: ["GET", "object"],
  list: ["GET", "collection"],
  patch: ["PATCH", "object"],
  update: ["PUT", "object"],
  watch: ["GET", "collection"]
}

interface Path {
  readonly method: string
  readonly path: string
  /** The name in discovery: `pods/exec`. */
  readonly name: string
  readonly groupVersion: string
  readonly verb: string
}

const rootOf = (groupVersion: string): string => `/${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}`

const all: ReadonlyArray<Path> = [...Unserved.resources].flatMap(([groupVersion, resources]) =>
  resources.flatMap(({ namespaced, plural, subresources, verbs }) => {
    const collection = `${rootOf(groupVersion)}${namespaced ? "/namespaces/default" : ""}/${plural}`
    const own = verbs.flatMap((verb): ReadonlyArray<Path> => {
      const [method, at] = methods[verb] ?? ["", ""]
      // The deprecated paths of watches end at once without a connection.
      if (verb === "watch") return []
      return [{ method, path: at === "object" ? `${collection}/none` : collection, name: plural, groupVersion, verb }]
    })
    const subresourcePaths = subresources.flatMap(({ name, verbs }) =>
      verbs.map((verb): Path => {
        const method = methods[verb]?.[0] ?? ""
        return { method, path: `${collection}/none/${name}`, name: `${plural}/${name}`, groupVersion, verb }
      })
    )
    return [...own, ...subresourcePaths]
  })
)

/** The verbs in the discovery of a server. */
const advertised = (server: ApiServer.ApiServer) =>
  Effect.map(
    Effect.forEach(Unserved.resources.keys(), (groupVersion) =>
      Effect.map(ask(server, "GET", rootOf(groupVersion)), ({ body }) =>
        Json.objects(body.resources).flatMap(({ name, verbs }) =>
          Json.list(verbs).map((verb) => `${groupVersion} ${name} ${verb}`)
        )
      )
    ),
    (lists) => new Set(lists.flat())
  )

describe("Each path of a kube-apiserver", () => {
  test("is in the table", () => {
    expect(all.length).toBeGreaterThan(400)
  })

  effect("is in the discovery and has a response, or gets 501 with its name", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      const listed = yield* advertised(server)
      const refused = new Set<string>()
      for (const { groupVersion, method, name, path, verb } of all) {
        const body = method === "GET" || method === "DELETE" ? undefined : {}
        const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {}
        const answer = yield* ask(server, method, path, body, { headers })
        const what = `${verb} ${name} of ${groupVersion}: ${answer.status} ${answer.text}`
        if (listed.has(`${groupVersion} ${name} ${verb}`)) {
          // The response may report a missing object or an invalid body, but not a missing path.
          expect([200, 201, 202, 400, 404, 415, 422], what).toContain(answer.status)
          if (answer.status === 404) expect(answer.body.message, what).toContain('"none" not found')
        } else {
          expect(answer.body, what).toMatchObject({ code: 501, reason: "NotImplemented" })
          expect(answer.body.message, what).toContain(name.split("/").at(-1) ?? "")
          refused.add(name)
        }
      }
      // The subresources of the kinds that this server serves.
      const ours = names.map(({ plural }) => `${plural}/`)
      expect([...refused].filter((name) => ours.some((plural) => name.startsWith(plural))).sort()).toEqual([
        "nodes/proxy",
        "pods/attach",
        "pods/ephemeralcontainers",
        "pods/exec",
        "pods/portforward",
        "pods/proxy",
        "pods/resize",
        "services/proxy"
      ])
    })
  )

  effect("outside of resources has a response, or gets 501 with its name", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      for (const path of Unserved.paths) {
        const answer = yield* ask(server, "GET", path)
        if (answer.status !== 200) {
          expect(answer.body, path).toMatchObject({ code: 501, reason: "NotImplemented" })
          expect(answer.body.message, path).toContain(path)
        }
      }
    })
  )
})
