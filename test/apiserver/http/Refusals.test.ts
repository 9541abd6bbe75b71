import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import type * as Json from "../model/Json.ts"
import { ask, configMaps, make, thing, things } from "./Client.fixture.ts"

/** The responses of a real kube-apiserver 1.37.1 to the same requests, with a thing and a ConfigMap named `a` in `default`. */
const refusals: ReadonlyArray<
  readonly [
    name: string,
    request: readonly [method: string, path: string, body?: Json.JsonObject | string, type?: string],
    code: number,
    reason: string | undefined,
    message: string
  ]
> = [
  [
    "a path of a built-in API that is none",
    ["GET", "/api/v1/nope"],
    404,
    "NotFound",
    "the server could not find the requested resource"
  ],
  [
    "a version of a built-in group that is none",
    ["GET", "/apis/apps/v9"],
    404,
    "NotFound",
    "the server could not find the requested resource"
  ],
  [
    "a built-in kind in the wrong scope",
    ["GET", "/api/v1/namespaces/default/namespaces"],
    404,
    "NotFound",
    "the server could not find the requested resource"
  ],
  [
    "a subresource that a built-in kind has not",
    ["GET", `${configMaps}/a/status`],
    404,
    "NotFound",
    "the server could not find the requested resource"
  ],
  [
    "a subresource that a custom kind has not",
    ["GET", `${things}/a/nope`],
    404,
    "NotFound",
    'things.probe.io "a" not found'
  ],
  [
    "a method that a built-in path has not",
    ["PUT", configMaps],
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource"
  ],
  [
    "a creation at a status",
    ["POST", `${things}/a/status`, {}],
    405,
    "MethodNotAllowed",
    'create is not supported on resources of kind "things.probe.io"'
  ],
  ["a PUT without a name", ["PUT", things, {}], 400, "BadRequest", "name must be provided"],
  ["an object that is not there", ["GET", `${things}/none`], 404, "NotFound", 'things.probe.io "none" not found'],
  [
    "a namespace that is not there",
    ["POST", "/apis/probe.io/v1/namespaces/nope/things", thing("x")],
    404,
    "NotFound",
    'namespaces "nope" not found'
  ],
  ["an object that is there", ["POST", things, thing("a")], 409, "AlreadyExists", 'things.probe.io "a" already exists'],
  [
    "another namespace in the body",
    ["POST", things, thing("x", {}, { namespace: "other" })],
    400,
    "BadRequest",
    "the namespace of the provided object does not match the namespace sent on the request"
  ],
  [
    "a resourceVersion in a new object",
    ["POST", things, thing("x", {}, { resourceVersion: "5" })],
    500,
    undefined,
    "resourceVersion should not be set on objects to be created"
  ],
  [
    "an unknown dryRun",
    ["POST", `${things}?dryRun=Foo`, thing("x")],
    422,
    "Invalid",
    'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Foo"]: supported values: "All"'
  ],
  [
    "an unknown fieldValidation",
    ["POST", `${things}?fieldValidation=Foo`, thing("x")],
    422,
    "Invalid",
    'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"'
  ],
  [
    "a field manager with a line break",
    ["POST", `${things}?fieldManager=a%0Ab`, thing("x")],
    422,
    "Invalid",
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'
  ],
  [
    "a timeout that is no duration",
    ["GET", `${things}?timeout=abc`],
    400,
    "BadRequest",
    'invalid timeout specified in the request URL - time: invalid duration "abc"'
  ],
  [
    "a limit that is no number",
    ["GET", `${things}?limit=abc`],
    400,
    "BadRequest",
    'strconv.ParseInt: parsing "abc": invalid syntax'
  ],
  [
    "a label selector that is none",
    ["GET", `${things}?labelSelector=a%3D%3D%3Db`],
    400,
    "BadRequest",
    "unable to parse requirement: found '=', expected: identifier"
  ],
  [
    "a field that cannot be selected",
    ["GET", `${things}?fieldSelector=spec.x%3D1`],
    400,
    "BadRequest",
    "field label not supported: spec.x"
  ],
  [
    "a continue token that is none",
    ["GET", `${things}?continue=garbage`],
    400,
    "BadRequest",
    "invalid continue token: continue key is not valid: invalid character '\\u0081' looking for beginning of value"
  ],
  [
    "a continue token that leads elsewhere",
    ["GET", `${things}?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTAsInN0YXJ0IjoiL2EvLi4vYiJ9`],
    400,
    "BadRequest",
    "invalid continue token: continue key is not valid: /a/../b"
  ],
  [
    "an exact match of any version",
    ["GET", `${things}?resourceVersion=0&resourceVersionMatch=Exact`],
    422,
    "Invalid",
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
  ],
  [
    "a version that is no number",
    ["GET", `${things}?resourceVersion=abc`],
    400,
    "BadRequest",
    'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
  ],
  [
    "a watch from what is no number",
    ["GET", `${things}?watch=true&resourceVersion=abc`],
    500,
    undefined,
    'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
  ],
  [
    "a match without initial events",
    ["GET", `${things}?watch=true&resourceVersionMatch=NotOlderThan`],
    422,
    "Invalid",
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
  ],
  [
    "a PUT of a custom object without a version",
    ["PUT", `${things}/a`, thing("a")],
    422,
    "Invalid",
    'things.probe.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'
  ],
  [
    "a PUT of an old version",
    ["PUT", `${things}/a`, thing("a", {}, { resourceVersion: "5" })],
    409,
    "Conflict",
    'Operation cannot be fulfilled on things.probe.io "a": the object has been modified; please apply your changes to the latest version and try again'
  ],
  [
    "a PUT of another name",
    ["PUT", `${things}/a`, thing("b")],
    400,
    "BadRequest",
    "the name of the object (b) does not match the name on the URL (a)"
  ],
  [
    "a PUT of no name",
    ["PUT", `${things}/a`, { apiVersion: "probe.io/v1", kind: "Thing", metadata: {} }],
    400,
    "BadRequest",
    "the name of the object (a based on URL) was undeterminable: name must be provided"
  ],
  [
    "a PUT of what is not there",
    ["PUT", `${things}/none`, thing("none")],
    404,
    "NotFound",
    'things.probe.io "none" not found'
  ],
  [
    "a patch of another name",
    ["PATCH", `${things}/a`, '{"metadata":{"name":"b"}}'],
    400,
    "BadRequest",
    "the name of the object (b) does not match the name on the URL (a)"
  ],
  [
    "a patch of another kind",
    ["PATCH", `${things}/a`, '{"kind":"Zz"}'],
    422,
    "Invalid",
    'Zz.probe.io "a" is invalid: kind: Invalid value: "Zz": must be Thing'
  ],
  [
    "a patch of the uid",
    ["PATCH", `${things}/a`, '{"metadata":{"uid":"zz"}}'],
    422,
    "Invalid",
    'Thing.probe.io "a" is invalid: metadata.uid: Invalid value: "zz": field is immutable'
  ],
  [
    "a patch of an old version",
    ["PATCH", `${things}/a`, '{"metadata":{"resourceVersion":"5","labels":{"n":"m"}}}'],
    409,
    "Conflict",
    'Operation cannot be fulfilled on things.probe.io "a": the object has been modified; please apply your changes to the latest version and try again'
  ],
  [
    "a forced patch",
    ["PATCH", `${things}/a?force=true`, "{}"],
    422,
    "Invalid",
    'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
  ],
  [
    "a strategic patch of a custom object",
    ["PATCH", `${things}/a`, "{}", "application/strategic-merge-patch+json"],
    415,
    "UnsupportedMediaType",
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
  ],
  [
    "an apply by nobody",
    ["PATCH", `${things}/a`, JSON.stringify(thing("a")), "application/apply-patch+yaml"],
    422,
    "Invalid",
    'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
  ],
  [
    "an apply that means another object",
    [
      "PATCH",
      `${things}/none?fieldManager=m`,
      JSON.stringify(thing("none", {}, { uid: "zz" })),
      "application/apply-patch+yaml"
    ],
    409,
    "Conflict",
    'Operation cannot be fulfilled on things.probe.io "none": uid mismatch: the provided object specified uid zz, and no existing object was found'
  ],
  [
    "an unknown propagation policy",
    ["DELETE", `${things}/a`, { propagationPolicy: "Bogus" }],
    422,
    "Invalid",
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"'
  ],
  [
    "two policies at once",
    ["DELETE", `${things}/a`, { propagationPolicy: "Orphan", orphanDependents: true }],
    422,
    "Invalid",
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'
  ],
  [
    "delete options that are none",
    ["DELETE", `${things}/a`, "{"],
    400,
    "BadRequest",
    "couldn't get version/kind; json parse error: unexpected end of JSON input"
  ],
  [
    "delete options of another kind",
    ["DELETE", `${things}/a`, { kind: "Foo", apiVersion: "v1" }],
    400,
    "BadRequest",
    'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
  ],
  [
    "a grace period that is no number",
    ["DELETE", `${things}/a`, { gracePeriodSeconds: "abc" }],
    400,
    "BadRequest",
    "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
  ],
  [
    "the end of the default namespace",
    ["DELETE", "/api/v1/namespaces/default"],
    403,
    "Forbidden",
    'namespaces "default" is forbidden: this namespace may not be deleted'
  ],
  [
    "a scale that was never set",
    ["GET", `${things}/a/scale`],
    500,
    "InternalError",
    'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
  ],
  [
    "a scale below zero",
    ["PATCH", `${things}/a/scale`, '{"spec":{"replicas":-1}}'],
    422,
    "Invalid",
    'Thing.probe.io "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer'
  ]
]

const withObjects = Effect.tap(make(), (server) =>
  Effect.andThen(ask(server, "POST", things, thing("a")), ask(server, "POST", configMaps, { metadata: { name: "a" } }))
)

describe("ApiServer rejects", () => {
  for (const [name, [method, path, body, type], code, reason, message] of refusals) {
    effect(`${name} with ${code}`, () =>
      Effect.gen(function* () {
        const server = yield* withObjects
        const contentType = type ?? (method === "PATCH" ? "application/merge-patch+json" : "application/json")
        const answer = yield* ask(server, method, path, body, { headers: { "content-type": contentType } })
        expect(answer.status).toBe(code)
        expect(answer.body).toMatchObject({ code, message })
        expect(answer.body.reason).toBe(reason)
        expect(answer.body).toMatchObject({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" })
      })
    )
  }
})
