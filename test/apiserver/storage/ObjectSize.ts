/** The limit of etcd for one object. */
import * as Failure from "../model/Failure.ts"
import { isList, isObject, type Json, type JsonObject } from "../model/Json.ts"

/** The default of etcd's `--max-request-bytes`. */
const most = 1.5 * 1024 * 1024

/** About the length of the value as JSON: texts count by their characters. */
const lengthOf = (value: Json | undefined): number => {
  if (typeof value === "string") return value.length + 2
  let length = 2
  if (isList(value)) for (const each of value) length += lengthOf(each) + 1
  else if (isObject(value)) for (const name in value) length += name.length + lengthOf(value[name]) + 4
  return length
}

/** Throws a Failure (500) for an object that etcd would not store. */
export const check = (object: JsonObject): void => {
  if (lengthOf(object) > most) throw Failure.plain("etcdserver: request is too large")
}
