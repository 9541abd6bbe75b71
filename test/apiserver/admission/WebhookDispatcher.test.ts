/** Webhooks with side effects, which do not allow a dry run. Only older versions of Kubernetes could create them. */
import { expect } from "bun:test"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as ApiServer from "../http/ApiServer.ts"
import { ask } from "../http/Client.fixture.ts"
import * as Json from "../model/Json.ts"

for (const phase of ["mutating", "validating"]) {
  for (const failurePolicy of ["Fail", "Ignore"]) {
    live(`a ${phase} webhook with side effects refuses a dry run, with the failure policy ${failurePolicy}`, () =>
      Effect.gen(function* () {
        const server = yield* ApiServer.make({ seed: 1 })
        const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }
        const create = (query: string) =>
          Effect.map(
            ask(server, "POST", `/api/v1/namespaces/default/configmaps${query}`, {
              apiVersion: "v1",
              kind: "ConfigMap",
              metadata: { generateName: "a-" }
            }),
            ({ body, status }) => [status, status === 201 ? "" : Json.at(body, "message")]
          )
        for (const sideEffects of ["Some", "Unknown"]) {
          server.store.put(`admissionregistration.k8s.io/${phase}webhookconfigurations`, {
            metadata: { name: "old" },
            webhooks: [
              {
                name: "old.example.com",
                clientConfig: { url: "https://127.0.0.1:1/" },
                admissionReviewVersions: ["v1"],
                rules: [rule],
                sideEffects,
                failurePolicy
              }
            ]
          })
          expect(yield* create("?dryRun=All")).toEqual([
            400,
            'admission webhook "old.example.com" does not support dry run'
          ])
          const [status] = yield* create("")
          expect(status).toBe(failurePolicy === "Fail" ? 500 : 201)
        }
      })
    )
  }
}
