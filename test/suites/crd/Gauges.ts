/** A kind for CEL rules, rules for one object, and rules for changes. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Schema from "../comparison/Schema.ts"
import { defined } from "./Definitions.ts"

const text: JsonObject = { type: "string", maxLength: 20 }
const properties: JsonObject = {
  n: { type: "integer" },
  m: { type: "integer" },
  f: { type: "number" },
  s: text,
  b: { type: "boolean" },
  port: { "x-kubernetes-int-or-string": true, maxLength: 20 },
  l: { type: "array", maxItems: 5, items: { type: "integer" } },
  set: { type: "array", maxItems: 5, "x-kubernetes-list-type": "set", items: text },
  texts: { type: "array", maxItems: 5, items: text },
  mp: { type: "object", maxProperties: 5, additionalProperties: text },
  d: { type: "string", format: "duration", maxLength: 20 },
  t: { type: "string", format: "date-time", maxLength: 30 },
  day: { type: "string", format: "date", maxLength: 30 },
  bytes: { type: "string", format: "byte", maxLength: 20 },
  o: { type: "object", properties: { "x-y": text, "a.b": text, "a/b": text, a__b: text, namespace: text, in: text } },
  none: text,
  items: Schema.map(["k"], { k: text, v: { type: "integer" } }, { maxItems: 5 })
}

/** The CRD with a rule on its spec. */
export const gauges = (rule: JsonObject, plural: string): JsonObject =>
  defined(plural, { type: "object", properties, "x-kubernetes-validations": [rule] })

/** The members whose names occur in the text. */
const named = (members: JsonObject, text: string): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([name]) => new RegExp(`\\b${name}\\b`).test(text)))

/** The CRD and a spec, both with only the fields that the rule names. */
export const gauge = (rule: JsonObject, plural: string): readonly [definition: JsonObject, spec: JsonObject] => {
  const text = JSON.stringify(rule)
  const schema = { type: "object", properties: named(properties, text), "x-kubernetes-validations": [rule] }
  return [defined(plural, schema), named(spec, text)]
}

export const spec: JsonObject = {
  n: 3,
  m: 5,
  f: 2.5,
  s: "abc",
  b: true,
  port: "50%",
  l: [1, 2, 3],
  set: ["a", "b"],
  texts: ["a", "b"],
  mp: { a: "1", b: "2" },
  d: "90s",
  t: "2024-01-31T12:00:00Z",
  day: "2024-01-31",
  bytes: "YWJj",
  o: { "x-y": "z", "a.b": "dot", "a/b": "slash", a__b: "under", namespace: "ns", in: "in" },
  items: [
    { k: "a", v: 1 },
    { k: "b", v: 2 }
  ]
}

/** Rules that the spec satisfies or violates. */
export const rules: ReadonlyArray<string> = [
  "self.n < self.m",
  "self.n > self.m",
  "self.n + 2 == self.m",
  "self.n - 4 == -1 && -self.n == -3",
  "self.m / 2 == 2 && self.m % 2 == 1 && self.n * 2 == 6",
  "self.f > 2",
  "self.f < self.n",
  "self.f == 2.5",
  "self.f + 0.5 == 3.0",
  "double(self.n) / 2.0 == 1.5",
  "self.n == 3 && self.n != 4 && !(self.n == 4)",
  "self.s == 'abc' && self.s != 'x'",
  "self.s + 'd' == 'abcd'",
  "self.s < 'abd'",
  "self.s.matches('^[a-c]+$')",
  "self.s.matches(r'^[[:alpha:]]+\\z')",
  "self.s.matches('(?i)ABC')",
  "matches(self.s, 'b')",
  "self.s.matches('^b')",
  "self.s.size() == 3 && size(self.s) == 3",
  "self.s.startsWith('a') && self.s.endsWith('c') && self.s.contains('b')",
  "self.s.upperAscii() == 'ABC' && 'X'.lowerAscii() == 'x'",
  "self.s.replace('b', 'x') == 'axc'",
  "self.s.substring(1) == 'bc' && self.s.substring(0, 2) == 'ab'",
  "self.s.indexOf('c') == 2 && self.s.lastIndexOf('a') == 0 && self.s.indexOf('z') == -1",
  "self.s.charAt(1) == 'b'",
  "' a '.trim() == 'a'",
  "'a,b,c'.split(',').size() == 3 && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
  "self.s.find('[bc]+') == 'bc' && self.s.findAll('[a-z]').size() == 3 && self.s.findAll('.', 2) == ['a', 'b']",
  "'%s'.format([self.s]) == 'abc'",
  "'%s %d %.1f'.format([self.s, self.n, self.f]) == 'abc 3 2.5'",
  "self.l.size() == 3 && size(self.l) == 3",
  "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 2)",
  "self.l.all(x, x > 1)",
  "self.l.map(x, x * 2) == [2, 4, 6] && self.l.map(x, x > 1, x * 2) == [4, 6]",
  "self.l.filter(x, x > 1) == [2, 3]",
  "self.l.sum() == 6 && self.l.isSorted() && self.l.max() == 3 && self.l.min() == 1",
  "self.l.indexOf(2) == 1 && self.l.lastIndexOf(9) == -1",
  "self.l[0] == 1",
  "self.l[7] == 1",
  "2 in self.l && !(9 in self.l)",
  "self.l + [4] == [1, 2, 3, 4]",
  "self.l.distinct() == [1, 2, 3] && self.l.reverse() == [3, 2, 1] && [3, 1].sort() == [1, 3]",
  "self.l.slice(0, 2) == [1, 2] && lists.range(3) == [0, 1, 2]",
  "[[1], [2]].flatten() == [1, 2]",
  "self.items.sortBy(x, x.k)[0].k == 'a'",
  "self.l.first().value() == 1 && self.l.last().value() == 3",
  "self.set == ['b', 'a']",
  "'a' in self.set && self.set.size() == 2 && self.set.all(x, x.size() == 1)",
  "sets.contains(self.set, ['a']) && sets.intersects(self.texts, ['b', 'z']) && sets.equivalent(self.set, ['b', 'a'])",
  "self.mp.all(k, self.mp[k] != '') && 'a' in self.mp && !('z' in self.mp) && size(self.mp) == 2",
  "self.mp['a'] == '1' && self.mp.a == '1'",
  "self.mp['z'] == '1'",
  "has(self.mp.a) && !has(self.mp.z) && has(self.s) && !has(self.none)",
  "self.none == 'x'",
  "!has(self.none) || self.none == 'x'",
  "self.mp.exists(k, v, k == 'a' && v == '1') && self.l.all(i, x, x == i + 1)",
  "self.mp.transformList(k, v, k + v).size() == 2 && self.l.transformList(i, x, i > 0, x) == [2, 3]",
  "self.mp.transformMap(k, v, v + '!')['a'] == '1!'",
  "self.l.existsOne(i, x, x == 2)",
  "self.?none.orValue('x') == 'x' && self.?s.orValue('x') == 'abc' && !self.?none.hasValue()",
  "self.mp.?z.orValue('none') == 'none' && self.l[?7].orValue(0) == 0",
  "optional.of(1).optMap(x, x + 1).orValue(0) == 2 && optional.none().or(optional.of(1)).value() == 1",
  "optional.ofNonZeroValue('').hasValue() == false",
  "self.d < duration('2m') && self.d.getSeconds() == 90 && self.d + duration('30s') == duration('2m')",
  "self.t > timestamp('2023-01-01T00:00:00Z') && self.t.getFullYear() == 2024 && self.t.getMonth() == 0 && self.t.getDate() == 31",
  "self.t - timestamp('2024-01-31T11:00:00Z') == duration('1h')",
  "self.day == timestamp('2024-01-31T00:00:00Z')",
  "self.bytes == b'abc' && size(self.bytes) == 3",
  "self.o.x__dash__y == 'z' && self.o.a__dot__b == 'dot' && self.o.a__slash__b == 'slash' && self.o.a__underscores__b == 'under' && self.o.__namespace__ == 'ns' && self.o.__in__ == 'in'",
  "self.o == self.o && self.items[0] == self.items[0] && self.items[0] != self.items[1]",
  "type(self.port) == string && type(self.n) == int && type(self.f) == double && type(self.l) == list",
  "type(self.port) == int ? self.port > 0 : self.port.matches('^[0-9]+%$')",
  "self.port > 5",
  "self.port == '50%'",
  "dyn(self.n) == 3",
  "int('5') == 5 && string(self.n) == '3' && double('1.5') == 1.5 && string(2.5) == '2.5' && bool('true')",
  "self.n in [1, 2, 3] && self.s in ['abc', 'd']",
  "self.b ? self.n == 3 : self.n == 4",
  "1 / (self.n - 3) == 1",
  "self.n % (self.n - 3) == 1",
  "9223372036854775807 + self.n > 0",
  "self.n == 3 || 1 / 0 == 1",
  "self.items.all(x, x.v > 0) && self.items.map(x, x.k) == ['a', 'b']",
  "self.items.exists(x, has(x.v) && x.v == 2)",
  "self.items.all(x, self.items.exists_one(y, y.k == x.k))",
  "isQuantity('1Gi') && !isQuantity('x') && quantity('1Gi').isGreaterThan(quantity('1Mi')) && quantity('1').compareTo(quantity('1000m')) == 0",
  "quantity('100m').add(quantity('200m')) == quantity('300m') && quantity('2').sub(1).asInteger() == 1 && sign(quantity('-1')) == -1",
  "quantity('x').asInteger() == 1",
  "isURL('https://a.b:80/c') && !isURL('a b') && url('https://a.b:80/c?d=e').getHostname() == 'a.b' && url('https://a.b:80/c').getPort() == '80'",
  "url('https://a.b:80/c?d=e&d=f').getScheme() == 'https' && url('https://a.b/c?d=e&d=f').getQuery()['d'] == ['e', 'f'] && url('/p/q').getEscapedPath() == '/p/q'",
  "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('10.0.0') && ip.isCanonical('::1') && !ip.isCanonical('::0:1')",
  "ip('127.0.0.1').isLoopback() && ip('8.8.8.8').isGlobalUnicast() && ip('0.0.0.0').isUnspecified() && ip('10.0.0.1') == ip('10.0.0.1')",
  "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
  "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && string(cidr('10.0.0.0/8').ip()) == '10.0.0.0'",
  "!format.dns1123Label().validate(self.s).hasValue() && format.dns1123Label().validate('A_').hasValue()",
  "format.named('qualifiedName').hasValue() && !format.named('nope').hasValue()",
  "semver('1.2.3').isLessThan(semver('1.3.0-alpha')) && isSemver('1.0.0') && semver('1.2.3').minor() == 2 && semver('v1.2', true).patch() == 0",
  "uint(3) > 2u && 3u + 1u == 4u",
  "{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && size({'a': 1, 'b': 2}) == 2",
  "'a' + \"b\" == 'ab' && r'\\d' == '\\\\d' && '''x''' == 'x'",
  "strings.quote('a\"b') == '\"a\\\\\"b\"'",
  "!(self.n > 5) && (self.n > 5) == false",
  "[1, 2].exists(x, [3, 4].exists(y, x + y == 5))"
]

/** Rules with messages, reasons and field paths. */
export const messages: ReadonlyArray<JsonObject> = [
  { rule: "self.n > 5", message: "n is small" },
  { rule: "self.n > 5", messageExpression: "'s is ' + self.s" },
  { rule: "self.n > 5", message: "fallback", messageExpression: "self.mp['z']" },
  { rule: "self.n > 5", messageExpression: "''" },
  { rule: "self.n > 5", message: "no", reason: "FieldValueForbidden" },
  { rule: "self.n > 5", message: "no", reason: "FieldValueRequired" },
  { rule: "self.n > 5", message: "no", reason: "FieldValueDuplicate" },
  { rule: "self.n > 5", message: "no", reason: "FieldValueInvalid" },
  { rule: "self.n > 5", fieldPath: ".n" },
  { rule: "self.n > 5", fieldPath: ".o['a.b']", reason: "FieldValueForbidden" },
  { rule: "self.n > 5", fieldPath: ".mp.key" },
  { rule: "  self.n > 5  " },
  { rule: "self.n > 5\n  || false", message: " two lines " }
]

export const changes: ReadonlyArray<readonly [rule: JsonObject, old: JsonObject, next: JsonObject]> = [
  [{ rule: "self.n == oldSelf.n", message: "n is immutable" }, spec, { ...spec, n: 4 }],
  [{ rule: "self.n == oldSelf.n", message: "n is immutable" }, spec, { ...spec, m: 4 }],
  [{ rule: "self == oldSelf", message: "all is immutable" }, spec, { ...spec, m: 4 }],
  [{ rule: "self == oldSelf" }, spec, spec],
  [{ rule: "!oldSelf.hasValue() || oldSelf.value().n == self.n", optionalOldSelf: true }, spec, { ...spec, n: 4 }],
  [{ rule: "has(oldSelf.none) == has(self.none)" }, spec, { ...spec, none: "x" }],
  [{ rule: "oldSelf.items.all(x, x in self.items)" }, spec, { ...spec, items: [{ k: "a", v: 1 }] }],
  [{ rule: "self.n >= oldSelf.n" }, spec, { ...spec, n: 2 }]
]
