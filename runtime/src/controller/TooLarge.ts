/** A reconciled object that is too large for the cache. */
import * as Data from "effect/Data"
import * as Budget from "../cache/Budget.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** The object is too large. The runtime does not reconcile it before it is smaller or is deleted. */
export class TooLarge extends Data.TaggedError("TooLarge")<{ readonly message: string }> {}

/** The error about an object. */
export const of = ({ kind }: Resource.Any, { metadata }: KubernetesObject): TooLarge =>
  new TooLarge({
    message: `${kind} ${keyString(metadata)} is too large to be reconciled: it takes more than ${Budget.mostBytes} bytes in the cache (shorten its values, labels and annotations)`
  })
