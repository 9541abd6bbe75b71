import { describe, expect, test } from "bun:test"
import { Effect, Result, Schema } from "effect"
import { Deployment } from "./BuiltIn.ts"
import * as Condition from "./Condition.ts"
import * as CustomResource from "./CustomResource.ts"
import * as Field from "./Field.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import type { KubernetesObject } from "./KubernetesObject.ts"
import type { Any, InvalidObject } from "./Resource.ts"

class Port extends Schema.Class<Port>("Port")({
  port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 })),
  name: Schema.optional(Schema.String)
}) {
  get privileged(): boolean {
    return this.port < 1024
  }
}

const WebApp = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "WebApp",
  spec: Schema.Struct({
    image: Schema.NonEmptyString,
    replicas: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })).pipe(
      Schema.withDecodingDefaultType(Effect.succeed(2))
    ),
    memory: Schema.optionalKey(Field.Quantity),
    ports: Schema.Array(Port).pipe(Schema.withDecodingDefaultType(Effect.succeed([])))
  }),
  status: Schema.Struct({
    count: Schema.Int.pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(0))),
    conditions: Schema.optionalKey(Condition.list)
  })
})
type WebApp = typeof WebApp.Type
type Desired = Parameters<typeof WebApp.Desired>[0]

const wire = (spec: unknown, more: object = {}): KubernetesObject => ({
  apiVersion: "example.com/v1",
  kind: "WebApp",
  metadata: {
    name: "shop",
    namespace: "team",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2026-11-20T09:00:00Z"
  },
  ...(spec === undefined ? {} : { spec }),
  ...more
})

describe("The decoder of a custom resource", () => {
  test("decodes the spec, and keeps all other fields", () => {
    const object = wire({ image: "nginx", memory: 2, ports: [{ port: 80 }] }, { status: { odd: true } })
    const app = Result.getOrThrow(WebApp.decode(object))
    expect(app.spec.replicas).toBe(2)
    expect(app.spec.memory).toBe("2")
    expect(app.spec.ports[0]?.privileged).toBe(true)
    expect(app).toMatchObject({ apiVersion: "example.com/v1", kind: "WebApp", status: { odd: true } })
    expect(app.metadata).toBe(object.metadata)
  })

  test("decodes the same object once", () => {
    const object = wire({ image: "nginx" })
    expect(WebApp.decode(object)).toBe(WebApp.decode(object))
    expect(WebApp.decode(wire({ image: "nginx" }))).not.toBe(WebApp.decode(object))
    const invalid = wire({})
    expect(WebApp.decode(invalid)).toBe(WebApp.decode(invalid))
  })

  test("keeps the fields of other versions", () => {
    const app = Result.getOrThrow(WebApp.decode(wire({ image: "nginx", colour: "red" })))
    expect(app.spec).toMatchObject({ image: "nginx", colour: "red" })
  })

  test("keeps the fields of other versions at every depth", () => {
    const part = Schema.Struct({ a: Schema.Int })
    const { decode } = CustomResource.make({
      group: "example.com",
      version: "v1",
      kind: "Nest",
      spec: Schema.Struct({
        optional: Schema.optional(part),
        defaulted: part.pipe(Schema.withDecodingDefaultType(Effect.succeed({ a: 1 }))),
        nullable: Schema.NullOr(part),
        list: Schema.NonEmptyArray(Port),
        record: Schema.Record(Schema.String, part),
        later: Schema.suspend(() => part),
        empty: Schema.Struct({}),
        renamed: Schema.Struct({ inside: Schema.Int }).pipe(Schema.encodeKeys({ inside: "outside" }))
      })
    })
    const more = { a: 1, more: true }
    const same = { optional: more, defaulted: more, nullable: more, record: { k: more }, later: more, empty: more }
    const object = wire({ ...same, list: [{ port: 80, more: true }], renamed: { outside: 1, more: true } })
    const { list, ...spec } = Result.getOrThrow(decode(object)).spec
    expect<object>(spec).toEqual({ ...same, renamed: { inside: 1, more: true } })
    expect(list[0]).toBeInstanceOf(Port)
    expect(list[0]).toMatchObject({ port: 80, more: true })
  })

  test("reports each invalid field with its path", () => {
    const spec = { image: "", replicas: 51, memory: "much", ports: [{ port: 80 }, { port: "http" }, {}] }
    const error = Result.getOrThrow(Result.flip(WebApp.decode(wire(spec)))) satisfies InvalidObject
    expect(error.issues.map(({ field }) => field)).toEqual([
      "spec.image",
      "spec.replicas",
      "spec.memory",
      "spec.ports[1].port",
      "spec.ports[2].port"
    ])
    expect(error.issues[1]?.message).toBe("Expected a number between 1 and 50, actual 51")
    expect(error.issues[4]?.message).toBe("is missing")
    expect(error.kind).toBe("WebApp")
    expect(error.key).toBe("team/shop")
  })

  test.each([9007199254740992, -9007199254740992, 9007199254740993n])(
    "refuses the integer %p in a field that no schema declares, because it may be rounded",
    (size) => {
      const Free = CustomResource.make({
        group: "example.com",
        version: "v1",
        kind: "Free",
        spec: Schema.Struct({ values: Schema.optionalKey(Schema.Struct({}).pipe(Field.preserveUnknown)) })
      })
      const decode = (values: object) => Free.decode({ metadata: { name: "a" }, spec: { values } } as never)
      expect(Result.isSuccess(decode({ list: [{ size: 9007199254740991, part: 0.5 }] }))).toBe(true)
      const result = decode({ list: [{}, { size }] })
      expect(Result.isFailure(result) ? result.failure.issues : []).toEqual([
        {
          field: "spec.values.list[1].size",
          message: "an integer beyond 9007199254740991 cannot be copied exactly (write a smaller one)"
        }
      ])
    }
  )

  test("reports only some of thousands of long invalid values", () => {
    const ports = Array.from({ length: 5000 }, () => ({ port: "x".repeat(1000) }))
    const error = Result.getOrThrow(
      Result.flip(WebApp.decode(wire({ image: "y".repeat(100_000), replicas: [], ports })))
    )
    expect(error.issues.length).toBeWithin(15, 21)
    // A condition can have 32,768 characters.
    expect(error.message.length).toBeLessThan(15_000)
    expect(error.message).toContain("spec.ports[5].port")
  })

  test("reports a missing spec in one line", () => {
    const error = Result.getOrThrow(Result.flip(WebApp.decode(wire(undefined))))
    expect(error.message).toBe("WebApp team/shop does not match its schema: spec: is missing")
  })
})

describe("CustomResource.make", () => {
  const plain = {
    group: "example.com",
    version: "v1",
    kind: "Thing",
    spec: Schema.Struct({ a: Schema.optional(Schema.Int) })
  }

  test("derives the names from the kind", () => {
    const names = (kind: string) => {
      const resource = CustomResource.make({ ...plain, kind })
      return [resource.plural, resource.definition.singular, resource.definition.listKind]
    }
    expect(names("WebApp")).toEqual(["webapps", "webapp", "WebAppList"])
    expect(names("Policy")).toEqual(["policies", "policy", "PolicyList"])
    expect(names("Gateway")).toEqual(["gateways", "gateway", "GatewayList"])
    expect(names("Ingress")).toEqual(["ingresses", "ingress", "IngressList"])
    expect(names("Switch")).toEqual(["switches", "switch", "SwitchList"])
  })

  test("is namespaced by default", () => {
    expect(CustomResource.make(plain).namespaced).toBe(true)
    expect(CustomResource.make({ ...plain, scope: "Cluster" }).namespaced).toBe(false)
  })

  test("is recognized by isCustomResource", () => {
    expect([WebApp, Deployment].filter((resource: Any) => CustomResource.isCustomResource(resource))).toEqual([WebApp])
  })

  const status = Schema.Struct({ text: Schema.optional(Schema.String), count: Schema.optional(Schema.Int) })
  const refused: ReadonlyArray<readonly [string, object, string]> = [
    [
      "a group without a domain",
      { group: "example" },
      'Thing group: "example" is not a valid name. Use a domain, such as example.com'
    ],
    [
      "a kind in lower case",
      { kind: "thing" },
      'thing kind: "thing" is not a valid name. Use CamelCase beginning with a capital'
    ],
    [
      "a version with a dot",
      { version: "v1.2" },
      'Thing version: "v1.2" is not a valid name. Use v1, v1beta1 or the like'
    ],
    [
      "a plural in capitals",
      { plural: "Things" },
      'Thing plural: "Things" is not a valid name. Use lower-case letters, digits and dashes'
    ],
    ["a spec that is not an object", { spec: Schema.String }, "Thing spec: is not an object. Make it a Schema.Struct"],
    [
      "a status that is not an object",
      { status: Schema.Int },
      "Thing status: is not an object. Make it a Schema.Struct"
    ],
    [
      "a schema that a CRD cannot hold",
      { spec: Schema.Struct({ when: Schema.DateFromString }) },
      'Thing spec.when: its stored form differs from its decoded one, (string <-> Date). Annotate the outermost schema with the stored form, { jsonSchema: { type: "string", … } }'
    ],
    [
      "a column with an unknown path",
      { columns: [{ name: "A", path: ".spec.b" }] },
      "Thing columns.A: .spec.b not found: the schema has no field b. Write the path as it is in the object, such as .spec.image"
    ],
    [
      "a column of a struct without a type",
      { columns: [{ name: "A", path: ".spec" }] },
      "Thing columns.A: .spec is not a single value. Say how to show it by type, or lead the path further"
    ],
    [
      "a scale without a status",
      { scale: { spec: ".spec.a", status: ".status.count" } },
      "Thing scale.status: .status.count not found: the schema has no field status. Write the path as it is in the object, such as .spec.image"
    ],
    [
      "a scale with a text field",
      { status, scale: { spec: ".spec.a", status: ".status.text" } },
      "Thing scale.status: .status.text is not an integer under .status. Lead the path there"
    ],
    [
      "a scale with a status field as its spec",
      { status, scale: { spec: ".status.count", status: ".status.count" } },
      "Thing scale.spec: .status.count is not an integer under .spec. Lead the path there"
    ]
  ]
  for (const [name, change, message] of refused) {
    test(`rejects ${name}`, () => {
      // Names are checked at once; the rest is compiled at its first use.
      const made = Result.try({ try: () => CustomResource.make({ ...plain, ...change }), catch: (error) => error })
      const refusal = Result.flatMap(made, (kind) => Effect.runSync(Effect.result(CustomResource.check(kind))))
      expect(Result.isFailure(refusal) && refusal.failure).toBeInstanceOf(InvalidDefinition)
      expect(Result.isFailure(refusal) && refusal.failure).toHaveProperty("message", message)
    })
  }

  test("has the columns of the condition Ready if its status has conditions", () => {
    const named = (
      status: Schema.Codec<object> | undefined,
      ...columns: ReadonlyArray<CustomResource.Column>
    ): ReadonlyArray<string> =>
      CustomResource.make({ ...plain, status, columns }).definition.columns.map(({ name }) => name)
    const conditions = Schema.Struct({ conditions: Schema.optionalKey(Condition.list) })
    const age = { name: "Born", path: ".metadata.creationTimestamp" }
    expect(named(conditions)).toEqual(["Ready", "Reason", "Since", "Paused", "Age"])
    expect(named(conditions, { name: "Name", path: ".metadata.name", type: "string" }, age)).toEqual([
      "Ready",
      "Reason",
      "Since",
      "Paused",
      "Name",
      "Born"
    ])
    // A column of the author replaces the one of the same name.
    const own = { name: "Ready", path: ".metadata.name", type: "string" } as const
    expect(named(conditions, own)).toEqual(["Reason", "Since", "Paused", "Ready", "Age"])
    expect(named(undefined)).toEqual([])
    expect(named(Schema.Struct({ conditions: Schema.optionalKey(Schema.Array(Schema.String)) }))).toEqual([])
  })

  test("finds the type of a column by its path", () => {
    const { definition } = CustomResource.make({
      ...plain,
      spec: Schema.Struct({
        text: Schema.String,
        whole: Schema.Int,
        number: Schema.Number,
        flag: Schema.Boolean,
        either: Field.IntOrString,
        time: Field.Time,
        map: Schema.Record(Schema.String, Schema.Int)
      }),
      status: Schema.Struct({ conditions: Schema.optional(Condition.list) }),
      columns: [
        { name: "text", path: ".spec.text" },
        { name: "whole", path: ".spec.whole" },
        { name: "number", path: ".spec.number" },
        { name: "flag", path: ".spec.flag" },
        { name: "either", path: ".spec.either" },
        { name: "time", path: ".spec.time" },
        { name: "map", path: ".spec.map.a" },
        { name: "ready", path: '.status.conditions[?(@.type=="Ready")].status' },
        { name: "age", path: ".metadata.creationTimestamp" },
        { name: "own", path: ".spec.map", type: "string" }
      ]
    })
    expect(definition.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      "Ready string",
      "Reason string",
      "Since date",
      "Paused string",
      "text string",
      "whole integer",
      "number number",
      "flag boolean",
      "either string",
      "time date",
      "map integer",
      "ready string",
      "age date",
      "own string"
    ])
  })
})

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_ extends true>(): void => undefined

test("has a type with the decoded spec for reads, and one with the encoded spec for writes", () => {
  holds<Same<WebApp["spec"]["replicas"], number>>()
  holds<Same<WebApp["spec"]["memory"], string | undefined>>()
  holds<Same<WebApp["spec"]["ports"], ReadonlyArray<Port>>>()
  holds<Same<NonNullable<WebApp["status"]>["count"], number | undefined>>()
  holds<Same<NonNullable<WebApp["status"]>["conditions"], ReadonlyArray<Condition.Condition> | undefined>>()
  holds<Same<Desired["spec"]["replicas"], number | undefined>>()
  holds<Same<Desired["spec"]["memory"], string | number | undefined>>()
  const Plain = CustomResource.make({ group: "example.com", version: "v1", kind: "Plain", spec: Schema.Struct({}) })
  holds<Same<(typeof Plain.Type)["status"], undefined>>()
})

/** Only the compiler checks this function; the tests never call it. */
export const compiles = (app: WebApp): Desired => {
  // @ts-expect-error all readers of the cache share its objects
  app.spec.replicas = 3
  // @ts-expect-error the field does not exist
  app.spec.colour
  // @ts-expect-error an image is required
  const _: Desired = { metadata: { name: "a" }, spec: {} }
  const coordinates = { group: "example.com", version: "v1", kind: "Plain" }
  // @ts-expect-error a schema that needs a service cannot be decoded in a cache
  CustomResource.make({ ...coordinates, spec: Schema.Struct({ a: {} as Schema.Codec<string, string, "service"> }) })
  return { metadata: { name: "a" }, spec: { image: "nginx" } }
}
