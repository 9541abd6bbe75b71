import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Disconnect from "../client/Disconnect.ts"
import { type Request as ApiRequest, infoOf } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import { capture } from "../controller/World.fixture.ts"
import * as Callers from "./Callers.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Loopback from "./Loopback.ts"

const user = {
  username: "system:serviceaccount:a:prometheus",
  uid: "u",
  groups: ["system:authenticated"],
  extra: { "authentication.kubernetes.io/node-name": ["n"] }
}

interface Review {
  readonly kind: string
  readonly spec: { readonly token?: string; readonly user?: string; readonly nonResourceAttributes?: unknown }
}

/** The server's response to a review: its status, an HTTP code, or no response. */
type Says = (review: Review) => object | number | "gone" | "silence"

/** A server that knows the token `good`, which allows everything except paths below `/closed`. */
const usual: Says = ({ kind, spec }) =>
  kind === "TokenReview"
    ? spec.token?.startsWith("good") === true
      ? { authenticated: true, user }
      : { user: {}, error: "invalid bearer token" }
    : { allowed: !JSON.stringify(spec.nonResourceAttributes).includes("/closed") }

/** Protected routes, the server's responses, and the requests that the server got. */
const world = (says: Says = usual, settings?: Callers.Settings) => {
  const asked: Array<Review> = []
  const send = (request: ApiRequest) =>
    Effect.suspend(() => {
      const sent: Review = JSON.parse(String(request.body))
      const review = { ...sent, spec: sent.spec.token === undefined ? sent.spec : { token: nameOf(sent.spec.token) } }
      asked.push(review)
      const answer = says(review)
      if (answer === "silence") return Effect.never
      if (answer === "gone") return Effect.fail(Disconnect.make(infoOf(request), "https://server.test", "ECONNRESET"))
      const headers = new Headers()
      return typeof answer === "number"
        ? Effect.succeed({ status: answer, headers, body: forbidden })
        : Effect.succeed({ status: 201, headers, body: JSON.stringify({ ...review, metadata: {}, status: answer }) })
    })
  const transport = Layer.succeed(Transport.Transport, {
    server: "https://server.test",
    send,
    open: () => Effect.never
  } satisfies Transport.Transport["Service"])
  const layer = Callers.layer(settings).pipe(Layer.provide(Client.layer()), Layer.provide(transport))
  return { asked, kinds: () => asked.map(({ kind }) => kind), layer }
}

const forbidden = JSON.stringify({
  kind: "Status",
  status: "Failure",
  code: 403,
  reason: "Forbidden",
  message: `tokenreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:a:manager" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope`
})

const remote = { address: "10.0.0.7" }
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A JSON Web Token with this subject. */
const tokenOf = (sub: string, claims: object = {}) => `${part({ alg: "none" })}.${part({ sub, ...claims })}.c2ln`

/** The subject of a token; another text as it is. */
const nameOf = (token: string): string => {
  const payload = token.split(".")[1]
  return payload === undefined ? token : JSON.parse(Buffer.from(payload, "base64url").toString()).sub
}

const bearer = (name: string, claims: object = {}) => ({ authorization: `Bearer ${tokenOf(name, claims)}` })

interface Asking {
  readonly headers?: { readonly [name: string]: string }
  readonly caller?: Endpoints.Caller
  readonly path?: string
  readonly method?: string
  readonly loopback?: boolean
}

const ask = ({ caller = remote, headers = {}, loopback = true, method = "GET", path = "/why" }: Asking) =>
  Effect.gen(function* () {
    const handler = yield* Callers.guarded(() => Effect.succeed(Endpoints.text(200, "hello")), { loopback })
    const response = yield* handler(new Request(`http://localhost:8081${path}`, { method, headers }), caller)
    const body = yield* Effect.promise(() => response.text())
    return { status: response.status, body: body.trimEnd(), headers: response.headers }
  })

const statuses = (askings: ReadonlyArray<Asking>) =>
  Effect.forEach(askings, (asking) => Effect.map(ask(asking), ({ status }) => status))

describe("A request from loopback", () => {
  const host = { host: "localhost:8081" }

  effect("needs no token if loopback is allowed, with IPv4 and IPv6", () => {
    const { asked, layer } = world()
    return Effect.gen(function* () {
      const addresses = ["127.0.0.1", "::1", "::ffff:127.0.0.1"]
      expect(yield* statuses(addresses.map((address) => ({ headers: host, caller: { address } })))).toEqual([
        200, 200, 200
      ])
      for (const name of ["127.0.0.1:8081", "[::1]:8081", "localhost"]) {
        expect((yield* ask({ headers: { host: name }, caller: { address: "::1" } })).status).toBe(200)
      }
      expect(asked).toEqual([])
    }).pipe(Effect.provide(layer))
  })

  effect("needs a token if loopback is not allowed", () =>
    Effect.gen(function* () {
      const asking = { headers: host, caller: { address: "127.0.0.1" }, loopback: false }
      expect((yield* ask(asking)).status).toBe(401)
    }).pipe(Effect.provide(world().layer))
  )

  effect("through a proxy or from a page in a browser needs a token", () =>
    Effect.gen(function* () {
      const caller = { address: "127.0.0.1" }
      expect(
        yield* statuses([
          { caller, headers: { ...host, "x-forwarded-for": "10.0.0.7" } },
          { caller, headers: { ...host, forwarded: "for=10.0.0.7" } },
          { caller, headers: { ...host, via: "1.1 proxy" } },
          { caller, headers: { ...host, origin: "https://elsewhere.example" } },
          { caller, headers: { host: "elsewhere.example:8081" } },
          { caller, headers: {} }
        ])
      ).toEqual([401, 401, 401, 401, 401, 401])
    }).pipe(Effect.provide(world().layer))
  )

  for (const [name, value] of [
    ["X-Forwarded-Proto", "http"],
    ["X-Forwarded-Client-Cert", "By=spiffe://a"],
    ["X-Envoy-Attempt-Count", "1"],
    ["X-Request-Id", "1f0e"],
    ["X-Real-Ip", "10.0.0.7"],
    ["l5d-client-id", "default.emojivoto.serviceaccount.identity.linkerd.cluster.local"],
    ["True-Client-IP", "10.0.0.7"],
    ["CF-Connecting-IP", "10.0.0.7"],
    ["X-Client-Ip", "10.0.0.7"],
    ["Client-Ip", "10.0.0.7"],
    ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    ["X-Some-Header", "of no client that is known"],
    ["Sec-Fetch-Site", "cross-site"],
    ["Sec-Fetch-Site", "same-site"]
  ] as const) {
    effect(`through a proxy needs a token, recognized by ${name}: ${value}`, () =>
      Effect.gen(function* () {
        const caller = { address: "127.0.0.1" }
        expect((yield* ask({ caller, headers: { ...host, [name]: value } })).status).toBe(401)
      }).pipe(Effect.provide(world().layer))
    )
  }

  effect("with the headers of curl, Go or a browser needs no token", () =>
    Effect.gen(function* () {
      const caller = { address: "127.0.0.1" }
      const curl = { ...host, "user-agent": "curl/8.5.0", accept: "*/*" }
      const go = { ...host, "user-agent": "Go-http-client/1.1", "accept-encoding": "gzip" }
      const browser = {
        ...go,
        accept: "text/html",
        "accept-language": "en",
        "cache-control": "max-age=0",
        connection: "keep-alive",
        cookie: "a=b",
        "sec-ch-ua": '"Chromium";v="142"',
        "sec-ch-ua-mobile": "?0",
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": "none",
        "sec-fetch-user": "?1",
        "upgrade-insecure-requests": "1",
        priority: "u=0, i"
      }
      expect(yield* statuses([curl, go, browser].map((headers) => ({ caller, headers })))).toEqual([200, 200, 200])
    }).pipe(Effect.provide(world().layer))
  )

  effect("from the address bar of a browser or a page of the manager needs no token", () =>
    Effect.gen(function* () {
      const caller = { address: "127.0.0.1" }
      const asked = ["none", "same-origin"].map((site) => ({ caller, headers: { ...host, "sec-fetch-site": site } }))
      expect(yield* statuses(asked)).toEqual([200, 200])
    }).pipe(Effect.provide(world().layer))
  )

  effect("from an address other than 127.0.0.1 needs a token, because a sidecar forwards requests", () =>
    Effect.gen(function* () {
      const asked = ["127.0.0.6", "::ffff:127.0.0.6", "127.1.0.1"].map((address) => ({
        caller: { address },
        headers: host
      }))
      expect(yield* statuses(asked)).toEqual([401, 401, 401])
    }).pipe(Effect.provide(world().layer))
  )

  test("does not come from another address", () => {
    for (const address of ["10.0.0.7", "fe80::1", "::", "::ffff:10.127.0.1", "1127.0.0.1", "", undefined]) {
      expect(Loopback.isLoopback(address)).toBe(false)
    }
  })
})

describe("A token", () => {
  effect("with the permission is accepted", () => {
    const { asked, layer } = world()
    return Effect.gen(function* () {
      expect(yield* ask({ headers: bearer("good"), path: "/why/a?b=c", method: "PUT" })).toMatchObject({
        status: 200,
        body: "hello"
      })
      expect(asked).toMatchObject([
        { kind: "TokenReview", spec: { token: "good" } },
        {
          kind: "SubjectAccessReview",
          spec: {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            nonResourceAttributes: { path: "/why/a", verb: "put" }
          }
        }
      ])
    }).pipe(Effect.provide(layer))
  })

  effect("without the permission gets 403 with the missing rule", () =>
    Effect.gen(function* () {
      expect(yield* ask({ headers: bearer("good"), path: "/closed" })).toMatchObject({
        status: 403,
        body: `${user.username} is not allowed to get /closed (add this rule to a ClusterRole: {"nonResourceURLs":["/closed"],"verbs":["get"]})`
      })
    }).pipe(Effect.provide(world().layer))
  )

  effect("that is unknown gets 401, and a request without a token gets the accepted scheme", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      const unknown = yield* ask({ headers: bearer("rubbish") })
      expect(unknown).toMatchObject({ status: 401, body: "the API server does not know this token" })
      expect(unknown.headers.get("www-authenticate")).toBe("Bearer")
      expect(kinds()).toEqual(["TokenReview"])
      expect((yield* ask({})).body).toBe(
        "/why takes a token of the cluster: Authorization: Bearer …, except from loopback"
      )
      expect((yield* ask({ loopback: false })).body).toBe("/why takes a token of the cluster: Authorization: Bearer …")
      expect((yield* ask({ headers: { authorization: "Basic Z29vZDpnb29k" } })).status).toBe(401)
      expect(kinds()).toEqual(["TokenReview"])
    }).pipe(Effect.provide(layer))
  })

  effect("is unknown without the confirmation of the API server, whatever else its answer contains", () =>
    Effect.gen(function* () {
      const askings = [{ headers: bearer("a") }, { headers: bearer("b") }, { headers: bearer("c") }]
      expect(yield* statuses(askings)).toEqual([401, 401, 401])
    }).pipe(
      Effect.provide(
        world(({ kind, spec }) => {
          if (kind !== "TokenReview") return { allowed: true }
          if (spec.token === "a") return { authenticated: false, user }
          return spec.token === "b" ? { user } : { authenticated: true, user: {} }
        }).layer
      )
    )
  )

  effect("is reviewed again when its cached review has expired", () => {
    const { kinds, layer } = world()
    const twice = ["TokenReview", "SubjectAccessReview"]
    return Effect.gen(function* () {
      const asking = { headers: bearer("good") }
      expect(yield* statuses([asking, asking, asking])).toEqual([200, 200, 200])
      expect(kinds()).toEqual(twice)
      yield* TestClock.adjust(Callers.times.known - 1)
      yield* ask(asking)
      expect(kinds()).toEqual(twice)
      yield* TestClock.adjust(1)
      yield* ask(asking)
      expect(kinds()).toEqual([...twice, "TokenReview"])
      yield* TestClock.adjust(Callers.times.allowed)
      yield* ask(asking)
      expect(kinds()).toEqual([...twice, "TokenReview", ...twice])
    }).pipe(Effect.provide(layer))
  })

  effect("that was rejected is reviewed again soon, because the reason may be fixed", () => {
    let known = false
    let granted = false
    const { kinds, layer } = world(({ kind }) =>
      kind === "TokenReview" ? (known ? { authenticated: true, user } : {}) : { allowed: granted }
    )
    return Effect.gen(function* () {
      const asking = { headers: bearer("new") }
      expect(yield* statuses([asking, asking])).toEqual([401, 401])
      expect(kinds()).toEqual(["TokenReview"])
      known = true
      yield* TestClock.adjust(Callers.times.unknown)
      expect(yield* statuses([asking, asking])).toEqual([403, 403])
      expect(kinds()).toEqual(["TokenReview", "TokenReview", "SubjectAccessReview"])
      granted = true
      yield* TestClock.adjust(Callers.times.denied)
      expect((yield* ask(asking)).status).toBe(200)
    }).pipe(Effect.provide(layer))
  })

  effect("is reviewed for each path", () => {
    const { layer } = world()
    return Effect.gen(function* () {
      const headers = bearer("good")
      expect(yield* statuses([{ headers }, { headers, path: "/closed" }, { headers }])).toEqual([200, 403, 200])
    }).pipe(Effect.provide(layer))
  })

  effect("that is unknown is cached in limited space, and displaces no accepted token", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      yield* ask({ headers: bearer("good") })
      const before = kinds().length
      for (let n = 0; n <= Callers.mostAnswers; n++) yield* ask({ headers: bearer(`rubbish-${n}`) })
      const after = kinds().length
      expect(after - before).toBe(Callers.mostAnswers + 1)
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
      yield* ask({ headers: bearer(`rubbish-${Callers.mostAnswers}`) })
      expect(kinds().slice(after)).toEqual([])
      yield* ask({ headers: bearer("rubbish-0") })
      expect(kinds().slice(after)).toEqual(["TokenReview"])
    }).pipe(Effect.provide(layer))
  })

  effect("that is accepted is cached in limited space", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      for (let n = 0; n <= Callers.mostAnswers; n++) yield* ask({ headers: bearer(`good-${n}`) })
      const before = kinds().length
      yield* ask({ headers: bearer("good-0") })
      expect(kinds().slice(before)).toEqual(["TokenReview"])
    }).pipe(Effect.provide(layer))
  })
})

describe("If the caller cannot be reviewed,", () => {
  const unavailable = {
    status: 503,
    body: "the manager cannot authorize the request: the API server does not answer (try again)"
  }

  effect("the request gets 503 with the missing permission of the manager, and one warning a minute is logged", () => {
    const { layer } = world(() => 403)
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const asking = { headers: bearer("good-secret") }
      const answer = yield* ask(asking)
      expect(answer).toMatchObject({
        status: 503,
        body: "the manager cannot authorize the request: requires permission to create tokenreviews.authentication.k8s.io cluster-wide (the command rbac --metrics-secure prints the missing roles)"
      })
      // A retry does not help.
      expect(answer.headers.has("retry-after")).toBe(false)
      yield* ask(asking)
      expect(logs).toEqual([
        "WARN Cannot authorize requests for /why: requires permission to create tokenreviews.authentication.k8s.io cluster-wide"
      ])
      yield* TestClock.adjust("1 minute")
      yield* ask(asking)
      expect(logs).toHaveLength(2)
      expect(logs.join()).not.toContain("good-secret")
    }).pipe(Effect.provide(Layer.merge(layer, capture(logs))))
  })

  effect("a silent API server causes 503 before the timeout of the port", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.forkChild(ask({ headers: bearer("good") }))
      yield* TestClock.adjust("9 seconds")
      expect(yield* Fiber.join(asking)).toMatchObject(unavailable)
    }).pipe(Effect.provide(Layer.merge(world(() => "silence").layer, capture([]))))
  )

  effect("a lost answer is requested once more, and then cached", () => {
    let lost = 0
    const { kinds, layer } = world((review) => (lost++ === 0 ? "gone" : usual(review)))
    return Effect.gen(function* () {
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
      expect(kinds()).toEqual(["TokenReview", "TokenReview", "SubjectAccessReview"])
    }).pipe(Effect.provide(layer))
  })

  effect("a request from loopback is still answered", () =>
    Effect.gen(function* () {
      const asking = { headers: { host: "localhost", ...bearer("good") }, caller: { address: "127.0.0.1" } }
      expect((yield* ask(asking)).status).toBe(200)
    }).pipe(Effect.provide(world(() => "gone").layer))
  )
})

describe("A flood of unknown tokens", () => {
  /** Sends requests from many addresses. */
  const flood = (size: number, name: (n: number) => string) =>
    Effect.forEach(
      Array.from({ length: size }, (_, n) => n),
      (n) => ask({ headers: bearer(name(n)), caller: { address: `10.0.${n >> 8}.${n & 255}` } }),
      { concurrency: "unbounded" }
    )
  /** The number of responses by status. */
  const counted = (answers: ReadonlyArray<{ readonly status: number }>) =>
    Object.fromEntries(
      [...Map.groupBy(answers, ({ status }) => status)].map(([status, those]) => [status, those.length])
    )
  const { unknown } = Callers.reviews
  const room = unknown.concurrency + unknown.waiting

  effect("is rejected at once above the limit", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      expect(counted(yield* flood(2000, (n) => `made-up-${n}`))).toEqual({ 401: room, 429: 2000 - room })
      expect(kinds()).toHaveLength(room)
      const late = yield* flood(2000, (n) => `made-up-${n}`)
      expect(late.find(({ status }) => status === 429)?.headers.get("retry-after")).toBe("1")
    }).pipe(Effect.provide(layer))
  })

  effect("does not delay a cached token or one that was accepted before", () => {
    let held = false
    const { layer } = world((review) => (held && review.spec.token?.startsWith("made-up") ? "silence" : usual(review)))
    return Effect.gen(function* () {
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
      held = true
      const flooding = yield* Effect.forkChild(flood(200, (n) => `made-up-${n}`))
      yield* Effect.yieldNow
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
      yield* TestClock.adjust(Callers.times.known)
      const again = yield* Effect.forkChild(flood(200, (n) => `made-up-again-${n}`))
      yield* Effect.yieldNow
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
      expect((yield* ask({ headers: bearer("good-but-new") })).status).toBe(429)
      yield* TestClock.adjust("10 seconds")
      expect(counted(yield* Fiber.join(flooding))).toEqual({ 429: 200 - room, 503: room })
      expect(counted(yield* Fiber.join(again))).toEqual({ 429: 200 - room, 503: room })
    }).pipe(Effect.provide(Layer.merge(layer, capture([]))))
  })

  effect("that were accepted before has a higher limit", () => {
    let held = false
    const { layer } = world((review) => (held ? "silence" : usual(review)))
    return Effect.gen(function* () {
      const confirmed = Array.from({ length: 100 }, (_, n) => `good-${n}`)
      yield* Effect.forEach(confirmed, (name) => ask({ headers: bearer(name) }))
      yield* TestClock.adjust(Callers.times.known)
      held = true
      const asking = yield* Effect.forkChild(flood(100, (n) => `good-${n}`))
      yield* Effect.yieldNow
      yield* TestClock.adjust("5 minutes")
      expect(counted(yield* Fiber.join(asking))).toEqual({ 429: 100 - 67, 503: 67 })
    }).pipe(Effect.provide(Layer.merge(layer, capture([]))))
  })

  effect("from one address leaves room for others", () => {
    const { layer } = world((review) => (review.spec.token?.startsWith("made-up") ? "silence" : usual(review)))
    return Effect.gen(function* () {
      const flooding = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, n) => n),
        (n) => Effect.forkChild(ask({ headers: bearer(`made-up-${n}`) }))
      )
      yield* TestClock.adjust("1 second")
      const other = yield* Effect.forkChild(ask({ headers: bearer("good"), caller: { address: "10.0.0.8" } }))
      yield* TestClock.adjust("4 seconds")
      expect((yield* Fiber.join(other)).status).toBe(200)
      expect(counted(yield* Fiber.joinAll(flooding))).toEqual({
        429: 50 - unknown.perSource,
        503: unknown.perSource
      })
    }).pipe(Effect.provide(Layer.merge(layer, capture([]))))
  })
})

describe("Concurrent requests with one token", () => {
  effect("share one review, and get the same answer", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      const askings = Array.from({ length: 8 }, () => ask({ headers: bearer("good") }))
      const answers = yield* Effect.all(askings, { concurrency: "unbounded" })
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      expect(kinds()).toEqual(["TokenReview", "SubjectAccessReview"])
    }).pipe(Effect.provide(layer))
  })
})

describe("A token that the cluster cannot have issued", () => {
  const now = 1_800_000_000_000
  const headersOf = (token: string) => ({ authorization: `Bearer ${token}` })

  effect("is rejected without a review: an opaque one, an expired one, one that is too long", () => {
    const { kinds, layer } = world()
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      for (const token of ["good", "a.b", "a.b.c", "a.b.c.d", `${tokenOf("good")}!`, "..", `a.${part([1])}`]) {
        const answer = yield* ask({ headers: headersOf(token) })
        expect(answer).toMatchObject({
          status: 401,
          body: "this is not a token of a cluster: a JSON Web Token is required (other tokens take --opaque-tokens)"
        })
      }
      expect(yield* ask({ headers: bearer("good", { exp: now / 1000 - 61 }) })).toMatchObject({
        status: 401,
        body: "this token has expired"
      })
      expect((yield* ask({ headers: headersOf(tokenOf("good".repeat(5000))) })).body).toBe(
        "this token is too long: at most 16384 characters"
      )
      expect(kinds()).toEqual([])
      // The clock of the API server may be a little behind, and a token of a Secret never expires.
      expect((yield* ask({ headers: bearer("good", { exp: now / 1000 - 59 }) })).status).toBe(200)
      expect((yield* ask({ headers: bearer("good") })).status).toBe(200)
    }).pipe(Effect.provide(layer))
  })

  effect("is reviewed if opaque tokens are allowed", () =>
    Effect.gen(function* () {
      expect((yield* ask({ headers: headersOf("good") })).status).toBe(200)
      expect((yield* ask({ headers: headersOf("rubbish") })).body).toBe("the API server does not know this token")
    }).pipe(Effect.provide(world(usual, { opaqueTokens: true }).layer))
  )
})
