import { describe, expect, test } from "bun:test"
import * as Expression from "@homeostat/apiserver/kinds/cel/Expression"
import * as Admission from "./admission.ts"

/** Numbers as CEL has them. */
const cel = (value: unknown): unknown => {
  if (typeof value === "number") return BigInt(value)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cel(member)]))
}

const environment = Expression.environment()
  .registerVariable("object", "dyn")
  .registerVariable("oldObject", "dyn")
  .registerVariable("request", "dyn")

const evaluate = (expression: string, spec: object, old?: object): unknown => {
  const program = Expression.compile(environment, expression)
  if ("problem" in program) throw new Error(program.problem)
  const variables = {
    self: null,
    object: cel({ spec }),
    oldObject: old === undefined ? null : cel({ spec: old }),
    request: { operation: old === undefined ? "CREATE" : "UPDATE" }
  }
  const result = program.evaluate(variables)
  if ("problem" in result) throw new Error(result.problem)
  return result.value
}

type Rule = Readonly<Record<"expression" | "messageExpression", string>>

/** The warning of a rule; undefined if the object is fine. */
const warning = (rule: Rule, spec: object, old?: object): unknown =>
  evaluate(rule.expression, spec, old) === true ? undefined : evaluate(rule.messageExpression, spec, old)

const digest = `sha256:${"0123456789abcdef".repeat(4)}`

describe("An image without a version has a warning", () => {
  const says = (image: string) =>
    `spec.image: "${image}" has no version, so pods may run different programs (write a tag other than latest, or a digest)`
  for (const image of [
    "nginx",
    "nginx:latest",
    "library/nginx",
    "registry.example.com/shop",
    "registry.example.com:5000/shop",
    "registry.example.com:5000/team/shop:latest",
    "localhost:5000/nginx"
  ]) {
    test(image, () => expect(warning(Admission.imageTag, { image })).toBe(says(image)))
  }
  for (const image of [
    "nginx:1.27",
    "nginx:latest-alpine",
    "nginx:1.27-latest",
    "registry.example.com:5000/shop:1",
    `nginx@${digest}`,
    `nginx:latest@${digest}`,
    `registry.example.com:5000/team/shop:2@${digest}`
  ]) {
    test(`${image}: none`, () => expect(warning(Admission.imageTag, { image })).toBeUndefined())
  }
  test("only when the image changes", () => {
    const [before, after] = [{ image: "nginx" }, { image: "nginx", replicas: 3 }]
    expect(warning(Admission.imageTag, after, before)).toBeUndefined()
    expect(warning(Admission.imageTag, after, { image: "nginx:1" })).toBe(says("nginx"))
  })
})

describe("An image that the kubelet cannot parse has a warning", () => {
  const says = (image: string) =>
    `spec.image: "${image}" is an invalid image name, so no pod can start (write it like registry.example.com/shop:1.2)`
  for (const image of [
    "Nginx",
    "nginx:1:2",
    "nginx:",
    ":1.27",
    "https://registry.example.com/shop:1",
    "registry.example.com//shop:1",
    "registry.example.com/shop:1/2",
    "shop/:1",
    "nginx:.1",
    "nginx@sha256:0",
    `nginx:${"1".repeat(129)}`
  ]) {
    test(image, () => expect(warning(Admission.imageName, { image })).toBe(says(image)))
  }
  for (const image of [
    "nginx",
    "library/nginx:1.27",
    "a--b/c__d/e.f_g:V_1-2",
    "LOCALHOST:5000/a",
    "[fd00::1]:5000/shop:1",
    `registry.example.com:5000/team/shop:2@${digest}`,
    `shop@sha512+b64:${"f".repeat(32)}`
  ]) {
    test(`${image}: none`, () => expect(warning(Admission.imageName, { image })).toBeUndefined())
  }
  test("only when the image changes", () =>
    expect(warning(Admission.imageName, { image: "Nginx", port: 1 }, { image: "Nginx" })).toBeUndefined())
})

describe("An update that changes the replicas a lot has a warning", () => {
  const of = (replicas: number | undefined) => ({ image: "nginx:1", ...(replicas !== undefined && { replicas }) })
  const table: ReadonlyArray<readonly [from: number | undefined, to: number | undefined, warns: boolean]> = [
    [0, 50, false],
    [50, 0, false],
    [undefined, 50, false],
    [50, undefined, false],
    [1, 10, false],
    [1, 11, true],
    [2, 11, false],
    [2, 12, true],
    [5, 15, false],
    [5, 16, true],
    [10, 30, false],
    [10, 31, true],
    [16, 50, true],
    [17, 50, false],
    [9, 1, false],
    [10, 4, false],
    [10, 3, true],
    [12, 4, false],
    [50, 17, false],
    [50, 16, true],
    [3, 3, false],
    [undefined, undefined, false]
  ]
  for (const [from, to, warns] of table) {
    test(`from ${from} to ${to}: ${warns}`, () =>
      expect(warning(Admission.replicasJump, of(to), of(from))).toBe(
        warns ? `spec.replicas changes from ${from} to ${to} (check the number)` : undefined
      ))
  }
  test("a creation has none", () => expect(warning(Admission.replicasJump, of(50))).toBeUndefined())
})

test("All rules warn, and their messages without values are short", () => {
  const [{ hooks, rules }] = Admission.admission
  expect(hooks).toEqual([])
  expect(rules.map(({ action, name }) => [name, action])).toEqual([
    ["image-tag", "Warn"],
    ["image-name", "Warn"],
    ["replicas-jump", "Warn"]
  ])
  for (const { message } of rules) expect(message.length).toBeLessThanOrEqual(120)
})
