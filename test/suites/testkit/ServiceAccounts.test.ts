/** The admission plugin ServiceAccount in the harness: the controllers create the accounts that it needs. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Namespace, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"

const key = { namespace: "shop", name: "web" }

const deploy = (serviceAccountName?: string) =>
  Client.create(Deployment, {
    metadata: key,
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "i" }], ...(serviceAccountName && { serviceAccountName }) }
      }
    }
  })

const test = Harness.make({ manager: Effect.void, admissionPlugins: ["ServiceAccount"] })

test("pods of a new namespace run with the account that the controller creates, and mount its token", () =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: "shop" } })
    yield* deploy()
    yield* eventually("it is available", Client.get(Deployment, key), ({ status }) => status?.availableReplicas === 1)
    const { items } = yield* Client.list(Pod, { namespace: "shop" })
    expect(items.map(({ spec }) => spec?.serviceAccountName)).toEqual(["default"])
    expect(items[0]?.spec?.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
      "/var/run/secrets/kubernetes.io/serviceaccount"
    ])
  }))

test("pods of a missing account are rejected, and the Deployment shows the reason", () =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: "shop" } })
    yield* deploy("worker")
    const { status } = yield* eventually("it fails", Client.get(Deployment, key), ({ status }) =>
      (status?.conditions ?? []).some(({ type }) => type === "ReplicaFailure")
    )
    expect(status?.conditions?.find(({ type }) => type === "ReplicaFailure")?.message).toContain(
      'error looking up service account shop/worker: serviceaccount "worker" not found'
    )
  }))
