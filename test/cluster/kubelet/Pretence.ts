/**
 * What a pod does whose image is no program: it starts, and either runs on or, where it is not to be restarted, completes.
 * Annotations have it fail instead.
 */

import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Duration from "effect/Duration"

/** On a pod: its image cannot be pulled. The value, if any, is the text of the registry's error. */
export const imagePullError = "envtest/image-pull-error"

/** On a pod: its containers exit with code 1, or the code that is the value, soon after each start. */
export const crashLoop = "envtest/crash-loop"

/** On a pod: it is evicted soon after its start. The value, if any, is the message. */
export const evicted = "envtest/evict"

/** How long pretended containers take. */
export interface Times {
  /** From being told of a pod to its containers being ready. */
  readonly startUp: Duration.Duration
  /** From its start to the end of a container that is not to run for ever. */
  readonly run: Duration.Duration
}

/** As fast as can be watched. */
export const defaults: Times = { startUp: Duration.millis(100), run: Duration.millis(500) }

/** What a container that is only pretended will do. */
export interface Plan {
  /** After how long it ends, and how; undefined: it runs on. */
  readonly ends: { readonly after: Duration.Duration; readonly exitCode: number } | undefined
}

/** The plan for the containers of a pod. Those of a Job's pods complete; so do all that come before the others. */
export const plan = (pod: Pod, times: Times, isInit: boolean): Plan => {
  const crash = pod.metadata.annotations?.[crashLoop]
  if (crash !== undefined && !isInit) {
    const code = Number.parseInt(crash, 10)
    return { ends: { after: times.run, exitCode: code > 0 ? code : 1 } }
  }
  if (isInit) return { ends: { after: Duration.zero, exitCode: 0 } }
  return pod.metadata.ownerReferences?.some(({ kind }) => kind === "Job") === true
    ? { ends: { after: times.run, exitCode: 0 } }
    : { ends: undefined }
}
