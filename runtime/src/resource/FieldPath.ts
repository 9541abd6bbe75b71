/**
 * Resolves a JSONPath of a CRD: `.spec.image`, `.status.conditions[?(@.type=="Ready")].status`,
 * `.metadata.labels.app\.kubernetes\.io/name`. The server accepts any path and shows nothing for a wrong one, so this module finds
 * mistakes.
 */
import * as Result from "effect/Result"
import type { StructuralSchema } from "./StructuralSchema.ts"

/** One step: to a property, or to an item of a list. */
export type Step = { readonly name: string } | { readonly item: string }

const name = String.raw`\.((?:\\.|[^.[\]\\])+)`
const quoted = String.raw`\[(?:'((?:\\.|[^'\\])+)'|"((?:\\.|[^"\\])+)")\]`
const item = String.raw`\[(\?\(.*?\)(?=\])|[-\d*:,]+)\]`
const step = new RegExp(`${name}|${quoted}|${item}`, "y")

/** The steps of a path; a failure is the error. */
export const parse = (path: string): Result.Result<ReadonlyArray<Step>, string> => {
  const steps: Array<Step> = []
  step.lastIndex = 0
  while (step.lastIndex < path.length) {
    const at = step.lastIndex
    const found = step.exec(path)
    if (found === null) return Result.fail(`${path} cannot be read from ${JSON.stringify(path.slice(at))} on`)
    const [, plain, single, double, item] = found
    const property = plain ?? single ?? double
    if (property !== undefined) steps.push({ name: property.replace(/\\(.)/g, "$1") })
    else if (item !== undefined) steps.push({ item })
  }
  return steps.length === 0 ? Result.fail("the path is empty") : Result.succeed(steps)
}

/** The metadata of every object, with the fields that a path may use. */
const metadata: StructuralSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    namespace: { type: "string" },
    generateName: { type: "string" },
    uid: { type: "string" },
    resourceVersion: { type: "string" },
    generation: { type: "integer" },
    creationTimestamp: { type: "string", format: "date-time" },
    deletionTimestamp: { type: "string", format: "date-time" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
    finalizers: { type: "array", items: { type: "string" } },
    ownerReferences: { type: "array", items: { "x-kubernetes-preserve-unknown-fields": true } }
  }
}

/** The schema at a path of an object with the schema `root`; a failure is the error. */
export const resolve = (root: StructuralSchema, path: string): Result.Result<StructuralSchema, string> =>
  Result.flatMap(parse(path), (steps) => {
    let schema: StructuralSchema = { ...root, properties: { ...root.properties, metadata } }
    for (const step of steps) {
      const next = into(schema, step)
      if (next === undefined) {
        return Result.fail(
          "name" in step
            ? `${path} not found: the schema has no field ${step.name}`
            : `${path} takes an item of a field that is not a list`
        )
      }
      schema = next
    }
    return Result.succeed(schema)
  })

const into = (schema: StructuralSchema, step: Step): StructuralSchema | undefined => {
  const unknown: StructuralSchema | undefined = schema["x-kubernetes-preserve-unknown-fields"]
    ? { "x-kubernetes-preserve-unknown-fields": true }
    : undefined
  if ("item" in step) return schema.items ?? unknown
  const { properties } = schema
  return properties !== undefined && Object.hasOwn(properties, step.name)
    ? properties[step.name]
    : (schema.additionalProperties ?? unknown)
}
