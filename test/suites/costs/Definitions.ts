/** CRDs whose rules are cheap, expensive or too expensive. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue } from "../comparison/Dialogue.ts"

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const text = { type: "string" }
const integer = { type: "integer" }
const short = { ...text, maxLength: 10 }

const properties: JsonObject = {
  text,
  short,
  word: { ...text, enum: ["a", "bcd"] },
  n: integer,
  m: integer,
  f: { type: "number" },
  b: { type: "boolean" },
  port: { "x-kubernetes-int-or-string": true },
  day: { ...text, format: "date" },
  time: { ...text, format: "date-time" },
  took: { ...text, format: "duration" },
  bytes: { ...text, format: "byte" },
  texts: { type: "array", items: text },
  shorts: { type: "array", items: short, maxItems: 10 },
  many: { type: "array", items: short, maxItems: 1000 },
  numbers: { type: "array", items: integer },
  few: { type: "array", items: integer, maxItems: 5 },
  sets: { type: "array", "x-kubernetes-list-type": "set", items: short, maxItems: 100 },
  labels: { type: "object", additionalProperties: text },
  marks: { type: "object", additionalProperties: short, maxProperties: 10 },
  items: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    items: {
      type: "object",
      required: ["k"],
      properties: {
        k: short,
        v: integer,
        tags: { type: "array", items: text },
        deep: { type: "object", properties: { t: text } }
      }
    }
  },
  bounded: {
    type: "array",
    maxItems: 20,
    items: {
      type: "object",
      required: ["k"],
      properties: { k: short, tags: { type: "array", maxItems: 4, items: short } }
    }
  },
  nested: { type: "array", items: { type: "array", items: integer } },
  o: { type: "object", required: ["a"], properties: { a: text, b: short } }
}

interface Rule {
  readonly [field: string]: string | boolean | undefined
  readonly rule: string
}

const definition = (plural: string, spec: JsonObject): JsonObject => {
  const singular = plural.slice(0, -1)
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.crd.example.com` },
    spec: {
      group: "crd.example.com",
      scope: "Namespaced",
      names: { plural, singular, kind: singular.charAt(0).toUpperCase() + singular.slice(1) },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } }
        }
      ]
    }
  }
}

/** Rules on the spec, from cheap to very expensive. */
const rules: ReadonlyArray<string> = [
  "self.n < self.m",
  "self.n == self.m && self.b || self.f > 1.5",
  "self.text == 'a'",
  "self.text == self.o.a",
  "self.text != self.short",
  "self.text < self.o.a",
  "self.port == '5%'",
  "self.port > 5",
  "self.port == self.text",
  "self.text.startsWith('a') || self.text.endsWith(self.o.a)",
  "self.text.contains('a')",
  "self.text.contains(self.short)",
  "self.text.contains(self.o.a)",
  "self.short.contains(self.short)",
  "self.text.matches('^[a-z]+$')",
  "self.short.matches('^[a-z]+$')",
  "self.text.matches(self.short)",
  "self.text.matches(self.o.a)",
  "self.text.find('[0-9]+') == '1'",
  "self.text.findAll('[0-9]+').size() == 1",
  "self.text + self.o.a == 'ab'",
  "(self.text + self.o.a).contains('abcabcabcabc')",
  "self.short + self.short == self.text + 'b'",
  "size(self.text) < 5 && self.text.size() < 5",
  "self.text.lowerAscii() == self.text",
  "self.text.substring(1).trim().upperAscii() == 'A'",
  "self.text.replace('a', 'bcd') == self.o.a",
  "self.text.replace('', self.o.a) == self.o.a",
  "self.short.replace(self.short, 'abcdefghijk').contains(self.text)",
  "self.text.split(',').all(x, x != 'a')",
  "self.text.split(',', 3).all(x, x != 'a')",
  "self.texts.join(',') == 'a,b'",
  "self.shorts.join(',').contains('a')",
  "self.text.charAt(0) == 'a' && self.text.indexOf('a') == 0 && self.text.lastIndexOf('b') == 1",
  "quantity(self.text).isLessThan(quantity('5'))",
  "isQuantity(self.short) && quantity(self.short).add(quantity('1')).compareTo(quantity('2')) == 0",
  "quantity(self.text) == quantity(self.o.a)",
  "self.texts.all(t, quantity(t).isLessThan(quantity('5')))",
  "self.texts.all(t, t == 'a')",
  "self.texts.all(t, t.matches('^a$'))",
  "self.texts.exists(t, t.startsWith('abc'))",
  "self.texts.exists_one(t, t == self.text)",
  "self.texts.map(t, t + 'x').exists(t, t == 'ax')",
  "self.texts.filter(t, t != 'x').size() == 1",
  "self.texts.map(t, t != 'x', t.size()).all(n, n > 1)",
  "self.shorts.all(t, t.matches('^[a-z]{1,10}$'))",
  "self.shorts.all(t, self.shorts.exists(u, u == t))",
  "self.many.all(t, self.many.exists(u, u == t))",
  "self.many.all(t, self.many.exists(u, self.many.exists(v, v == t)))",
  "self.texts.all(t, self.texts.all(u, t != u))",
  "self.numbers.all(n, n > 0)",
  "self.numbers.all(n, self.numbers.exists_one(m, m == n))",
  "self.few.all(a, self.few.all(b, self.few.all(c, a + b == c)))",
  "self.numbers.sum() > 5 && self.numbers.max() > 3 && self.numbers.isSorted()",
  "self.texts.isSorted() && self.texts.indexOf('a') == 0",
  "'a' in self.texts && 5 in self.numbers && self.short in ['a', 'b', 'c']",
  "'a' in self.labels && self.labels['a'] == 'b'",
  "self.labels.all(k, self.labels[k] != 'b')",
  "self.labels.all(k, k.matches('^a') && self.labels[k].matches('^b'))",
  "self.marks.all(k, self.marks[k].startsWith('b'))",
  "self.labels.all(k, v, k != v)",
  "self.marks.transformMap(k, v, v + 'x').all(k, k != '')",
  "self.texts.transformList(i, t, t + string(i)).size() > 0",
  "self.sets.all(s, s in self.many)",
  "sets.contains(self.texts, ['a', 'b']) && sets.equivalent(self.numbers, [1, 2])",
  "sets.intersects(self.many, self.many)",
  "self.many.distinct().size() == self.many.size()",
  "self.numbers.sort() == self.numbers",
  "self.many.sortBy(t, t.size()).size() > 0",
  "self.texts.reverse() == self.texts && self.texts.slice(0, 2).size() == 2",
  "self.nested.flatten().size() == 3 && lists.range(5).size() == 5",
  "self.nested.all(l, l.all(n, n > 0))",
  "self.nested.all(l, l.exists(n, n > 0 && self.numbers.exists(m, m == n)))",
  "self.items.all(i, has(i.v) && i.v > 0)",
  "self.items.all(i, i.tags.all(t, t != 'x'))",
  "self.items.all(i, self.items.exists_one(j, j.k == i.k))",
  "self.items.map(i, i.k).all(k, k.size() > 0)",
  "self.items.filter(i, i.v > 1).all(i, i.deep.t == 'x')",
  "self.items[0].deep.t.matches('^a') && self.items[self.n].k == 'b'",
  "self.bounded.all(i, i.tags.all(t, self.bounded.exists(j, t in j.tags)))",
  "self.items == self.items && self.o == self.o",
  "self.o.a == (self.b ? self.text : self.short)",
  "(self.b ? self.texts : self.shorts).all(t, t == 'a')",
  "['a', 'b', self.text].exists(t, t == self.o.a)",
  "{'a': self.text, 'b': 'c'}.all(k, k == self.text)",
  "self.?text.orValue('a') == self.o.a",
  "self.?text.optMap(t, t + 'a').hasValue()",
  "self.time > timestamp('2023-01-01T00:00:00Z') && self.took < duration('1m') && self.day != self.time",
  "self.bytes == b'abc' && string(self.bytes) == self.text",
  "isURL(self.text) && url(self.text).getHost() == 'a'",
  "isIP(self.text) && ip(self.text) == ip('10.0.0.1') && ip(self.short).family() == 4",
  "cidr(self.text).containsIP(ip('10.0.0.1')) && cidr('10.0.0.0/8').containsIP(self.text)",
  "format.dns1123Label().validate(self.text).hasValue()",
  "!format.dns1123Label().validate(self.short).hasValue()",
  "semver(self.text).isLessThan(semver('1.0.0'))",
  "'%s of %d'.format([self.text, self.n]) == 'a'",
  "(self.text + '%s').format([self.text]) == 'a'",
  "strings.quote(self.text) == '\"a\"'",
  "dyn(self.text) == dyn(self.o.a)",
  "type(self.port) == int ? self.port > 0 : self.port.matches('^[0-9]+%$')",
  "self.texts.all(t, self.labels.all(k, k != t))",
  "self == oldSelf",
  "self.texts == oldSelf.texts",
  "oldSelf.texts.all(t, t in self.texts)",
  "oldSelf.many.all(t, t in self.many)",
  "self.items.all(i, oldSelf.items.exists(j, j.k == i.k && j.v <= i.v))"
]

/** Rules with a `messageExpression`. */
const messages: ReadonlyArray<Rule> = [
  { rule: "self.n > 1", messageExpression: "'n is ' + string(self.n)" },
  { rule: "self.n > 1", messageExpression: "self.texts.map(t, t + self.text).join(',')" },
  { rule: "self.n > 1", messageExpression: "self.texts.exists(t, self.texts.exists(u, u == t)) ? 'a' : 'b'" },
  {
    rule: "self.texts.all(t, self.texts.all(u, t != u))",
    messageExpression: "self.many.map(t, t.replace('a', self.text)).join('')"
  },
  { rule: "!oldSelf.hasValue() || oldSelf.value().texts.all(t, t in self.texts)", optionalOldSelf: true }
]

const withRules = (schema: JsonObject, ...rules: ReadonlyArray<string>): JsonObject => ({
  ...schema,
  "x-kubernetes-validations": rules.map((rule) => ({ rule }))
})

const listOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "array", items, ...more })

const spec = (properties: JsonObject): JsonObject => ({ type: "object", properties })

/** Specs whose rules run many times for one object, and specs whose total cost matters. */
const whole: Readonly<Record<string, JsonObject>> = {
  "a rule of each item of a list": spec({ l: listOf(withRules(text, "self.matches('^a')")) }),
  "a rule of each item of a list with a limit": spec({
    l: listOf(withRules(short, "self.matches('^a')"), { maxItems: 50 })
  }),
  "a cheap rule of each item of a list": spec({ l: listOf(withRules(integer, "self > 0")) }),
  "a rule of each item of nested lists": spec({ l: listOf(listOf(withRules(short, "self != 'a'"))) }),
  "a rule of each item of nested lists with limits": spec({
    l: listOf(listOf(withRules(short, "self != 'a'"), { maxItems: 10 }), { maxItems: 10 })
  }),
  "a rule of each value of a map": spec({
    m: { type: "object", additionalProperties: withRules(text, "self.contains('a')") }
  }),
  "a rule of each value of a map with a limit": spec({
    m: { type: "object", maxProperties: 100, additionalProperties: withRules(text, "self.contains('a')") }
  }),
  "a rule of items with required fields": spec({
    l: listOf(
      withRules(
        { type: "object", required: ["name", "n"], properties: { name: text, n: integer } },
        "self.n > 1 && self.name.size() > 2"
      )
    )
  }),
  "a rule of items with required fields that have defaults": spec({
    l: listOf(
      withRules(
        { type: "object", required: ["name", "n"], properties: { name: { ...text, default: "a" }, n: integer } },
        "self.n > 1 && self.name.size() > 2 && self.name.startsWith('abc')"
      )
    )
  }),
  "rules that cost too much together": spec(
    Object.fromEntries(
      Array.from({ length: 14 }, (_, index) => [
        `l${index}`,
        withRules(
          listOf(short, { maxItems: 600 + index }),
          "self.all(x, self.exists(y, y == x && x != 'abcdefghijklmnopqrstuvwxyz') || self.exists(z, z == x))"
        )
      ])
    )
  ),
  "rules that together cost less than the limit": spec(
    Object.fromEntries(
      Array.from({ length: 4 }, (_, index) => [
        `l${index}`,
        withRules(listOf(short, { maxItems: 600 }), "self.all(x, self.exists(y, y == x))")
      ])
    )
  ),
  "a rule of an embedded resource": spec({
    e: withRules(
      {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        properties: { spec: { type: "object", properties: { t: text } } }
      },
      "self.metadata.name.matches('^[a-z]+$') && self.kind.matches('^[A-Z]')"
    )
  })
}

/** Keeps only the message of a rejection. These tests do not compare the stored definition. */
const message = (_: string, body: Json): Json =>
  J.at(body, "kind") === "Status" ? { message: J.at(body, "message") ?? null } : { kind: J.at(body, "kind") ?? null }

/**
 * A dialogue for one rule, at the spec and at the items of longer and longer lists. A long list makes even a cheap rule exceed the
 * limit, so the message shows the cost.
 */
const repeated = (rule: Rule): Pick<Dialogue, "steps" | "compared"> => {
  const ruled = { type: "object", properties, "x-kubernetes-validations": [{ ...rule }] } as const
  return {
    compared: message,
    steps: [
      dry(definition("priceys", ruled)),
      ...[100, 10_000, 1_000_000].map((maxItems) =>
        dry(definition("priceys", spec({ l: listOf(ruled, { maxItems }) })))
      )
    ]
  }
}

const dry = (body: JsonObject) => ({ method: "POST", path: `${definitionsPath}?dryRun=All`, body })

/** All dialogues. */
export const definitions: ReadonlyArray<Dialogue> = [
  ...rules.map((rule) => ({ name: `the cost of a rule: ${rule}`, ...repeated({ rule }) })),
  ...messages.map((rule) => ({ name: `the cost of a rule: ${JSON.stringify(rule)}`, ...repeated(rule) })),
  ...Object.entries(whole).map(([about, spec]) => ({
    name: `the cost of ${about}`,
    compared: message,
    steps: [dry(definition("priceys", spec))]
  }))
]
