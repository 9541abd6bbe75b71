/** The faults of a schedule, and the points of a story at which they occur. */

/** A fault. */
export type Fault =
  /** The process dies, and a new process starts. */
  | { readonly _tag: "Crash"; readonly when: "before" | "after" }
  /** The API server handles the request, and its response is lost. */
  | { readonly _tag: "LostAnswer" }
  /** The API server rejects the request once. */
  | { readonly _tag: "Refused"; readonly status: RefusedStatus }
  /** The API server is unavailable from this request on, for 30 seconds. */
  | { readonly _tag: "Outage" }
  /** Another client changes the object directly before the request. */
  | { readonly _tag: "ForeignWrite"; readonly how: ForeignWrite }
  /** The leader is suspended after the request, until another process becomes the leader. */
  | { readonly _tag: "SecondLeader" }
  /** A watch is delayed from this event on. */
  | { readonly _tag: "Lag" }
  /** A watch gets no events from this one on, until the cluster is at rest. Then its resourceVersion has expired. */
  | { readonly _tag: "Missed" }

/** The status codes of rejected requests. 422 is the denial of a write by a policy. */
export type RefusedStatus = 409 | 422 | 429 | 500 | 403

/**
 * The writes of other clients:
 * - `other field`: sets an annotation that the controller does not know.
 * - `same field`: sets another value in a field of the request.
 * - `sibling`: sets fields that exclude fields of the request, such as a `hostPath` instead of an `emptyDir`.
 * - `deleted`: deletes the object.
 * - `taken`: creates an object of the same name, which belongs to another owner.
 */
export type ForeignWrite = "other field" | "same field" | "sibling" | "deleted" | "taken"

/** A point: the n-th request, or the n-th event of a watch, since the previous fault or the start of the step. */
export type Point =
  | {
      readonly _tag: "Request"
      readonly at: number
      /** For example `PATCH apps/v1/deployments/default/shop`. */
      readonly text: string
      /** For example `PATCH apps/v1/deployments`. */
      readonly site: string
      /** The number of earlier requests at the same site. */
      readonly nth?: number | undefined
    }
  | { readonly _tag: "Event"; readonly at: number; readonly watch: string }

/** A fault at a point. */
export interface Planned {
  readonly fault: Fault
  readonly point: Point
}

/** The faults of one step of a story, in order. */
export interface Schedule {
  /** The index of the step. */
  readonly step: number
  readonly faults: ReadonlyArray<Planned>
}

const short = (fault: Fault): string => {
  switch (fault._tag) {
    case "Crash":
      return `crash-${fault.when}`
    case "Refused":
      return String(fault.status)
    case "ForeignWrite":
      return fault.how.replace(" ", "-")
    case "LostAnswer":
      return "lost"
    case "SecondLeader":
      return "second-leader"
    default:
      return fault._tag.toLowerCase()
  }
}

/**
 * Returns the identifier of a fault at a point: `r7.crash-after`.
 *
 * @internal
 */
export const part = ({ fault, point }: Planned): string =>
  point._tag === "Request"
    ? `r${point.at}.${short(fault)}`
    : `${point.watch.split("/").at(-1)}.e${point.at}.${short(fault)}`

/**
 * Returns the identifier of a schedule, which selects the schedule on the command line: `2/r7.crash-after`.
 *
 * @internal
 */
export const identifier = ({ faults, step }: Schedule): string => [step, ...faults.map(part)].join("/")

const sentence = (fault: Fault): string => {
  switch (fault._tag) {
    case "Crash":
      return `the process dies ${fault.when} it`
    case "LostAnswer":
      return "its answer is lost"
    case "Refused":
      return `the API server answers ${fault.status} once`
    case "Outage":
      return "the API server is unavailable for 30 seconds from it on"
    case "ForeignWrite":
      return {
        "other field": "another client first writes another field",
        "same field": "another client first writes the same field",
        sibling: "another client first writes fields that exclude those of the request",
        deleted: "another client first deletes the object",
        taken: "another client first creates an object of that name"
      }[fault.how]
    case "SecondLeader":
      return "the leader is suspended after it, and wakes up when another process leads"
    case "Lag":
      return "arrives 20 seconds late"
    case "Missed":
      return "is lost with all later events, and the watch has expired"
  }
}

/**
 * Describes a fault: `PATCH apps/v1/…/deployments/shop (request 7): the process dies after it`. The point of a second fault counts from
 * the first one.
 *
 * @internal
 */
export const describe = ({ fault, point }: Planned, isFirst = true): string => {
  const number = `${point.at + 1}${isFirst ? "" : " after that"}`
  return point._tag === "Request"
    ? `${point.text} (request ${number}): ${sentence(fault)}`
    : `event ${number} of the watch of ${point.watch} ${sentence(fault)}`
}
