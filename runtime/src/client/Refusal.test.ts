import { describe, expect, test } from "bun:test"
import * as ApiError from "./ApiError.ts"
import { rejected } from "./Refusal.fixture.ts"
import * as Refusal from "./Refusal.ts"

const refusal = (words: string, causes: ReadonlyArray<{ readonly reason: string }> = []): ApiError.Forbidden => {
  const request = { method: "PATCH", path: "/apis/apps/v1/namespaces/default/deployments/a" }
  const error = ApiError.fromStatus(
    request,
    { kind: "Status", reason: "Forbidden", message: words, details: { causes } },
    403
  )
  if (!(error instanceof ApiError.Forbidden)) throw new Error(`no refusal: ${error._tag}`)
  return error
}

const unauthorized = (verb: string, resource = "deployments", group = "apps", where = ' in the namespace "default"') =>
  refusal(`x "a" is forbidden: User "u:v" cannot ${verb} resource "${resource}" in API group "${group}"${where}`)

describe("The description of a Forbidden error", () => {
  const request = "The API server refuses PATCH /apis/apps/v1/namespaces/default/deployments/a: "
  const cases: ReadonlyArray<readonly [string, ApiError.Forbidden, string]> = [
    [
      "names the missing verb, the resource and the namespace",
      unauthorized("patch"),
      `${request}x "a" is forbidden: User "u:v" cannot patch resource "deployments" in API group "apps" in the namespace "default"; requires permission to patch deployments.apps in namespace default`
    ],
    [
      "names a subresource of a cluster-scoped kind",
      unauthorized("update", "nodes/status", "", " at the cluster scope: RBAC: role not found"),
      `${request}x "a" is forbidden: User "u:v" cannot update resource "nodes/status" in API group "" at the cluster scope: RBAC: role not found; requires permission to update nodes/status cluster-wide`
    ],
    [
      "is the message of the server if no permission is missing",
      refusal('pods "a" is forbidden: exceeded quota: none'),
      `${request}pods "a" is forbidden: exceeded quota: none`
    ],
    [
      "truncates the message of the server before the missing permission",
      unauthorized("patch", "deployments", "apps", ` in the namespace "default"${" x".repeat(600)}`),
      `${`${request}x "a" is forbidden: User "u:v" cannot patch resource "deployments" in API group "apps" in the namespace "default"${" x".repeat(600)}`.slice(0, 534)}…; requires permission to patch deployments.apps in namespace default`
    ]
  ]
  test("mentions that the controller does not declare the permission, unless it does", () => {
    const described = (error: ApiError.Forbidden, declared: boolean) =>
      Refusal.describe(error, ({ verb }) => declared && verb === "patch")
    const hint = ", and the controller does not declare it: add it to access"
    expect(described(unauthorized("patch"), false)).toEndWith(hint)
    expect(described(unauthorized("patch"), true)).not.toContain("declare")
    expect(described(refusal("exceeded quota"), false)).toEndWith("exceeded quota")
  })
  test("has one trimmed line of limited length", () => {
    expect(Refusal.line(" a\n\t b ")).toBe("a b")
    expect(Refusal.line("a".repeat(10), 10)).toBe("a".repeat(10))
    expect(Refusal.line("a".repeat(11), 10)).toBe(`${"a".repeat(9)}…`)
    expect(Refusal.line(`${" ".repeat(8192)}tail`)).toBe("")
  })
  for (const [sentence, error, text] of cases) test(sentence, () => expect(Refusal.describe(error)).toBe(text))
})

describe("The description of an Invalid error", () => {
  const start = 'The API server refuses PATCH /x: Deployment "a" is invalid: '
  const template = `{"spec":{"env":[{"value":"hunter2"},{"value":"${"x".repeat(5000)}"}]}}`
  const cases: ReadonlyArray<readonly [string, ApiError.Invalid, string]> = [
    [
      "is the message of the server",
      rejected("spec.cpu", 'Invalid value: "1500m": must be less than or equal to cpu limit of 1'),
      `${start}spec.cpu: Invalid value: "1500m": must be less than or equal to cpu limit of 1`
    ],
    [
      "without an object as a value",
      rejected("spec.template", `Invalid value: ${template}: field is immutable`),
      `${start}spec.template: Invalid value: field is immutable`
    ],
    [
      "without a Go value",
      rejected(
        "spec.template",
        'Invalid value: core.PodTemplateSpec{Env: []core.EnvVar{{Value:"hunter2"}}}: field is immutable'
      ),
      `${start}spec.template: Invalid value: field is immutable`
    ],
    [
      "without a long value",
      rejected("spec.name", `Invalid value: "${"x".repeat(65)}": must be shorter`),
      `${start}spec.name: Invalid value: must be shorter`
    ],
    [
      "without the value of a field that is called as a secret",
      rejected("spec.password", 'Invalid value: "hunter2": must be longer'),
      `${start}spec.password: Invalid value: must be longer`
    ],
    [
      "without a secret value that nothing follows",
      rejected("spec.password", "Invalid value: hunter2 hunter3"),
      `${start}spec.password: Invalid value`
    ],
    [
      "without the values of a Secret",
      rejected("data[key]", 'Invalid value: "hunter2": must be longer', "Secret"),
      'The API server refuses PATCH /x: Secret "a" is invalid: data[key]: Invalid value: must be longer'
    ],
    [
      "without the lines of a difference",
      rejected("spec", 'Forbidden: updates may not change fields\n  core.PodSpec{\n- Value: "hunter2"'),
      `${start}spec: Forbidden: updates may not change fields`
    ],
    [
      "without what looks like a credential",
      rejected("spec.url", "Forbidden: https://u:hunter2@host is not allowed"),
      `${start}spec.url: Forbidden: https://<redacted>@host is not allowed`
    ]
  ]
  for (const [how, error, text] of cases) test(how, () => expect(Refusal.describe(error)).toBe(text))

  test("omits a missing name or field, and uses the message without causes", () => {
    const { details, ...rest } = rejected("", "must be shorter")
    const described = (over: object) =>
      Refusal.describe(new ApiError.Invalid({ ...rest, details, message: "PATCH /x: is invalid", ...over } as never))
    expect(described({ details: { ...details, name: "" } })).toBe("The API server refuses PATCH /x: must be shorter")
    expect(described({ causes: [] })).toBe("The API server refuses PATCH /x: is invalid")
  })
  test("does not apply to a failed test of a JSON patch", () => {
    const { causes, ...rest } = rejected("spec", "must be shorter")
    const of = (over: object) => Refusal.isRejection(new ApiError.Invalid({ ...rest, causes, ...over } as never))
    const message = "PATCH /x: the server rejected our request due to an error in our request"
    expect(of({})).toBe(true)
    expect(of({ message })).toBe(true)
    expect(of({ causes: [] })).toBe(true)
    expect(of({ causes: [], message })).toBe(false)
    expect(Refusal.isRejection(new Error("no"))).toBe(false)
  })
  test("has at most 1024 characters, for any message", () => {
    const adversarial = ['"'.repeat(1e6), "\\".repeat(1e6), `Invalid value: "${"\\".repeat(1e6)}`, "{".repeat(1e6)]
    for (const message of [...adversarial, `Invalid value: ${"a.".repeat(5e5)}`]) {
      const began = performance.now()
      expect(Refusal.describe(rejected("spec", message)).length).toBeLessThanOrEqual(1024)
      expect(performance.now() - began).toBeLessThan(200)
    }
  })
})

describe("an answer with the code 400", () => {
  const of = (message: string) =>
    ApiError.fromStatus({ method: "PATCH", path: "/a" }, { kind: "Status", reason: "BadRequest", message }, 400)
  const denial = 'admission webhook "validate.nginx.test" denied the request: host "a" and path "/" is defined already'

  test("is a denial of an object if it comes from an admission webhook", () => {
    const denied = of(denial)
    expect(Refusal.isDenied(denied) ? Refusal.describe(denied) : undefined).toBe(
      `The API server refuses PATCH /a: ${denial}`
    )
    expect(Refusal.isDenied(of("the body is not JSON"))).toBe(false)
  })
})
