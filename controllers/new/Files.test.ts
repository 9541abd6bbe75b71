import { describe, expect, test } from "bun:test"
import { basename } from "node:path"
import { parse } from "@babel/parser"
import * as Result from "effect/Result"
import * as Files from "./Files.ts"
import * as Names from "./Names.ts"
import * as Webhook from "./Webhook.ts"

const kind = "Zebra"
const files = Files.of(Names.of({ kind, group: "zoo.example.com", version: "v1", plural: undefined }), "0.1.0")
const webhooks = Webhook.files({
  name: "zebra",
  kind,
  group: "zoo.example.com",
  plural: "zebras",
  namespaced: true,
  spec: { stripes: 3 }
})
const modules = [...files, ...webhooks].filter(([path]) => path.endsWith(".ts"))

/** Where a node has the name of what it imports, declares or takes for a type. */
const keyOf = (type: string): string | undefined => {
  if (/^Import\w*Specifier$/.test(type)) return "local"
  if (type === "TSTypeReference") return "typeName"
  return /Declarat(ion|or)$/.test(type) ? "id" : undefined
}

const nameOf = (node: object): unknown => {
  const key = keyOf(String(Reflect.get(node, "type")))
  const identifier: unknown = key === undefined ? undefined : Reflect.get(node, key)
  return typeof identifier === "object" && identifier !== null ? Reflect.get(identifier, "name") : undefined
}

/** All such names in a syntax tree. */
const namesIn = (value: unknown): ReadonlyArray<unknown> =>
  typeof value !== "object" || value === null ? [] : [nameOf(value), ...Object.values(value).flatMap(namesIn)]

describe("The modules of a new controller", () => {
  test("use only names that a kind cannot have", () => {
    const found = modules
      .flatMap(([, text]) => namesIn(parse(text, { sourceType: "module", plugins: ["typescript"] }).program))
      .filter((one) => typeof one === "string")
      .filter((one) => /^[A-Z]/.test(one) && one !== kind && one !== `${kind}Status`)
    expect(Array.from(new Set(found)).toSorted()).toEqual(Array.from(Names.used))
  })

  test("never have the file name of a kind, even on a case-insensitive file system", () => {
    const others = modules.map(([path]) => basename(path, ".ts")).filter((one) => one !== kind && !one.includes("."))
    expect(others).not.toBeEmpty()
    for (const one of others) expect(Result.isFailure(Names.kindOf(one.toUpperCase()))).toBe(true)
  })
})
