/** Addresses of webhooks, their certificates, and failed calls. */
import { expect } from "bun:test"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import { effect, live } from "@homeostat/testkit/Test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Store from "../storage/Store.ts"
import * as Issuer from "./Issuer.fixture.ts"
import * as Outside from "./Outside.ts"

const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { name: "a" } }

/** Starts a server with a certificate, and returns its port. It responds with the host, the path and the body of the request. */
const listening = ({ certificate, key }: Certificates.Pair) =>
  Effect.acquireRelease(
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
  ).pipe(Effect.map(({ port = 0 }) => port))

/** Starts such a server with a certificate for a Service. */
const server = Effect.gen(function* () {
  const authority = yield* Certificates.authority
  const port = yield* listening(yield* authority.server({ dns: ["hooks.ns.svc"], ip: [] }))
  return { port, caBundle: Buffer.from(authority.certificate).toString("base64") }
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
    expect(yield* problemOf({ service: { ...service, name: "others" }, caBundle })).toEndWith(
      "tls: failed to verify certificate: x509: certificate is valid for hooks.ns.svc, not others.ns.svc"
    )
    const otherBundle = Buffer.from(other.certificate).toString("base64")
    expect(yield* problemOf({ service, caBundle: otherBundle })).toEndWith("certificate signed by unknown authority")
    expect(yield* problemOf({ service, caBundle })).toBe("none")
    expect(yield* problemOf({ url: `https://127.0.0.1:${port}`, caBundle })).toEndWith(
      "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
    )
  })
)

const outcomeOf = (served: Issuer.Issued, bundle: Issuer.Issued) =>
  Effect.gen(function* () {
    const port = yield* listening(served)
    const caBundle = Buffer.from(bundle.certificate).toString("base64")
    const outside = Outside.make(Store.make(), () => `127.0.0.1:${port}`)
    return (yield* outside.post({ service, caBundle }, review, 5)).outcome
  })

live("a certificate with its host only in the common name is rejected", () =>
  Effect.gen(function* () {
    const root = yield* Issuer.issue("root", { isAuthority: true })
    const named = yield* Issuer.issue("hooks.ns.svc", { issuer: root })
    expect(yield* outcomeOf(named, root)).toEqual({
      problem: `Post "https://hooks.ns.svc:443/a?timeout=5s": tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, use SANs instead`
    })
  })
)

live("the bundle may consist of an intermediate authority", () =>
  Effect.gen(function* () {
    const root = yield* Issuer.issue("root", { isAuthority: true })
    const intermediate = yield* Issuer.issue("intermediate", { isAuthority: true, issuer: root })
    const named = yield* Issuer.issue("hooks", { dns: ["hooks.ns.svc"], issuer: intermediate })
    expect(yield* outcomeOf(named, intermediate)).toMatchObject({ review: { response: {} } })
    expect(yield* outcomeOf(named, root)).toMatchObject({
      problem: expect.stringContaining("x509: certificate signed by unknown authority")
    })
  })
)

live("the variable NODE_TLS_REJECT_UNAUTHORIZED does not turn the verification off", () =>
  Effect.gen(function* () {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
      }),
      () =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
          else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
        })
    )
    const self = yield* Issuer.issue("hooks", { dns: ["hooks.ns.svc"], isAuthority: true })
    const other = yield* Issuer.issue("other", { dns: ["hooks.ns.svc"], isAuthority: true })
    expect(yield* outcomeOf(self, other)).toMatchObject({
      problem: expect.stringContaining("x509: certificate signed by unknown authority")
    })
  })
)

effect("the timeout of a webhook uses the Clock", () =>
  Effect.gen(function* () {
    const silent = yield* Effect.acquireRelease(
      Effect.sync(() => Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } })),
      (one) => Effect.sync(() => one.stop(true))
    )
    const url = `https://127.0.0.1:${silent.port}/`
    const call = yield* Effect.forkChild(Outside.make(Store.make()).post({ url }, review, 10))
    yield* TestClock.adjust("9 seconds")
    expect(call.pollUnsafe()).toBeUndefined()
    yield* TestClock.adjust("1 second")
    const { outcome } = yield* Fiber.join(call)
    expect(outcome).toEqual({ problem: `Post "${url}?timeout=10s": context deadline exceeded` })
  })
)
