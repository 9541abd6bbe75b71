/** Bodies that nobody should send: each is answered, with the code of a kube-apiserver and mostly its words. Numbers from 201 are ours. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/testkit/server/Json"
import { Effect } from "effect"
import { answers, line } from "./Answers.ts"
import { conformance } from "./Case.ts"
import { type Scene, webapp } from "./Scene.ts"

const post = (scene: Scene, body: string | Uint8Array<ArrayBuffer>, contentType?: string) =>
  scene.request("POST", scene.webapps(), { body, contentType })

const json = JSON.stringify

const noJson =
  "400 BadRequest: the object provided is unrecognized (must be of type WebApp): couldn't get version/kind; json parse error …"

const noYaml = "400 BadRequest: the object provided is unrecognized (must be of type WebApp): yaml: …"

const otherType = '400 BadRequest: WebApp in version "v1" cannot be handled as a WebApp: json: cannot unmarshal …'

const nameless =
  '422 Invalid: WebApp.example.com "" is invalid: [metadata.name: Required value: name or generateName is required, ' +
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"

const tooLarge = "413 RequestEntityTooLarge: Request entity too large: limit is 3145728"

const unknownFormat =
  "415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: …"

describe.concurrent("Malformed bodies", () => {
  conformance(201, "JSON that is none is 400", {}, (scene) =>
    answers((body) => post(scene, body), {
      "{": noJson,
      "}": noJson,
      "{'a': 1}": noJson,
      '{"a": 1,}': noJson,
      "[]": noJson,
      null: "400 BadRequest: the object provided is unrecognized (must be of type WebApp): Object 'Kind' is missing in 'null' (6e756c6c)",
      "1": noJson,
      '"text"': noJson,
      "{}": "400 BadRequest: the object provided is unrecognized (must be of type WebApp): Object 'Kind' is missing in '{}' ({})",
      "{}{}": noJson,
      "\u0000": noJson,
      '{"a": NaN}': noJson,
      '{"kind": "WebApp"}':
        "400 BadRequest: the API version in the data () does not match the expected API version (example.com/v1)",
      '{"apiVersion": "example.com/v1"}':
        '400 BadRequest: the object provided is unrecognized (must be of type WebApp): Object \'Kind\' is missing in \'{"apiVersion": "example.com/v1"}\' ({"apiVersion": "example.com/v1 ...)',
      '{"apiVersion": 1, "kind": "WebApp"}': noJson,
      '{"apiVersion": "a/b/c", "kind": "WebApp"}':
        '400 BadRequest: the object provided is unrecognized (must be of type WebApp): unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c", "kind" ...)'
    })
  )

  conformance(202, "metadata of other types is refused", {}, (scene) =>
    answers((metadata) => post(scene, `{"apiVersion":"example.com/v1","kind":"WebApp","metadata":${metadata}}`), {
      null: nameless,
      '"text"': otherType,
      "[]": otherType,
      '{"name": 1}': otherType,
      '{"name": null}': nameless,
      '{"name": "a", "labels": {"a": 1}}': otherType,
      '{"name": "b", "labels": ["a"]}': otherType,
      '{"name": "c", "labels": {"a": null}}': "201 WebApp",
      '{"name": "d", "creationTimestamp": "yesterday"}':
        '400 BadRequest: WebApp in version "v1" cannot be handled as a WebApp: parsing time …',
      '{"name": "e", "generation": "1"}': otherType,
      '{"name": "f", "generation": 99999999999999999999}': otherType,
      '{"name": "g", "ownerReferences": {}}': otherType,
      '{"name": "h", "labels": {"__proto__": "a"}}':
        '422 Invalid: WebApp.example.com "h" is invalid: metadata.labels: Invalid value: "__proto__": name part must …',
      '{"name": "i", "finalizers": "f"}': otherType
    })
  )

  conformance(203, "numbers that JSON has are taken, those that fit in no type are refused", {}, (scene) =>
    answers(
      (number) =>
        post(
          scene,
          `{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"generateName":"w"},"spec":{"limited":{"mode":"fast","ratio":${number}}}}`
        ),
      {
        "1e400": otherType,
        "-0": "201 WebApp",
        "1e-400": "201 WebApp",
        "01": noJson,
        "0x1": noJson,
        "9007199254740993": "201 WebApp",
        "12345678901234567890123": "201 WebApp"
      }
    )
  )

  conformance(204, "bytes that are no UTF-8 are no reason to fail", {}, (scene) =>
    Effect.gen(function* () {
      const before = new TextEncoder().encode(
        '{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"name":"w"},"spec":{"image":"a'
      )
      const after = new TextEncoder().encode('b"}}')
      const answer = yield* post(scene, new Uint8Array([...before, 0xff, 0xfe, ...after]))
      expect(line(answer)).toBe("201 WebApp")
      expect(Json.at(answer.body, "spec", "image")).toBe("a\ufffd\ufffdb")
    })
  )

  conformance(205, "a body of 4 MiB is too large for every method", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const body = json(webapp("w", { spec: { image: "a".repeat(4 * 1024 * 1024) } }))
      yield* answers(
        (method) =>
          scene.request(method, method === "POST" ? scene.webapps() : scene.webapps("w"), {
            body,
            contentType: method === "PATCH" ? "application/merge-patch+json" : undefined
          }),
        {
          POST: tooLarge,
          PUT: tooLarge,
          PATCH: tooLarge,
          DELETE: tooLarge
        }
      )
    })
  )

  conformance(206, "20 000 levels are too many, in JSON and in YAML", {}, (scene) =>
    Effect.gen(function* () {
      const depth = 20_000
      const nested = (open: string, close: string) =>
        `{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"name":"w"},"spec":{"anything":${open.repeat(depth)}1${close.repeat(depth)}}}`
      yield* answers((open) => post(scene, nested(open, open === "[" ? "]" : "}")), {
        "[": noJson,
        '{"a":': noJson
      })
      yield* answers((open) => post(scene, nested(open, open === "[" ? "]" : "}"), "application/yaml"), {
        "[": noYaml,
        "{a: ": noYaml
      })
      const levels = Array.from(
        { length: 12 },
        (_, at) =>
          `a${at}: &a${at} [${Array(10)
            .fill(at === 0 ? "x" : `*a${at - 1}`)
            .join(",")}]`
      )
      const bomb = `apiVersion: example.com/v1\nkind: WebApp\nmetadata: {name: w}\nspec:\n  anything:\n${levels.map((level) => `    ${level}\n`).join("")}`
      yield* answers(() => post(scene, bomb, "application/yaml"), {
        bomb: noYaml
      })
    })
  )

  conformance(207, "other media types than those that are accepted are 415", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const body = json(webapp(undefined, { metadata: { generateName: "w-" } }))
      yield* answers((contentType) => post(scene, body, contentType), {
        "application/json; charset=utf-8": "201 WebApp",
        "application/json;": "201 WebApp",
        "APPLICATION/JSON": "201 WebApp",
        "application/xml": unknownFormat,
        application: unknownFormat,
        "/": unknownFormat,
        "a/b/c; d": unknownFormat,
        "application/merge-patch+json": unknownFormat
      })
      yield* answers((contentType) => scene.request("PATCH", scene.webapps("w"), { body: "{}", contentType }), {
        "application/json": unknownFormat,
        "application/merge-patch+json; charset=utf-8": "200 WebApp",
        "text/plain": unknownFormat
      })
    })
  )

  conformance(208, "names that JavaScript gives a meaning are names like others", {}, (scene) =>
    Effect.gen(function* () {
      const anything = '{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"toString":3,"hasOwnProperty":null}'
      const sent = `{"apiVersion":"example.com/v1","kind":"WebApp","metadata":{"name":"w"},"spec":{"anything":${anything},"settings":{"__proto__":"x"}}}`
      const made = yield* post(scene, sent)
      expect(made.status).toBe(201)
      const members = (value: Json.Json | undefined) => json(Object.entries(Json.object(value)).toSorted())
      expect(members(Json.at(made.body, "spec", "anything"))).toBe(members(JSON.parse(anything) as Json.Json))
      expect(made.text).toContain('"settings":{"__proto__":"x"}')
      for (const selector of ["constructor", "toString%3Dx", "valueOf"]) {
        const { body } = yield* scene.request("GET", `${scene.webapps()}?labelSelector=${selector}`)
        expect([selector, Json.at(body, "items") ?? null]).toEqual([selector, []])
      }
      yield* answers((path) => scene.request("GET", path), {
        "/apis/example.com/v1/constructor": "404 404 page not found",
        "/apis/constructor/v1/toString": "404 404 page not found",
        "/api/v1/namespaces/__proto__": '404 NotFound: namespaces "__proto__" not found',
        "/apis/example.com/v1/namespaces/toString/webapps": "200 WebAppList"
      })
    })
  )
})
