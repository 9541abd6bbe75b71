/** The roles `view` and `edit` of each cluster also grant access to the custom kinds. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { kubectl, options } from "./Installed.ts"
import * as Overlay from "./Overlay.ts"

const people = join(Overlay.folder, "rbac/people.yaml")

type Kind = readonly [plural: string, group: string]

const kinds: ReadonlyArray<Kind> = [
  ["webapps", "apps.kubedojo.io"],
  ["backups", "backup.example.com"],
  ["restores", "backup.example.com"]
]

/**
 * Binds a new user to a role in the namespace, and returns a function that asks the API server for the user's permissions.
 */
const somebody = (cluster: ControlPlane, where: string, role: string) =>
  Effect.gen(function* () {
    const name = `${role}-${where}`
    yield* kubectl(cluster, ["create", "rolebinding", name, "-n", where, `--clusterrole=${role}`, `--user=${name}`])
    return (verb: string, [resource, group]: Kind, subresource = "") =>
      Effect.map(
        cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          body: {
            apiVersion: "authorization.k8s.io/v1",
            kind: "SubjectAccessReview",
            spec: { user: name, resourceAttributes: { namespace: where, verb, group, resource, subresource } }
          }
        }),
        ({ body }) => body.includes('"allowed":true')
      )
  })

describe("The roles for users", () => {
  Shared.real(
    "add the kinds to view and edit, without permission to write a status",
    (cluster) =>
      Effect.gen(function* () {
        const where = yield* cluster.namespace("people")
        const viewer = yield* somebody(cluster, where, "view")
        const editor = yield* somebody(cluster, where, "edit")
        expect(yield* viewer("list", ["webapps", "apps.kubedojo.io"])).toBe(false)
        yield* Effect.acquireRelease(kubectl(cluster, ["apply", "-f", people]), () =>
          Effect.ignore(cluster.kubectl(["delete", "-f", people]))
        )
        for (const kind of kinds) {
          yield* Managed.eventually(`that editors may make ${kind[0]}`, editor("create", kind), (may) => may)
          yield* Managed.eventually(`that viewers may look at ${kind[0]}`, viewer("list", kind), (may) => may)
          const may = yield* Effect.all([editor("list", kind), viewer("create", kind), editor("patch", kind, "status")])
          expect([kind, ...may]).toEqual([kind, true, false, false])
        }
      }),
    options
  )
})
