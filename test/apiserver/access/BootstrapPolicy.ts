/** The roles and bindings of a new cluster, as `test/record/bootstrap.ts` records them from a kube-apiserver. */
import { createHash } from "node:crypto"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { timestamp } from "../model/Timestamp.ts"
import type { Saved } from "../storage/Store.ts"
import recorded from "./bootstrap.json"
import { storageOf } from "./RbacAuthorizer.ts"

/** The objects by resource, without uids and times. */
export const objects: { readonly [plural: string]: ReadonlyArray<JsonObject> } = recorded

/** The resourceVersion of all objects of a new cluster. */
const revision = 100

/**
 * The initial content of a store. The names of the objects determine their uids, so the uids are equal in each cluster. Without
 * `isAggregated`, the ClusterRoles that a controller aggregates have no rules.
 */
export const saved = (now: number, isAggregated = true): Saved => ({
  revision,
  storages: Object.fromEntries(
    Object.entries(objects).map(([plural, all]) => [
      storageOf(plural),
      all.map((object) => stamped(plural, isAggregated ? object : unfilled(object), timestamp(now)))
    ])
  )
})

/** The role without aggregated rules, as a kube-apiserver creates it. */
const unfilled = (role: JsonObject): JsonObject => {
  if (role.aggregationRule === undefined) return role
  const metadata = J.object(role.metadata)
  const managedFields = J.objects(metadata.managedFields).filter(({ manager }) => manager === "kube-apiserver")
  return { ...role, metadata: { ...metadata, managedFields }, rules: null }
}

const stamped = (plural: string, object: JsonObject, time: string): JsonObject => {
  const { annotations, labels, managedFields, name, namespace } = J.object(object.metadata)
  return {
    ...object,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: uidOf(`${plural}/${J.text(namespace) ?? ""}/${J.text(name) ?? ""}`),
      resourceVersion: String(revision),
      creationTimestamp: time,
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      managedFields: J.objects(managedFields).map(({ fieldsType, fieldsV1, ...entry }) => ({
        ...entry,
        time,
        fieldsType,
        fieldsV1
      }))
    }
  }
}

const uids = new Map<string, string>()

/** A UUID that depends only on the name. */
const uidOf = (key: string): string => {
  const found = uids.get(key)
  if (found !== undefined) return found
  const hex = createHash("sha256").update(key).digest("hex")
  const uid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  uids.set(key, uid)
  return uid
}
