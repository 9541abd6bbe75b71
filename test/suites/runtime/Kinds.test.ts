/** The API server serves the kinds that controllers create beside workloads. */
import { expect } from "bun:test"
import { BuiltIn, Client } from "@homeostat/runtime"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"

const test = Harness.make({ manager: Effect.void })

const metadata = { namespace: "default", name: "shop" }

test("the kinds of networks, limits and storage are stored with their typed fields", () =>
  Effect.gen(function* () {
    const policy = yield* Client.create(BuiltIn.NetworkPolicy, {
      metadata,
      spec: { podSelector: { matchLabels: { app: "shop" } }, policyTypes: ["Ingress"] }
    })
    expect(policy.spec?.podSelector?.matchLabels).toEqual({ app: "shop" })
    const limits = yield* Client.create(BuiltIn.LimitRange, {
      metadata,
      spec: { limits: [{ type: "Container", max: { cpu: "1" } }] }
    })
    expect(limits.spec?.limits[0]?.type).toBe("Container")
    const slice = yield* Client.create(BuiltIn.EndpointSlice, {
      metadata,
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"] }]
    })
    expect(slice.endpoints?.[0]?.addresses).toEqual(["10.0.0.1"])
    const storage = yield* Client.create(BuiltIn.StorageClass, {
      metadata: { name: "fast" },
      provisioner: "example.com/disk"
    })
    expect(storage.reclaimPolicy).toBe("Delete")
    const volume = yield* Client.create(BuiltIn.PersistentVolume, {
      metadata: { name: "disk" },
      spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } }
    })
    expect(volume.spec?.persistentVolumeReclaimPolicy).toBe("Retain")
    const daemons = yield* Client.create(BuiltIn.DaemonSet, {
      metadata,
      spec: {
        selector: { matchLabels: { app: "shop" } },
        template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "agent", image: "agent:1" }] } }
      }
    })
    expect(daemons.spec?.updateStrategy?.type).toBe("RollingUpdate")
    const important = yield* Client.create(BuiltIn.PriorityClass, { metadata: { name: "important" }, value: 1000 })
    expect(important.value).toBe(1000)
    const ingress = yield* Client.create(BuiltIn.IngressClass, {
      metadata: { name: "web" },
      spec: { controller: "example.com/ingress" }
    })
    expect(ingress.spec?.controller).toBe("example.com/ingress")
  }))

test("an API server without the CRDs of the Gateway API reports that it does not serve routes", () =>
  Effect.gen(function* () {
    const route = { metadata, spec: { parentRefs: [{ name: "web" }], hostnames: ["shop.example.com"] } }
    const refused = yield* Effect.flip(Client.create(BuiltIn.HTTPRoute, route))
    expect(refused._tag).toBe("NotFound")
  }))
