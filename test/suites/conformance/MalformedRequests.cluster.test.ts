/** Requests that nobody should send: each is answered, with the code and the words of a kube-apiserver. Numbers from 201 are ours. */
import { describe } from "bun:test"
import { Effect } from "effect"
import { answers } from "./Answers.ts"
import { conformance } from "./Case.ts"
import { type Scene, webapp } from "./Scene.ts"
import * as Socket from "./Socket.ts"

describe.concurrent("Malformed requests", () => {
  const query = (scene: Scene) => (query: string) => scene.request("GET", `${scene.webapps()}?${query}`)

  conformance(211, "selectors that make no sense are 400", {}, (scene) =>
    Effect.gen(function* () {
      const label = (selector: string) => query(scene)(`labelSelector=${encodeURIComponent(selector)}`)
      yield* answers(label, {
        "a in ": "400 BadRequest: unable to parse requirement: found '' expected: '('",
        "a in (": "400 BadRequest: unable to parse requirement: found '', expected: ',', ')' or identifier",
        "a in ((((((((b))))))))":
          "400 BadRequest: unable to parse requirement: found '(', expected: ',', ')' or identifier",
        "a in ()": "200 WebAppList",
        "()": "400 BadRequest: found '(', expected: !, identifier, or 'end of string'",
        ",": "400 BadRequest: found ',', expected: !, identifier, or 'end of string'",
        "a,,b": "400 BadRequest: found ',', expected: identifier after ','",
        "a=b=c": "400 BadRequest: found '=', expected: ',' or 'end of string'",
        "=b": "400 BadRequest: found '=', expected: !, identifier, or 'end of string'",
        "!": "400 BadRequest: unable to parse requirement: found '', expected: identifier",
        "!!a": "400 BadRequest: unable to parse requirement: found '!', expected: identifier",
        "a b": "400 BadRequest: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        "a>b":
          "400 BadRequest: unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        "a>1": "200 WebAppList",
        "-a=b": '400 BadRequest: unable to parse requirement: <nil>: Invalid value: "-a": name part must …',
        "a=-b": '400 BadRequest: unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label …',
        "a/b/c=d": '400 BadRequest: unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label …',
        é: '400 BadRequest: unable to parse requirement: <nil>: Invalid value: "é": name part must …'
      })
      yield* answers((selector) => query(scene)(`fieldSelector=${encodeURIComponent(selector)}`), {
        a: "400 BadRequest: invalid selector: 'a'; can't understand 'a'",
        "=": "200 WebAppList",
        "metadata.name": "400 BadRequest: invalid selector: 'metadata.name'; can't understand 'metadata.name'",
        "metadata.name=a=b": "400 BadRequest: invalid field selector: unescaped character in value: 61",
        "metadata.name=a,": "200 WebAppList",
        "metadata.name=\\x": "400 BadRequest: invalid field selector: invalid escape sequence: \\x",
        ",": "200 WebAppList"
      })
      const values = Array.from({ length: 20_000 }, (_, at) => `v${at}`).join(",")
      const absurd: { readonly [what: string]: string } = { values: `(${values})`, parens: "(".repeat(50_000) }
      yield* answers((what) => label(`a in ${absurd[what]}`), {
        values: "200 WebAppList",
        parens: "400 BadRequest: unable to parse requirement: found '(', expected: ',', ')' or identifier"
      })
    })
  )

  conformance(212, "numbers and switches in the query are read as the server reads them", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("a")
      yield* scene.create("b")
      yield* answers(query(scene), {
        "limit=-1": "200 WebAppList",
        "limit=abc": '400 BadRequest: strconv.ParseInt: parsing "abc": invalid syntax',
        "limit=1.5": '400 BadRequest: strconv.ParseInt: parsing "1.5": invalid syntax',
        "limit=99999999999999999999":
          '400 BadRequest: strconv.ParseInt: parsing "99999999999999999999": value out of range',
        "limit=1&limit=2": "200 WebAppList",
        "watch=maybe&timeoutSeconds=1": "200 watch",
        "watch=false&watch=true&timeoutSeconds=1": "200 WebAppList",
        "watch=&timeoutSeconds=1": "200 watch",
        "watch=0": "200 WebAppList",
        "timeoutSeconds=-1": "200 WebAppList",
        "timeoutSeconds=abc": '400 BadRequest: strconv.ParseInt: parsing "abc": invalid syntax',
        "resourceVersion=-1":
          '400 BadRequest: invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
        "resourceVersion=1e3":
          '400 BadRequest: invalid resource version: resourceVersion: Invalid value: "1e3": strconv.ParseUint: parsing "1e3": invalid syntax',
        "resourceVersionMatch=Foo&resourceVersion=1":
          '422 Invalid: ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
        "allowWatchBookmarks=x": "200 WebAppList",
        "labelSelector=a&labelSelector=b": "200 WebAppList",
        "nothing=1": "200 WebAppList",
        "%zz": "200 WebAppList",
        "a=%zz": "200 WebAppList",
        "a;b": "200 WebAppList",
        "&&&=&": "200 WebAppList"
      })
    })
  )

  conformance(213, "methods that nobody knows are refused", {}, (scene) =>
    answers((method) => Socket.request(scene.cluster.admin, method, scene.webapps()), {
      FOO: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      get: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      OPTIONS: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      TRACE: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      PUT: "400 BadRequest: name must be provided",
      PATCH:
        "415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: …"
    })
  )

  conformance(214, "paths that nobody would write are answered as what they come to", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const paths: { readonly [name: string]: string } = { "{webapps}": scene.webapps(), "{long}": "w".repeat(10_000) }
      const ask = (what: string) => {
        const path = what.replace(/\{\w+\}/g, (name) => paths[name] ?? name)
        return Socket.request(scene.cluster.admin, "GET", path, ["Accept: application/json"])
      }
      yield* answers(ask, {
        "/{webapps}/w": "404 404 page not found",
        "{webapps}/w/": "200 WebApp",
        "{webapps}/w/a/b": '404 NotFound: webapps.example.com "w" not found',
        "{webapps}/../webapps/w": '404 NotFound: webapps.example.com ".." not found',
        "{webapps}/./w": '404 NotFound: webapps.example.com "." not found',
        "{webapps}//w": '404 NotFound: webapps.example.com "" not found',
        "{webapps}/%77": "200 WebApp",
        "{webapps}/a%2Fb": '404 NotFound: webapps.example.com "a" not found',
        "{webapps}/%2e%2e": "400 BadRequest: Name parameter invalid: \"..\": may not be '..'",
        "{webapps}/%00": '404 NotFound: webapps.example.com "\\x00" not found',
        "{webapps}/%zz": "400 400 Bad Request",
        "{webapps}/W": '404 NotFound: webapps.example.com "W" not found',
        "{webapps}/{long}": '404 NotFound: webapps.example.com "w…" not found',
        "{webapps}/w%C3%A9": '404 NotFound: webapps.example.com "wé" not found',
        "": "400 400 Bad Request",
        "*": "404 404 page not found",
        "/": "200 without a kind",
        "//": "404 404 page not found",
        "/api/v1/namespaces/": "200 NamespaceList",
        "/api/v1/namespaces//webapps": "404 NotFound: the server could not find the requested resource",
        "/apis/example.com/v1/namespaces//webapps": "200 WebAppList",
        "/api/v1/": "200 APIResourceList",
        "/apis//": "404 404 page not found"
      })
    })
  )

  conformance(215, "what DELETE and PATCH are sent is read as strictly", {}, (scene) =>
    Effect.gen(function* () {
      // With a body, what the query says of a dry run does not count: what is deleted is made again.
      const remove = (body: string) =>
        Effect.zipRight(
          scene.request("POST", scene.webapps(), { json: webapp("w") }),
          scene.request("DELETE", `${scene.webapps("w")}?dryRun=All`, { body })
        )
      yield* answers(remove, {
        "{": "400 BadRequest: couldn't get version/kind; json parse error …",
        "[]": "400 BadRequest: couldn't get version/kind; json parse error …",
        '{"kind":"Status","apiVersion":"v1"}':
          "400 BadRequest: converting (v1.Status) to (v1.DeleteOptions): unknown conversion",
        '{"gracePeriodSeconds":"1"}': "400 BadRequest: json: cannot unmarshal …",
        '{"gracePeriodSeconds":-1}': "200 Success",
        '{"propagationPolicy":1}': "400 BadRequest: json: cannot unmarshal …",
        '{"nothing":1}': "200 Success",
        '{"kind":"DeleteOptions","apiVersion":"example.com/v1"}': "200 Success"
      })
      yield* scene.request("POST", scene.webapps(), { json: webapp("w") })
      const patch = (body: string) =>
        scene.request("PATCH", `${scene.webapps("w")}?dryRun=All`, {
          body,
          contentType: "application/merge-patch+json"
        })
      yield* answers(patch, {
        "[]": "400 BadRequest: error decoding patch: json: cannot unmarshal …",
        null: "400 BadRequest: Invalid JSON Patch",
        "1": "400 BadRequest: error decoding patch: json: cannot unmarshal …",
        '{"metadata":null}':
          "400 BadRequest: the name of the object (w based on URL) was undeterminable: name must be provided",
        '{"metadata":"x"}':
          '422 Invalid:  "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"example.com/v1\\",\\"kind\\":\\"WebApp\\",\\"metadata\\":\\"x\\"}": json: cannot unmarshal …',
        '{"spec":[]}':
          '422 Invalid: WebApp.example.com "w" is invalid: [spec: Invalid value: "array": spec in body must be of type object: "array", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: [] is of the type []interface {}, expected map[string]interface{}, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
        '{"kind":"Other"}':
          '422 Invalid: Other.example.com "w" is invalid: kind: Invalid value: "Other": must be WebApp',
        '{"apiVersion":"example.com/v2"}':
          '422 Invalid: WebApp.example.com "w" is invalid: apiVersion: Invalid value: "example.com/v2": must be example.com/v1'
      })
    })
  )
})
