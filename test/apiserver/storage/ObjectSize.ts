/** Enforces etcd's size limit of a single object. */
import * as Failure from "../model/Failure.ts"
import { isList, isObject, type Json, type JsonObject } from "../model/Json.ts"

/** The default of etcd's `--max-request-bytes`. */
const most = 1.5 * 1024 * 1024

/** Estimates the length of the value as JSON. A string counts by its characters, not by its bytes. */
const lengthOf = (value: Json | undefined): number => {
  if (typeof value === "string") return value.length + 2
  let length = 2
  if (isList(value)) for (const each of value) length += lengthOf(each) + 1
  else if (isObject(value)) for (const name in value) length += name.length + lengthOf(value[name]) + 4
  return length
}

/** Throws a Failure (500) if etcd would not store the object because of its size. */
export const check = (object: JsonObject): void => {
  if (lengthOf(object) > most) throw Failure.plain("etcdserver: request is too large")
}
