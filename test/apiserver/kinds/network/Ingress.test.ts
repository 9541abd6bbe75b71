import { expect, test } from "bun:test"
import type { JsonObject } from "../../model/Json.ts"
import * as ObjectIndex from "../../model/ObjectIndex.ts"
import { ingress } from "./Ingress.ts"

/** The field and the message of each `spec` error of an Ingress. */
const errors = (spec: JsonObject) =>
  ingress.strategy
    .validate(
      { metadata: { name: "i", namespace: "n" }, spec },
      {
        now: 0,
        warn: () => {},
        user: { name: "u", groups: [] },
        stored: () => [],
        values: (_, valuesOf) => ObjectIndex.make(valuesOf, [])
      }
    )
    .filter(({ field }) => field?.startsWith("spec"))
    .map(({ field, message }) => [field, message])

test("The default backend of an Ingress needs a service with a name and one port", () => {
  expect(errors({ defaultBackend: { service: { name: "web", port: { number: 80 } } } })).toEqual([])
  expect(errors({ defaultBackend: {} })).toEqual([
    ["spec.defaultBackend", 'Invalid value: "": resource or service backend is required']
  ])
  expect(errors({ defaultBackend: { service: { name: "web", port: { name: "http", number: 80 } } } })).toEqual([
    ["spec.defaultBackend", 'Invalid value: "": cannot set both port name & port number']
  ])
})
