/** The failure of a child whose kind the API server does not serve. */
import * as Data from "effect/Data"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import type { Memory } from "./Memory.ts"

/**
 * The API server does not serve the kind of a child, which is optional (`Owned.kind(…, { optional: true })`). The controller does not retry
 * the object before its next trigger. It reconciles the object as soon as the API server serves the kind.
 */
export class NotServed extends Data.TaggedError("NotServed")<{
  /** The kind of the child. */
  readonly kind: string
  /** The group and version of the kind. */
  readonly apiVersion: string
}> {
  override get message(): string {
    return `the API server does not serve ${this.apiVersion} ${this.kind}: install its CustomResourceDefinition`
  }
}

/**
 * The failure if the API server does not serve the kind. From then on, the owner waits for the kind.
 *
 * @internal
 */
export const of = (memory: Memory, owner: KubernetesObject, kind: Resource.Any): NotServed | undefined => {
  const name = Resource.nameOf(kind)
  if (!memory.unserved().has(name)) return undefined
  memory.block(name, keyString(owner.metadata))
  return new NotServed({ kind: kind.kind, apiVersion: Resource.apiVersionOf(kind) })
}
