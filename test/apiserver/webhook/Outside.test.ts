/** Addresses of webhooks, their certificates, and failed calls. */
import { expect } from "bun:test"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { effect, live } from "@homeostat/testkit/Test"
import { Effect, Fiber, TestClock } from "effect"
import * as Store from "../storage/Store.ts"
import * as Outside from "./Outside.ts"

const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { name: "a" } }

/** A server with a certificate for a Service, which answers with the host, the path and the body of the request. */
const server = Effect.gen(function* () {
  const authority = yield* Certificates.authority
  const { certificate, key } = yield* authority.server({ dns: ["hooks.ns.svc"], ip: [] })
  const listening = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        tls: { cert: certificate, key },
        fetch: async (request) =>
          Response.json({
            response: {
              warnings: [request.headers.get("host"), new URL(request.url).pathname, await request.text()]
            }
          })
      })
    ),
    (one) => Effect.promise(() => one.stop(true))
  )
  return { port: listening.port ?? 0, caBundle: Buffer.from(authority.certificate).toString("base64") }
})

const service = { namespace: "ns", name: "hooks", port: 443, path: "/a" }

live("a Service has the address of the setting, else that of a ready endpoint of its port", () =>
  Effect.gen(function* () {
    const { caBundle, port } = yield* server
    const store = Store.make()
    const set = Outside.make(store, ({ name, namespace, port: asked }) =>
      namespace === "ns" && name === "hooks" && asked === 443 ? `127.0.0.1:${port}` : undefined
    )
    const bySetting = yield* set.post({ service, caBundle }, review, 5)
    expect(bySetting.outcome).toMatchObject({
      review: {
        response: {
          warnings: [
            "hooks.ns.svc:443",
            "/a",
            JSON.stringify({ ...review, request: { uid: bySetting.uid, ...review.request } })
          ]
        }
      }
    })
    const plain = Outside.make(store)
    const problem = (text: string) => ({ problem: `Post "https://hooks.ns.svc:443/a?timeout=5s": ${text}` })
    const outcome = Effect.map(plain.post({ service, caBundle }, review, 5), (answered) => answered.outcome)
    expect(yield* outcome).toEqual(problem('service "hooks" not found'))
    const metadata = { name: "hooks", namespace: "ns" }
    store.put("/services", { metadata, spec: { type: "ClusterIP", ports: [{ name: "other", port: 80 }] } })
    expect(yield* outcome).toEqual(problem('no service port 443 found for service "hooks"'))
    const ports = [{ name: "https", port: 443 }]
    store.put("/services", { metadata, spec: { type: "ClusterIP", ports } })
    expect(yield* outcome).toEqual(problem('no endpoints available for service "hooks"'))
    store.put("/endpoints", {
      metadata,
      subsets: [
        { notReadyAddresses: [{ ip: "127.0.0.2" }], ports: [{ name: "https", port }] },
        { addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "other", port: 1 }] },
        { addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port }] }
      ]
    })
    expect(yield* outcome).toMatchObject({
      review: { response: { warnings: ["hooks.ns.svc:443", "/a", expect.any(String)] } }
    })
  })
)

live("the certificate must have the name of the Service, and an issuer in the bundle", () =>
  Effect.gen(function* () {
    const { caBundle, port } = yield* server
    const other = yield* Certificates.authority
    const outside = Outside.make(Store.make(), () => `127.0.0.1:${port}`)
    const problemOf = (config: { readonly [name: string]: string | typeof service }) =>
      Effect.map(outside.post(config, review, 5), ({ outcome }) => ("problem" in outcome ? outcome.problem : "none"))
    expect(yield* problemOf({ service: { ...service, name: "others" }, caBundle })).toContain("tls: failed to verify")
    const otherBundle = Buffer.from(other.certificate).toString("base64")
    expect(yield* problemOf({ service, caBundle: otherBundle })).toEndWith("certificate signed by unknown authority")
    expect(yield* problemOf({ service, caBundle })).toBe("none")
    expect(yield* problemOf({ url: `https://127.0.0.1:${port}`, caBundle })).toContain("tls: failed to verify")
  })
)

effect("the timeout of a webhook uses the Clock", () =>
  Effect.gen(function* () {
    const silent = yield* Effect.acquireRelease(
      Effect.sync(() => Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } })),
      (one) => Effect.sync(() => one.stop(true))
    )
    const url = `https://127.0.0.1:${silent.port}/`
    const call = yield* Effect.fork(Outside.make(Store.make()).post({ url }, review, 10))
    yield* TestClock.adjust("9 seconds")
    expect(yield* Fiber.poll(call)).toMatchObject({ _tag: "None" })
    yield* TestClock.adjust("1 second")
    const { outcome } = yield* Fiber.join(call)
    expect(outcome).toEqual({ problem: `Post "${url}?timeout=10s": context deadline exceeded` })
  })
)
