/** Malformed bodies, selectors and options. */
import type { Dialogue } from "../comparison/Dialogue.ts"
import { create, get, raw, rawPatch, w, webapps } from "./Requests.ts"
import { webapp } from "./WebApps.ts"

const head = '{"apiVersion":"example.com/v1","kind":"WebApp","metadata":'
const named = (spec: string) => `${head}{"name":"w"},"spec":${spec}}`
const nested = (open: string) =>
  named(`{"anything":${open.repeat(20_000)}1${(open === "[" ? "]" : "}").repeat(20_000)}}`)

/** YAML whose aliases expand to 10^12 strings. */
const bomb = `apiVersion: example.com/v1\nkind: WebApp\nmetadata: {name: w}\nspec:\n  anything:\n${Array.from(
  { length: 12 },
  (_, at) => `    a${at}: &a${at} [${Array(10).fill(at === 0 ? "x" : `*a${at - 1}`)}]\n`
).join("")}`

const bodies: ReadonlyArray<Dialogue> = [
  {
    name: "the server refuses bodies that are not JSON or not a WebApp",
    steps: [
      "",
      "{",
      "}",
      "{'a': 1}",
      '{"a": 1,}',
      "[]",
      "null",
      "1",
      '"text"',
      "{}",
      "\ufeff{}",
      "{}{}",
      "\u0000",
      '{"a": NaN}',
      '{"apiVersion":"example.com/v1","kind":',
      '{"kind": "WebApp"}',
      '{"apiVersion": "example.com/v1"}',
      '{"apiVersion": 1, "kind": "WebApp"}',
      '{"apiVersion": "a/b/c", "kind": "WebApp"}'
    ].map((text) => raw(text))
  },
  {
    name: "the server refuses metadata of other types",
    steps: [
      "null",
      '"text"',
      "[]",
      '{"name": 1}',
      '{"name": null}',
      '{"name": "a", "labels": {"a": 1}}',
      '{"name": "b", "labels": ["a"]}',
      '{"name": "c", "labels": {"a": null}}',
      '{"name": "d", "creationTimestamp": "yesterday"}',
      '{"name": "e", "generation": "1"}',
      '{"name": "f", "generation": 99999999999999999999}',
      '{"name": "g", "ownerReferences": {}}',
      '{"name": "h", "labels": {"__proto__": "a"}}',
      '{"name": "i", "finalizers": "f"}'
    ].map((metadata) => raw(`${head}${metadata}}`))
  },
  {
    name: "the server accepts numbers that JSON allows, and refuses those that fit in no type",
    steps: ["1e400", "-0", "1e-400", "01", "0x1", "9007199254740993", "12345678901234567890123"].map((number, at) =>
      raw(`${head}{"name":"w${at}"},"spec":{"limited":{"mode":"fast","ratio":${number}}}}`)
    )
  },
  {
    name: "the server replaces bytes that are not UTF-8",
    steps: [raw(named('{"image":"a\xff\xfeb"}'), undefined, { encoding: "latin1" })]
  },
  {
    name: "the server refuses 20000 levels in JSON and in YAML, and aliases that multiply",
    // The embedded server rejects YAML with more than 1000 levels.
    unlike: /exceeded max depth of 10000|line 1: nesting exceeded maxDepth \(1000\)/,
    steps: [
      ...["[", '{"a":'].map((open) => raw(nested(open))),
      ...["[", "{a: "].map((open) => raw(nested(open), "application/yaml")),
      raw(bomb, "application/yaml")
    ]
  },
  {
    name: "the server refuses unknown media types of bodies",
    steps: [
      "application/json; charset=utf-8",
      "application/json;",
      "APPLICATION/JSON",
      "application/xml",
      "application",
      "/",
      "a/b/c; d",
      "application/merge-patch+json",
      "text/plain"
    ].map((contentType, at) => raw(JSON.stringify(webapp(`w${at}`)), contentType))
  },
  {
    name: "the server refuses patches of other media types",
    steps: [
      create(),
      ...["application/json", "application/merge-patch+json; charset=utf-8", "text/plain"].map((contentType) => ({
        ...rawPatch("merge", "{}"),
        contentType
      }))
    ]
  },
  {
    name: "names with a meaning in JavaScript are ordinary names",
    reads: w,
    steps: [
      raw(
        named(
          '{"anything":{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"toString":3,"hasOwnProperty":null},"settings":{"__proto__":"x"}}'
        )
      ),
      ...["constructor", "toString%3Dx", "valueOf"].map((selector) => get(`${webapps}?labelSelector=${selector}`)),
      get("/apis/example.com/v1/constructor"),
      get("/apis/constructor/v1/toString"),
      get("/api/v1/namespaces/__proto__"),
      get("/apis/example.com/v1/namespaces/toString/webapps")
    ]
  },
  {
    name: "the server reads the body of a deletion strictly, and ignores a dry run in the query beside it",
    // The embedded server's messages do not name Go's string types.
    unlike: /(?<=propagationPolicy of type )(?:string|v1\.DeletionPropagation)$/,
    steps: [
      "{",
      "[]",
      '{"kind":"Status","apiVersion":"v1"}',
      '{"gracePeriodSeconds":"1"}',
      '{"gracePeriodSeconds":-1}',
      '{"propagationPolicy":1}',
      '{"nothing":1}',
      '{"kind":"DeleteOptions","apiVersion":"example.com/v1"}'
    ].flatMap((text) => [create(), raw(text, undefined, { method: "DELETE", path: `${w}?dryRun=All` })])
  },
  {
    name: "the server refuses merge patches that are not objects or that change the kind or the name",
    reads: w,
    steps: [
      create(),
      ...[
        "[]",
        "null",
        "1",
        "{",
        '{"metadata":null}',
        '{"metadata":"x"}',
        '{"spec":[]}',
        '{"kind":"Other"}',
        '{"apiVersion":"example.com/v2"}',
        '{"metadata":{"name":"v"}}'
      ].map((text) => rawPatch("merge", text))
    ]
  }
]

const select = (parameter: "label" | "field", selectors: ReadonlyArray<string>) =>
  selectors.map((selector) => get(`${webapps}?${parameter}Selector=${encodeURIComponent(selector)}`))

const queries: ReadonlyArray<Dialogue> = [
  {
    name: "the server refuses selectors that it cannot parse",
    steps: [
      ...select("label", [
        "a in ",
        "a in (",
        "a in ((((((((b))))))))",
        "a in ()",
        "()",
        ",",
        "a,,b",
        "a=b=c",
        "=b",
        "!",
        "!!a",
        "a b",
        "a>b",
        "a>1",
        "-a=b",
        "a=-b",
        "a/b/c=d",
        "é",
        `a in (${Array.from({ length: 20_000 }, (_, at) => `v${at}`)})`,
        `a in ${"(".repeat(50_000)}`
      ]),
      ...select("field", [
        "a",
        "=",
        "metadata.name",
        "metadata.name=a=b",
        "metadata.name=a,",
        "metadata.name=\\x",
        ",",
        "spec.x=1"
      ])
    ]
  },
  {
    name: "the server reads numbers and switches in the query",
    unlike: /^eyJ2Ij.*/,
    steps: [
      create({}, "a"),
      create({}, "b"),
      ...[
        "limit=-1",
        "limit=abc",
        "limit=1.5",
        "limit=99999999999999999999",
        "limit=1&limit=2",
        "watch=0",
        "watch=false&watch=true&timeoutSeconds=1",
        "timeoutSeconds=-1",
        "timeoutSeconds=abc",
        "resourceVersion=-1",
        "resourceVersion=1e3",
        "resourceVersion=abc",
        "resourceVersionMatch=Foo&resourceVersion=1",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "allowWatchBookmarks=x",
        "continue=garbage",
        "labelSelector=a&labelSelector=b",
        "nothing=1",
        "%zz",
        "a=%zz",
        "a;b",
        "&&&=&"
      ].map((query) => get(`${webapps}?${query}`))
    ]
  }
]

export const dialogues: ReadonlyArray<Dialogue> = [...bodies, ...queries]
