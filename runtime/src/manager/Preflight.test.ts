import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Client from "../client/Client.ts"
import type { Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import { capture } from "../controller/World.fixture.ts"
import type { Permission } from "./Permissions.ts"
import * as Preflight from "./Preflight.ts"

const permission = (change: Partial<Permission> = {}): Permission => ({
  verb: "patch",
  group: "apps",
  resource: "deployments",
  subresource: undefined,
  name: undefined,
  namespace: "a",
  by: ["controller webapp"],
  ...change
})

describe("The description of a missing permission", () => {
  const cases: ReadonlyArray<readonly [string, Permission, string]> = [
    [
      "in a namespace",
      permission(),
      'cannot patch deployments.apps in namespace a, needed by controller webapp: add to a Role there {"apiGroups":["apps"],"resources":["deployments"],"verbs":["patch"]}'
    ],
    [
      "cluster-wide, of the core group",
      permission({
        verb: "list",
        group: "",
        resource: "pods",
        namespace: undefined,
        by: ["controller a", "controller b"]
      }),
      'cannot list pods cluster-wide, needed by controller a and controller b: add to a ClusterRole {"apiGroups":[""],"resources":["pods"],"verbs":["list"]}'
    ],
    [
      "of a subresource and of one object",
      permission({
        group: "example.com",
        resource: "widgets",
        subresource: "status",
        name: "one",
        by: ["leader election"]
      }),
      'cannot patch widgets.example.com/status one in namespace a, needed by leader election: add to a Role there {"apiGroups":["example.com"],"resources":["widgets/status"],"resourceNames":["one"],"verbs":["patch"]}'
    ]
  ]
  for (const [sentence, missing, line] of cases) test(sentence, () => expect(Preflight.describe(missing)).toBe(line))
})

const unknown = { resourceRules: [], nonResourceRules: [], incomplete: true }

/** A server with these responses to reviews, and the requests that it got. By default it reports no rules. */
const reviewer = (
  allows: (attributes: { readonly [name: string]: string }) => boolean | number,
  rulesIn: (namespace: string) => object | number = () => unknown
) => {
  const asked: Array<unknown> = []
  const askedRules: Array<unknown> = []
  const send = (request: Request) =>
    Effect.sync(() => {
      const { spec } = JSON.parse(String(request.body))
      const path = request.path.replace(/\?.*/, "")
      const isRules = path.endsWith("/selfsubjectrulesreviews")
      if (isRules) askedRules.push([request.method, path, spec])
      else asked.push([request.method, path, spec.resourceAttributes])
      const answer = isRules ? rulesIn(spec.namespace) : allows(spec.resourceAttributes)
      const headers = new Headers()
      if (typeof answer === "number") return { status: answer, headers, body: "" }
      const status = typeof answer === "boolean" ? { allowed: answer } : answer
      return { status: 201, headers, body: JSON.stringify({ metadata: {}, status }) }
    })
  const transport = Layer.succeed(Transport.Transport, {
    server: "https://server.test",
    send,
    open: () => Effect.never
  } satisfies Transport.Transport["Service"])
  return { asked, askedRules, client: Client.layer().pipe(Layer.provide(transport)) }
}

/** Rules of a server with RBAC as the only authorizer. */
const complete = (...resourceRules: ReadonlyArray<object>) => ({
  resourceRules,
  nonResourceRules: [],
  incomplete: false
})

describe("The rules of a namespace", () => {
  const rule = { verbs: ["get", "patch"], apiGroups: ["apps"], resources: ["deployments"] }
  const cases: ReadonlyArray<readonly [string, object, Partial<Permission>, boolean]> = [
    ["of the verb, the group and the resource", rule, {}, true],
    ["of any verb", { ...rule, verbs: ["*"] }, {}, true],
    ["of any group", { ...rule, apiGroups: ["*"] }, {}, true],
    ["of any resource", { ...rule, resources: ["*"] }, {}, true],
    ["of any resource, for a subresource", { ...rule, resources: ["*"] }, { subresource: "status" }, true],
    ["of the subresource", { ...rule, resources: ["deployments/status"] }, { subresource: "status" }, true],
    ["of that subresource of any resource", { ...rule, resources: ["*/status"] }, { subresource: "status" }, true],
    ["of any name, for one name", rule, { name: "one" }, true],
    ["of the name", { ...rule, resourceNames: ["two", "one"] }, { name: "one" }, true],
    ["of another verb", { ...rule, verbs: ["get"] }, {}, false],
    ["of another group", { ...rule, apiGroups: [""] }, {}, false],
    ["of no group", { verbs: ["*"], resources: ["*"] }, {}, false],
    ["of the whole, for a subresource", rule, { subresource: "status" }, false],
    ["of the subresource, for the whole", { ...rule, resources: ["deployments/status"] }, {}, false],
    ["of another name", { ...rule, resourceNames: ["two"] }, { name: "one" }, false],
    ["of one name, for any name", { ...rule, resourceNames: ["one"] }, {}, false]
  ]
  for (const [name, rules, change, isGranted] of cases) {
    effect(`${isGranted ? "grant" : "do not grant"} a permission by a rule ${name}`, () => {
      const { client } = reviewer(
        () => false,
        () => complete({ verbs: ["get"], apiGroups: [""], resources: ["pods"] }, rules)
      )
      const wanted = permission(change)
      return Effect.gen(function* () {
        expect(yield* Preflight.review([wanted])).toEqual({ missing: isGranted ? [] : [wanted], unanswered: [] })
      }).pipe(Effect.provide(client))
    })
  }

  effect("are requested once per namespace, and those of the cluster for other permissions", () => {
    const inEach = (change: Partial<Permission>) => ["a", "b"].map((namespace) => permission({ namespace, ...change }))
    const node = permission({ group: "", resource: "nodes", verb: "get", namespace: undefined })
    const { asked, askedRules, client } = reviewer(
      () => true,
      (namespace) => (namespace === "b" ? complete(rule) : complete({ ...rule, verbs: ["get"] }))
    )
    return Effect.gen(function* () {
      const permissions = [...inEach({ verb: "get" }), ...inEach({ verb: "patch" }), node]
      expect(yield* Preflight.review(permissions)).toEqual({ missing: [permission(), node], unanswered: [] })
      const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
      expect(askedRules).toEqual(["a", "b", "*"].map((namespace) => ["POST", path, { namespace }]))
      expect(asked).toEqual([])
    }).pipe(Effect.provide(client))
  })

  effect("are unknown: the review asks for the only permission of this namespace", () => {
    const { asked, client } = reviewer(
      () => false,
      () => 403
    )
    return Effect.gen(function* () {
      const permissions = [permission({ namespace: "a" })]
      expect(yield* Preflight.review(permissions)).toEqual({ missing: permissions, unanswered: [] })
      expect(asked).toHaveLength(1)
    }).pipe(Effect.provide(client))
  })

  effect("are incomplete or forbidden: the review asks for each permission of this namespace", () => {
    const { asked, client } = reviewer(
      ({ verb }) => verb === "get",
      (namespace) =>
        namespace === "a" ? { ...complete(rule), incomplete: true } : namespace === "b" ? 403 : complete(rule)
    )
    return Effect.gen(function* () {
      const permissions = ["a", "b", "c"].map((namespace) => permission({ namespace }))
      expect(yield* Preflight.review(permissions)).toEqual({ missing: permissions.slice(0, 2), unanswered: [] })
      const places = asked.map((question) => Object(question)[2].namespace)
      expect(places).toEqual([undefined, "a", "b"])
    }).pipe(Effect.provide(client))
  })
})

describe("Preflight.review", () => {
  effect("asks for each permission, and returns those that are not granted", () => {
    const permissions = [
      permission(),
      permission({ subresource: "status", namespace: undefined }),
      permission({ verb: "get", name: "one" })
    ]
    const { asked, client } = reviewer(({ verb }) => verb !== "get")
    return Effect.gen(function* () {
      expect(yield* Preflight.review(permissions)).toEqual({ missing: permissions.slice(2), unanswered: [] })
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
      const resource = { group: "apps", resource: "deployments" }
      expect(asked).toEqual([
        ["POST", path, { ...resource, verb: "patch", namespace: "a" }],
        ["POST", path, { ...resource, verb: "patch", subresource: "status" }],
        ["POST", path, { ...resource, verb: "get", namespace: "a", name: "one" }]
      ])
    }).pipe(Effect.provide(client))
  })

  effect("asks cluster-wide first, and for each namespace only if that is denied", () => {
    const inEach = (change: Partial<Permission>) =>
      ["a", "b", "c"].map((namespace) => permission({ namespace, ...change }))
    const lease = permission({ group: "coordination.k8s.io", resource: "leases", namespace: "home" })
    const { asked, client } = reviewer(({ namespace, verb }) => verb === "get" || namespace === "b")
    return Effect.gen(function* () {
      const { missing } = yield* Preflight.review([...inEach({ verb: "get" }), ...inEach({ verb: "list" }), lease])
      expect(missing).toEqual([permission({ verb: "list" }), permission({ verb: "list", namespace: "c" }), lease])
      const places = asked.map((question) => {
        const { namespace = "everywhere", verb } = Object(question)[2]
        return `${verb} ${namespace}`
      })
      expect(places.sort()).toEqual(["get everywhere", "list a", "list b", "list c", "list everywhere", "patch home"])
    }).pipe(Effect.provide(client))
  })

  effect("keeps the other answers if one request fails", () => {
    const { client } = reviewer(({ verb }) => (verb === "get" ? 422 : false))
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const permissions = [permission({ verb: "get" }), permission(), permission({ verb: "list" })]
      const { missing, unanswered } = yield* Preflight.review(permissions)
      expect(missing).toEqual(permissions.slice(1))
      expect(unanswered.map(({ _tag }) => _tag)).toEqual(["Invalid"])
      yield* Preflight.warn(permissions, () => undefined)
      expect(lines).toHaveLength(2)
    }).pipe(Effect.provide(Layer.merge(client, capture(lines))))
  })

  effect("does not repeat requests with rejected credentials", () => {
    const { asked, client } = reviewer(
      () => 401,
      () => 401
    )
    return Effect.gen(function* () {
      const permissions = Array.from({ length: 50 }, (_, at) => permission({ name: `${at}` }))
      const { unanswered } = yield* Preflight.review(permissions)
      expect(unanswered).toHaveLength(50)
      expect(asked).toEqual([])
    }).pipe(Effect.provide(client))
  })

  effect("is logged by Preflight.warn for each missing permission", () => {
    const { client } = reviewer(({ verb }) => verb !== "get")
    const lines: Array<string> = []
    return Effect.gen(function* () {
      yield* Preflight.warn([permission(), permission({ verb: "get" })], (missing) => `${missing.length} to add`)
      expect(lines).toEqual([`WARN ${Preflight.describe(permission({ verb: "get" }))}`, "WARN 1 to add"])
    }).pipe(Effect.provide(Layer.merge(client, capture(lines))))
  })

  effect("causes no warning if the API server does not answer it", () => {
    const { client } = reviewer(() => 403)
    const lines: Array<string> = []
    return Effect.gen(function* () {
      yield* Preflight.warn([permission()], () => undefined)
      expect(lines).toEqual([])
    }).pipe(Effect.provide(Layer.merge(client, capture(lines))))
  })
})
