/** Fields that another client sets instead of those that the program owns, where the API server accepts only one of both. */
import * as Json from "@homeostat/apiserver/model/Json"
import type { Operation } from "@homeostat/runtime/client/Patch"
import * as Unions from "@homeostat/runtime/resource/Unions"
import type { Asked } from "../RequestMatch.ts"

/** A valid value of some members of unions, the first of which another client sets. */
const values: Json.JsonObject = {
  exec: { command: ["true"] },
  httpGet: { port: 80 },
  hostPath: { path: "/other" },
  emptyDir: {},
  valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
  fieldRef: { fieldPath: "metadata.name" },
  secretKeyRef: { name: "other", key: "other" },
  value: "other",
  minAvailable: 1,
  maxUnavailable: 1,
  rollingUpdate: { maxUnavailable: 1 },
  localhostProfile: "other.json",
  loadBalancerSourceRanges: ["10.0.0.0/8"],
  privileged: true,
  allowPrivilegeEscalation: false
}

const shapeOf = ({ collection }: Asked): Unions.Shape | undefined => {
  const [, root, ...path] = collection.split("/")
  const group = root === "apis" ? (path[0] ?? "") : ""
  return Unions.of({ group, plural: path.at(-1) ?? "" })
}

/** Returns the operations that set a sibling of each field of the body that is in a union. */
export const operations = (asked: Asked, body: Json.JsonObject, object: Json.JsonObject): ReadonlyArray<Operation> => {
  const shape = shapeOf(asked)
  return shape === undefined ? [] : inStruct(shape, body, object, "")
}

const inStruct = (
  shape: Unions.Shape,
  body: Json.JsonObject,
  object: Json.JsonObject,
  pointer: string
): ReadonlyArray<Operation> => [
  ...(shape.unions ?? []).flatMap((union) => inUnion(union, body, object, pointer)),
  ...Object.entries(shape.fields ?? {}).flatMap(([name, inner]) => {
    const [sent, stored] = [body[name], object[name]]
    if (Json.isObject(sent) && Json.isObject(stored)) return inStruct(inner, sent, stored, `${pointer}/${name}`)
    const items = Json.list(stored)
    return Json.list(sent).flatMap((item) => {
      const key = inner.key ?? "name"
      const place = items.findIndex((other) => Json.at(other, key) === Json.at(item, key))
      return inStruct(inner, Json.object(item), Json.object(items[place]), `${pointer}/${name}/${place}`)
    })
  })
]

const inUnion = (
  union: Unions.Union,
  body: Json.JsonObject,
  object: Json.JsonObject,
  pointer: string
): ReadonlyArray<Operation> => {
  if ("disjoint" in union) return []
  if ("oneOf" in union) {
    const own = union.oneOf.find((name) => body[name] !== undefined && object[name] !== undefined)
    const sibling = Object.keys(values).find((name) => name !== own && union.oneOf.includes(name))
    return own === undefined || sibling === undefined
      ? []
      : [
          { op: "remove", path: `${pointer}/${own}` },
          { op: "add", path: `${pointer}/${sibling}`, value: values[sibling] }
        ]
  }
  const { allows, excludes, field } = union
  const sibling = excludes.find((name) => values[name] !== undefined && object[name] === undefined)
  const isOwn =
    body[field] !== undefined && object[field] !== undefined && !allows.some((value) => value === body[field])
  return sibling === undefined || !isOwn || allows[0] === undefined
    ? []
    : [
        { op: "replace", path: `${pointer}/${field}`, value: allows[0] },
        { op: "add", path: `${pointer}/${sibling}`, value: values[sibling] }
      ]
}
