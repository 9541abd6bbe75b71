import { expect, test } from "bun:test"
import { transferred } from "./Undo.ts"

const entry = (manager: string, operation: "Apply" | "Update", fieldsV1: { readonly [field: string]: unknown }) => ({
  manager,
  operation,
  apiVersion: "apps/v1",
  fieldsType: "FieldsV1",
  fieldsV1
})

const template = (fields: object) => ({ "f:spec": { "f:template": { "f:spec": fields } } })

const ours = entry("webapp-controller", "Apply", {
  "f:metadata": { "f:labels": {} },
  "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": { "k:1": { ".": {} } } } } }
})
const undo = entry(
  "kubectl",
  "Update",
  template({ "f:nodeSelector": {}, "f:containers": { "k:1": { "f:image": {} } } })
)
const whole = {
  ...ours.fieldsV1,
  "f:spec": {
    "f:replicas": {},
    "f:template": { "f:spec": { "f:nodeSelector": {}, "f:containers": { "k:1": { ".": {}, "f:image": {} } } } }
  }
}

test("The fields that kubectl rollout undo set become those of the controller, and an empty entry is removed", () => {
  expect(transferred([ours, undo])).toEqual([{ ...ours, fieldsV1: whole }])
})

test("The other fields of the manager stay its own", () => {
  const other = { ...undo, fieldsV1: { "f:spec": { ...(undo.fieldsV1["f:spec"] as object), "f:paused": {} } } }
  expect(transferred([other, ours])).toEqual([
    { ...other, fieldsV1: { "f:spec": { "f:paused": {} } } },
    { ...ours, fieldsV1: whole }
  ])
})

test("Another client that restores the annotations gives its fields too", () => {
  const annotations = { "f:metadata": { "f:annotations": { "f:apps.kubedojo.io/template-hash": {} } } }
  const other = { ...undo, manager: "k9s", fieldsV1: { ...undo.fieldsV1, ...annotations } }
  expect(transferred([ours, other])?.[0]?.fieldsV1).toEqual(whole)
})

for (const manager of ["kubectl-rollout", "kubectl-set", "istio", "webapp-controller"]) {
  test(`The fields of ${manager} stay its own`, () => {
    expect(transferred([ours, { ...undo, manager }])).toBeUndefined()
  })
}

test("A write of the scale is not an undo", () => {
  expect(transferred([ours, { ...undo, subresource: "scale" }])).toBeUndefined()
})
