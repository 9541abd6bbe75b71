/** The steps of a replay, in their order: what the attempt read, sent and logged. */

/** How a replay answered a request. */
export type Source =
  /** With the recorded response. */
  | "recorded"
  /** With the object that the recording has from another read. */
  | "known"
  /** As if the API server had accepted the write, because the recording has no such write. */
  | "assumed"

/** A step. */
export type Step =
  | { readonly step: "read"; readonly what: string; readonly found: string }
  | {
      readonly step: "request"
      readonly method: string
      readonly path: string
      /** The status, or the error without a response. */
      readonly answer: string
      readonly source: Source
    }
  | { readonly step: "event"; readonly type: string; readonly reason: string; readonly note: string }
  | { readonly step: "log"; readonly level: string; readonly message: string }

/** The steps so far, and why the replay stopped before the end of the attempt. */
export interface Trail {
  readonly add: (step: Step) => void
  readonly steps: () => ReadonlyArray<Step>
  /** Stops the replay. Only the first reason counts. */
  readonly stop: (reason: string, missing?: string) => void
  /** The reason of the stop; undefined if the attempt came to its end. */
  readonly stopped: () => string | undefined
  /** The reads that the recording does not have. */
  readonly missing: () => ReadonlyArray<string>
}

/** An empty trail. */
export const make = (): Trail => {
  const steps: Array<Step> = []
  const missing: Array<string> = []
  let stopped: string | undefined
  return {
    add: (step) => void steps.push(step),
    steps: () => steps,
    stop: (reason, lacking) => {
      stopped ??= reason
      if (lacking !== undefined && !missing.includes(lacking)) missing.push(lacking)
    },
    stopped: () => stopped,
    missing: () => missing
  }
}
