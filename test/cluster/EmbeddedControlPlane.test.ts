/** The users of an embedded control plane. */
import { expect } from "bun:test"
import { Effect } from "effect"
import * as EmbeddedControlPlane from "./EmbeddedControlPlane.ts"
import { live } from "./Test.ts"

live("A new user has no permissions until a role grants them", () =>
  Effect.gen(function* () {
    const plane = yield* EmbeddedControlPlane.start({ controllers: ["clusterrole-aggregation-controller"] })
    const ann = yield* plane.addUser({ name: "ann", groups: ["devs"] })
    const list = plane.request("GET", "/api/v1/namespaces/default/pods", { as: ann })
    const refused = yield* list
    expect(refused.status).toBe(403)
    expect(refused.body).toContain('User \\"ann\\" cannot list resource \\"pods\\"')
    const apiGroup = "rbac.authorization.k8s.io"
    const made = yield* plane.request("POST", `/apis/${apiGroup}/v1/namespaces/default/rolebindings`, {
      body: {
        metadata: { name: "devs" },
        subjects: [{ kind: "Group", apiGroup, name: "devs" }],
        roleRef: { kind: "ClusterRole", apiGroup, name: "view" }
      }
    })
    expect(made.status).toBe(201)
    expect((yield* list).status).toBe(200)
    expect((yield* plane.request("GET", "/api/v1/pods", { as: ann })).status).toBe(403)
    expect((yield* plane.request("GET", "/api/v1/pods")).status).toBe(200)
  })
)

live("Only a controller sets the rules of aggregated roles, as with a single kube-apiserver", () =>
  Effect.gen(function* () {
    const plane = yield* EmbeddedControlPlane.start({})
    for (const name of ["admin", "edit", "view"]) {
      const { body } = yield* plane.request("GET", `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)
      const { metadata, rules } = JSON.parse(body)
      const managers = metadata.managedFields.map((entry: { readonly manager: string }) => entry.manager)
      expect({ managers, rules }).toEqual({ managers: ["kube-apiserver"], rules: null })
    }
  })
)
