/** A server with its controllers in virtual time, for the tests of the controllers. */

import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import { Failure } from "@homeostat/apiserver/model/Failure"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Kind } from "@homeostat/apiserver/model/Kind"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BuiltInController } from "./BuiltInController.ts"
import * as Controllers from "./Controllers.ts"
import * as Loop from "./Loop.ts"

/** The start time of the tests. */
export const now = Date.parse("2026-11-21T10:00:00Z")

/** The running server, with shortcuts for tests. */
export interface Running extends Loop.Loop, ApiServer.ApiServer {
  /** Creates an object of a built-in or custom kind, and returns the stored object. */
  readonly make: (object: JsonObject, namespace?: string) => JsonObject
  readonly find: (apiVersion: string, kind: string, name: string, namespace?: string) => JsonObject | undefined
  readonly remove: (apiVersion: string, kind: string, name: string, options?: JsonObject) => void
  readonly merge: (apiVersion: string, kind: string, name: string, patch: JsonObject, subresource?: string) => void
}

/** The namespace of the tests. */
export const namespace = "default"

/** Starts a server with the namespaces of a cluster. */
export const start = (controllers: ReadonlyArray<BuiltInController> = Controllers.all(), seed = 1) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const server = yield* ApiServer.make({ seed })
    const loop = yield* Loop.start(server, controllers)
    yield* loop.idle
    const { registry, verbs } = server
    const kindOf = (apiVersion: unknown, name: unknown): Kind => {
      const kind = registry.named(String(apiVersion), String(name))
      if (kind === undefined) throw new Failure({ code: 404, reason: "NotFound", message: `no kind ${String(name)}` })
      return kind
    }
    const within = (kind: Kind, wanted = namespace) => (kind.namespaced ? wanted : "")
    const running: Running = {
      ...server,
      ...loop,
      make: (object, wanted) => {
        const kind = kindOf(object.apiVersion, object.kind)
        return verbs.create(kind, within(kind, wanted), object, { now, manager: "test" })
      },
      find: (apiVersion, name, objectName, wanted) => {
        const kind = kindOf(apiVersion, name)
        return server.store.get(kind.storage, within(kind, wanted), objectName)
      },
      remove: (apiVersion, name, objectName, options = {}) => {
        const kind = kindOf(apiVersion, name)
        verbs.delete(kind, within(kind), objectName, options, { now })
      },
      merge: (apiVersion, name, objectName, patch, subresource = "") => {
        const kind = kindOf(apiVersion, name)
        const change = { type: "merge" as const, text: JSON.stringify(patch) }
        verbs.patch(kind, subresource, within(kind), objectName, change, { now, manager: "test" })
      }
    }
    return running
  })
