import { describe, expect, test } from "bun:test"
import * as Narrowing from "./Narrowing.ts"
import type { StructuralSchema } from "./StructuralSchema.ts"

const string = { type: "string" } as const
const integer = { type: "integer" } as const
/** Not `open`, because the server prunes such values. The type of our schemas does not have this form. */
const anything: object = { additionalProperties: true }
const open = { "x-kubernetes-preserve-unknown-fields": true } as const

const definition = (
  schema: object | undefined,
  { subresources = {}, ...more }: Partial<Narrowing.Version> = {}
): Narrowing.Definition & { readonly spec: { readonly versions: ReadonlyArray<Narrowing.Version> } } => ({
  spec: {
    scope: "Namespaced",
    names: { kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources, ...more }]
  }
})

const described = (from: Narrowing.Definition, to: Narrowing.Definition) =>
  Narrowing.of(from, to).map(Narrowing.describe)

const object = (properties: { readonly [name: string]: StructuralSchema }, more: StructuralSchema = {}) => ({
  type: "object" as const,
  properties,
  ...more
})

const keys = (...names: ReadonlyArray<string>) =>
  ({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": names }) as const

const ofField = (x: StructuralSchema) => definition(object({ spec: object({ x }) }))

const ofSpec = (spec: object) => definition({ type: "object", properties: { spec } })

type Case = readonly [what: string, from: StructuralSchema, to: StructuralSchema, says: string]

const cases: ReadonlyArray<Case> = [
  ["another type", string, integer, "was string and is integer: other values would be refused"],
  ["a type that takes less", { type: "number" }, integer, "was number and is integer: other values would be refused"],
  [
    "one of two types",
    { "x-kubernetes-int-or-string": true },
    string,
    "was integer or string and is string: other values would be refused"
  ],
  [
    "a type for anything",
    open,
    { type: "object", ...open },
    "was anything and is object: other values would be refused"
  ],
  [
    "null",
    { ...string, nullable: true },
    string,
    "may no longer be null: it would be refused, or its default stand there"
  ],
  [
    "a value of an enum",
    { ...string, enum: ["a", "b", "c"] },
    { ...string, enum: ["b", "d"] },
    'no longer takes "a", "c"'
  ],
  ["all values but some", string, { ...string, enum: ["a"] }, 'takes nothing but "a" now'],
  ["a minimum", integer, { ...integer, minimum: 1 }, "must be at least 1 now, where nothing was asked for"],
  ["a higher minimum", { ...integer, minimum: 1 }, { ...integer, minimum: 2 }, "must be at least 2 now, where 1 was"],
  [
    "the minimum itself",
    { ...integer, minimum: 1 },
    { ...integer, minimum: 1, exclusiveMinimum: true },
    "must be more than 1 now, where 1 was"
  ],
  ["a lower maximum", { ...integer, maximum: 9 }, { ...integer, maximum: 8 }, "must be at most 8 now, where 9 was"],
  [
    "a bound of numbers",
    { type: "number", minimum: 4, exclusiveMinimum: true },
    { type: "number", minimum: 5 },
    "must be at least 5 now, where 4 was"
  ],
  [
    "a bound of whole numbers",
    { ...integer, maximum: 5, exclusiveMaximum: true },
    { ...integer, maximum: 4, exclusiveMaximum: true },
    "must be less than 4 now, where 5 was"
  ],
  [
    "a fraction",
    { type: "number", multipleOf: 0.3 },
    { type: "number", multipleOf: 0.2 },
    "must be a multiple of 0.2 now"
  ],
  ["a step", { ...integer, multipleOf: 3 }, { ...integer, multipleOf: 2 }, "must be a multiple of 2 now"],
  ["a length", string, { ...string, minLength: 1 }, "must have at least 1 characters now, where 0 were enough"],
  [
    "a greatest length",
    string,
    { ...string, maxLength: 5 },
    "may have at most 5 characters now, where any number were allowed"
  ],
  [
    "fewer items",
    { type: "array", items: string, maxItems: 5 },
    { type: "array", items: string, maxItems: 4 },
    "may have at most 4 items now, where 5 were allowed"
  ],
  [
    "more properties",
    object({}),
    object({}, { minProperties: 1 }),
    "must have at least 1 properties now, where 0 were enough"
  ],
  ["a pattern", string, { ...string, pattern: "^a" }, 'must match "^a" now, where nothing was asked for'],
  [
    "another pattern",
    { ...string, pattern: "a" },
    { ...string, pattern: "^a" },
    'must match "^a" now, where "a" was asked for'
  ],
  [
    "a format",
    string,
    { ...string, format: "date-time" },
    "must have the format date-time now, where none was asked for"
  ],
  [
    "fewer bits",
    { ...integer, format: "int64" },
    { ...integer, format: "int32" },
    "must have the format int32 now, where int64 was asked for"
  ],
  [
    "a rule",
    string,
    { ...string, "x-kubernetes-validations": [{ rule: "self != ''" }] },
    "has a rule that was not there, or not so: self != ''"
  ],
  [
    "a rule for updates that is for creation too",
    { ...string, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
    { ...string, "x-kubernetes-validations": [{ rule: "self == oldSelf", optionalOldSelf: true }] },
    "has a rule that was not there, or not so: self == oldSelf"
  ],
  ...(
    [
      ["of a required field, but negated", "!has(self.x) && self.y || b", "self.y || b"],
      ["of a required field, but compared", "a == has(self.x) && b", "a == b"],
      ["of a field that is not required", "has(self.y) && b", "b"],
      ["of an optional field that stays", "has(self.y) == has(oldSelf.y)", "b"]
    ] as const
  ).map(
    ([what, after, before]): Case => [
      `a rule with a test ${what}`,
      object({ x: string, y: string }, { required: ["x"], "x-kubernetes-validations": [{ rule: before }] }),
      object({ x: string, y: string }, { required: ["x"], "x-kubernetes-validations": [{ rule: after }] }),
      `has a rule that was not there, or not so: ${after}`
    ]
  ),
  ...(
    [
      ["that the objects may have", { x: string, z: string }, {}, "has(self.z) ? !has(self.x) : (b)"],
      ["with a default", { x: string }, { z: { ...string, default: "" } }, "has(self.z) ? !has(self.x) : (b)"],
      ["and another rule for the others", { x: string }, { z: string }, "has(self.z) ? !has(self.x) : (a)"],
      ["and two tests", { x: string }, { z: string }, "has(self.z) ? a : has(self.x) ? a : (b)"]
    ] as const
  ).map(
    ([what, before, added, after]): Case => [
      `a rule for a field ${what}`,
      object(before, { "x-kubernetes-validations": [{ rule: "b" }] }),
      object({ ...before, ...added }, { "x-kubernetes-validations": [{ rule: after }] }),
      `has a rule that was not there, or not so: ${after}`
    ]
  ),
  [
    "one more condition",
    { ...string, allOf: [{ pattern: "a" }] },
    { ...string, allOf: [{ pattern: "a" }, { pattern: "b" }] },
    "has conditions (allOf) that were not there, or not so"
  ],
  [
    "another condition",
    string,
    { ...string, not: { enum: ["no"] } },
    "has conditions (not) that were not there, or not so"
  ],
  [
    "repetitions",
    { type: "array", items: string },
    { type: "array", items: string, "x-kubernetes-list-type": "set" },
    "is a list of type set, where it was atomic: one with repetitions would be refused"
  ],
  [
    "a key of a list",
    {
      type: "array",
      items: string,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"]
    },
    { type: "array", items: string, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"] },
    "is a map by port, where it was one by port, protocol: others repeat themselves"
  ],
  [
    "unknown fields",
    { type: "object", ...open },
    object({}),
    "no longer keeps fields that it does not name: they would be pruned"
  ],
  [
    "all that it kept in a map, now that values are numbers",
    { type: "object", ...open },
    { type: "object", ...open, additionalProperties: integer },
    ".* was kept whatever it was, and is checked and pruned now"
  ],
  [
    "the content of values that may be anything now",
    { type: "object", ...open },
    { type: "object", ...anything },
    ".* was kept whatever it was, and is checked and pruned now"
  ],
  [
    "an object that is no longer an embedded resource",
    { type: "object", "x-kubernetes-embedded-resource": true, ...open },
    { type: "object", "x-kubernetes-embedded-resource": true },
    "no longer keeps fields that it does not name: they would be pruned"
  ],
  [
    "an object that has to be a whole one",
    { type: "object", ...open },
    { type: "object", "x-kubernetes-embedded-resource": true, ...open },
    "must be a whole object now, with apiVersion and kind"
  ]
]

describe("Narrowing.of reports the removal of", () => {
  test.each(cases)("%s", (_, from, to, says) => {
    expect(described(ofField(from), ofField(to))).toEqual([`v1 spec.x${says.startsWith(".") ? "" : " "}${says}`])
  })

  const fields: ReadonlyArray<readonly [what: string, from: object, to: object, says: ReadonlyArray<string>]> = [
    ["a field", object({ x: string }), object({}), ["spec.x is gone: what it holds would be pruned"]],
    [
      "a nested field",
      object({ list: { type: "array", items: object({ a: object({ b: string }) }) } }),
      object({ list: { type: "array", items: object({ a: object({}) }) } }),
      ["spec.list[].a.b is gone: what it holds would be pruned"]
    ],
    [
      "the option to omit a field",
      object({ x: string }),
      object({ x: string }, { required: ["x"] }),
      ["spec.x is required now, and was not"]
    ],
    [
      "the default of a required field",
      object({ x: { ...string, default: "a" } }, { required: ["x"] }),
      object({ x: string }, { required: ["x"] }),
      ["spec.x is required, and no longer has a default"]
    ],
    [
      "values of a map",
      { type: "object", additionalProperties: object({ a: string }) },
      { type: "object", additionalProperties: object({}) },
      ["spec.*.a is gone: what it holds would be pruned"]
    ],
    [
      "names of a map",
      { type: "object", additionalProperties: string },
      object({ x: integer }),
      [
        "spec.x was string and is integer: other values would be refused",
        "spec.* is gone: entries of other names would be pruned"
      ]
    ],
    [
      "fields of map values and list items that may be anything now",
      {
        type: "object",
        additionalProperties: object({ a: string, b: { type: "array", items: object({ c: string }) } })
      },
      { type: "object", ...anything },
      ["spec.*.a is gone: what it holds would be pruned", "spec.*.b is gone: what it holds would be pruned"]
    ],
    [
      "fields of list items in a map whose values may be anything now",
      { type: "object", additionalProperties: { type: "array", items: object({ c: string }) } },
      { type: "object", ...anything },
      ["spec.*[].c is gone: what it holds would be pruned"]
    ],
    [
      "the room for a defaulted property",
      object({ x: string, y: string }, { maxProperties: 1 }),
      object({ x: string, y: { ...string, default: "a" } }, { maxProperties: 1 }),
      ["spec.y is filled in now, which the conditions around it may not take"]
    ],
    ...(["anyOf", "oneOf", "allOf"] as const).map(
      (key) =>
        [
          `what ${key} asks for, of what is filled in deep down`,
          object({ x: object({ y: string }) }, { [key]: [{ required: ["x"] }] }),
          object({ x: object({ y: { ...string, default: "a" } }) }, { [key]: [{ required: ["x"] }] }),
          ["spec.x.y is filled in now, which the conditions around it may not take"]
        ] as const
    ),
    [
      "a value that a changed default may violate",
      object({ x: { ...string, default: "a" } }, { not: { required: ["y"] } }),
      object({ x: { ...string, default: "b" } }, { not: { required: ["y"] } }),
      ["spec.x is filled in with something else now, which the conditions around it may not take"]
    ],
    [
      "unknown content of a field without a schema",
      { type: "object", ...open },
      object({ x: string }, open),
      ["spec.x was kept whatever it was, and is checked and pruned now"]
    ]
  ]

  test.each(fields)("%s", (_, from, to, says) => {
    expect(described(ofSpec(from), ofSpec(to))).toEqual(says.map((one) => `v1 ${one}`))
  })

  test("names that objects may have", () => {
    const named = definition(object({ metadata: object({ name: { ...string, maxLength: 5 } }), spec: object({}) }))
    expect(described(ofSpec(object({})), named)).toEqual([
      "v1 metadata.name may have at most 5 characters now, where any number were allowed"
    ])
    expect(described(named, ofSpec(object({})))).toEqual([])
  })

  test("a served or stored version", () => {
    const [first] = definition(object({})).spec.versions
    const { spec } = definition(object({}), { name: "v2" })
    const only = { spec }
    expect(described(definition(object({})), only)).toContain(
      "v1 version is gone: objects that are stored in it could not be read"
    )
    const served = {
      spec: { ...spec, versions: [...spec.versions, ...(first === undefined ? [] : [{ ...first, storage: false }])] }
    }
    expect(described(served, only)).toEqual(["v1 version is gone: it would be no longer served"])
    const stored = { ...served, status: { storedVersions: ["v1", "v2"] } }
    expect(described(stored, only)).toEqual(["v1 version is gone: objects that are stored in it could not be read"])
    expect(described(definition(object({})), definition(object({}), { served: false }))).toEqual([
      "v1 version would be no longer served"
    ])
  })

  test("fields that a new storage version does not have", () => {
    const v1 = ofSpec(object({ x: string })).spec.versions
    const v2 = definition(object({ spec: object({}) }), { name: "v2" }).spec.versions
    const { spec } = ofSpec(object({ x: string }))
    const to = { spec: { ...spec, versions: [...v1.map((version) => ({ ...version, storage: false })), ...v2] } }
    expect(described({ spec }, to)).toEqual(["v1 → v2 spec.x is gone: what it holds would be pruned"])
  })

  test("selectable fields", () => {
    const selectable = (...paths: ReadonlyArray<string>) =>
      definition(object({}), { selectableFields: paths.map((jsonPath) => ({ jsonPath })) })
    expect(described(selectable(".spec.a", ".spec.b", ".spec.c"), selectable(".spec.b", ".spec.d"))).toEqual([
      "v1 selectable field .spec.a is gone: kubectl get --field-selector would be refused",
      "v1 selectable field .spec.c is gone: kubectl get --field-selector would be refused"
    ])
    expect(described(definition(object({})), selectable(".spec.a"))).toEqual([])
  })

  test("a status that was written with the object", () => {
    const apart = { subresources: { status: {} } }
    const properties = { status: object({}) }
    for (const schema of [object(properties), object({}, open), undefined]) {
      expect(described(definition(schema), definition(schema, apart))).toEqual([
        "v1 subresource status is new: a status that is written with the object would be dropped"
      ])
    }
    expect(described(definition(object({})), definition(object(properties), apart))).toEqual([])
  })

  test("subresources, the scope and the kind", () => {
    const from = definition(object({}), {
      subresources: { status: {}, scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.a" } }
    })
    const other = definition(object({}), {
      subresources: { status: {}, scale: { specReplicasPath: ".spec.b", statusReplicasPath: ".status.a" } }
    })
    expect(described(from, definition(object({})))).toEqual([
      "v1 subresource status is removed: the API server would refuse writes of the status",
      "v1 subresource scale is gone: kubectl scale and autoscalers would be refused"
    ])
    expect(described(from, other)).toEqual([
      "v1 subresource scale has other paths: autoscalers would read and write other fields"
    ])
    const { spec } = from
    expect(described(from, { spec: { ...spec, scope: "Cluster", names: { kind: "Gadget" } } })).toEqual([
      "scope was Namespaced and is Cluster: existing objects do not match it",
      "names.kind was Widget and is Gadget: existing objects do not match it"
    ])
    const refused = Narrowing.of(from, { spec: { ...spec, scope: "Cluster", names: { kind: "Gadget" } } })
    expect(refused.map(({ isRefused }) => isRefused)).toEqual([true, true])
    const [stored] = Narrowing.of(from, {
      spec: { ...spec, versions: spec.versions.map((each) => ({ ...each, name: "v2" })) }
    })
    expect(stored).toMatchObject({ field: "version", isRefused: true })
  })
})

describe("Narrowing.of accepts a definition that", () => {
  const wider: ReadonlyArray<readonly [what: string, from: object, to: object]> = [
    ["has an additional field", object({}), object({ x: string })],
    [
      "requires a field with a default",
      object({ x: string }),
      object({ x: { ...string, default: "a" } }, { required: ["x"] })
    ],
    ["has another default", object({ x: { ...string, default: "a" } }), object({ x: { ...string, default: "b" } })],
    ["has another description", object({ x: string }), object({ x: { ...string, description: "An x." } })],
    ["also allows fractions", object({ x: integer }), object({ x: { type: "number" } })],
    ["also allows strings", object({ x: integer }), object({ x: { "x-kubernetes-int-or-string": true } })],
    [
      "requires less",
      object({ x: { ...string, minLength: 2, maxLength: 5, pattern: "a", enum: ["aa"] } }),
      object({ x: { ...string, minLength: 1, maxLength: 6 } })
    ],
    [
      "has a format that the bounds already imply",
      object({ x: { ...integer, minimum: 1, maximum: 9 } }),
      object({ x: { ...integer, minimum: 1, maximum: 9, format: "int32" } })
    ],
    [
      "adds defaults for required fields and for fields without conditions",
      object({ x: string, y: object({ z: string }, { required: ["z"], maxProperties: 1 }) }),
      object({
        x: { ...string, default: "a" },
        y: object({ z: { ...string, default: "a" } }, { required: ["z"], maxProperties: 1 })
      })
    ],
    [
      "writes an integer bound in another form",
      object({ x: { ...integer, minimum: 4, exclusiveMinimum: true, maximum: 8 } }),
      object({ x: { ...integer, minimum: 5, maximum: 9, exclusiveMaximum: true } })
    ],
    [
      "adds a multipleOf that all values satisfy",
      object({ x: { type: "number", multipleOf: 0.3 }, y: integer }),
      object({ x: { type: "number", multipleOf: 0.1 }, y: { ...integer, multipleOf: 1 } })
    ],
    [
      "has an additional list map key",
      { type: "array", items: object({ a: string, b: string }, { required: ["a", "b"] }), ...keys("a") },
      { type: "array", items: object({ a: string, b: string }, { required: ["a", "b"] }), ...keys("a", "b") }
    ],
    ["keeps the same content of a map", { type: "object", ...anything }, { type: "object", ...anything, ...open }],
    ["preserves fields that it no longer declares", object({ x: string }), { type: "object", ...open }],
    ["also allows other names", object({ x: string }), { type: "object", additionalProperties: string }],
    [
      "has one rule less",
      { type: "object", "x-kubernetes-validations": [{ rule: "a" }, { rule: "b" }] },
      { type: "object", "x-kubernetes-validations": [{ rule: "b", message: "other words" }] }
    ],
    [
      "has rules for a field that was required",
      object(
        { x: string },
        { required: ["x"], "x-kubernetes-validations": [{ rule: "!a || self.x.b() || (self.x)" }] }
      ),
      object(
        { x: string },
        {
          "x-kubernetes-validations": [
            { rule: "!a || has(self.x) && self.x.b() || (has(self.x) && self.x)" },
            { rule: "has(self.x) == has(oldSelf.x)" }
          ]
        }
      )
    ]
  ]

  test.each(wider)("%s", (_, from, to) => {
    expect(described(ofSpec(from), ofSpec(to))).toEqual([])
  })

  test("has another rule only for objects with a new field", () => {
    const rules = (rule: string) => ({ "x-kubernetes-validations": [{ rule }] })
    const from = object({ x: string }, rules("has(self.x)"))
    const to = object({ x: string, z: string }, rules("has(self.z) ? !has(self.x) : (has(self.x))"))
    expect(described(ofSpec(from), ofSpec(to))).toEqual([])
    expect(described(ofSpec(to), ofSpec(from))).not.toEqual([])
  })

  test("is identical, or has no schema at all", () => {
    const from = ofSpec(object({ x: string }, { required: ["x"] }))
    expect(Narrowing.of(from, from)).toEqual([])
    expect(Narrowing.of(definition(undefined), definition(undefined))).toEqual([])
  })
})
