/**
 * The transport of a replay. It sends nothing.
 *
 * A request gets the response of the recorded request of its method and path, in their order. A write gets it only if its body is the same.
 * Any other write gets an assumed response. A read that the recording does not have stops the replay.
 */
import * as Effect from "effect/Effect"
import * as ApiError from "../client/ApiError.ts"
import { infoOf, type Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import type { Document, RequestDocument } from "../manager/recordings/Document.ts"
import * as Target from "../plan/Target.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Assumed from "./Assumed.ts"
import type { Known } from "./Known.ts"
import * as Lineage from "./Lineage.ts"
import type { RecordedTime } from "./RecordedTime.ts"
import type { Source, Trail } from "./Trail.ts"
import * as Writes from "./Writes.ts"

/** The parts of a transport. */
export interface Options {
  readonly document: Document
  readonly known: Known
  readonly trail: Trail
  readonly time: RecordedTime
  readonly lineage: Lineage.Lineage
}

/** The transport, and the writes that differ from the recording. */
export interface Recorded {
  readonly transport: Transport.Transport["Service"]
  /** In the order of the writes; the recorded writes that the replay did not send come last. */
  readonly differences: () => ReadonlyArray<Writes.Difference>
  /** The number of writes of the replay. */
  readonly writes: () => number
}

type Answer = Effect.Effect<Response, ApiError.Transport | ApiError.Fenced>

const response = (status: number, headers: { readonly [name: string]: string }, body: unknown): Response => ({
  status,
  headers: { get: (name) => headers[name.toLowerCase()] ?? null },
  body: typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body)
})

const json = { "content-type": "application/json" }

/** The error of a recorded request without a response. */
const failureOf = (
  request: Request,
  { code, message, outcome, reason }: NonNullable<RequestDocument["error"]>,
  server: string
): ApiError.Transport | ApiError.Fenced =>
  outcome === undefined
    ? new ApiError.Fenced({ message, code: "FENCED", reason, request: infoOf(request) })
    : new ApiError.Transport({ message, code, reason, outcome, server, request: infoOf(request) })

const placeOf = ({ group, name, namespace, plural }: Target.Target, named = name): string =>
  `${group === "" ? plural : `${plural}.${group}`} ${keyString({ namespace, name: named })}`

const isObject = (body: unknown): body is KubernetesObject =>
  typeof body === "object" && body !== null && "metadata" in body && Reflect.get(body, "kind") !== "Status"

/** Whether a request had ended before the other one began. Recordings of older programs do not say. */
const isBefore = (one: RequestDocument, other: RequestDocument): boolean =>
  one.order !== undefined && other.order !== undefined && one.order.ended <= other.order.began

/** The transport for a recording. */
export const make = ({ document, known, lineage, time, trail }: Options): Recorded => {
  const { requests, server } = document
  const used = new Set<RequestDocument>()
  const differences: Array<Writes.Difference> = []
  const comparison = Writes.comparison(document)
  /** The answers by the requests of the client: a retry is the same request. */
  const answers = new WeakMap<object, Answer>()
  let writes = 0
  /** The recorded writes that the replay has sent, in its own order. */
  const sent: Array<{ readonly write: RequestDocument; readonly at: Lineage.Moment }> = []

  /** Compares the order of a write with that of the recording. */
  const placed = (write: RequestDocument, at: Lineage.Moment): void => {
    const before = sent.find((one) => Lineage.follows(at, one.at) && isBefore(write, one.write))?.write
    sent.push({ write, at })
    if (before === undefined) return
    const { method, path } = write
    differences.push({ difference: "moved", method, path, fields: [], after: `${before.method} ${before.path}` })
  }

  const alike = ({ method, path }: Request): ReadonlyArray<RequestDocument> =>
    requests.filter((each) => each.method === method && each.path === path)

  const entered = (request: Request, answer: string, source: Source): void =>
    trail.add({ step: "request", method: request.method, path: request.path, answer, source })

  /** Notes the state of the object in a recorded response. */
  const saw = (request: Request, target: Target.Target | undefined, body: unknown, status: number): void => {
    if (target === undefined || request.dryRun === true) return
    if (request.method === "GET" && status === 404 && target.name !== "") known.saw(placeOf(target), null)
    if (status >= 300 || target.subresource === "scale") return
    if (request.method === "DELETE" && !isObject(body)) known.saw(placeOf(target), null)
    else if (isObject(body) && body.metadata.name !== undefined) known.saw(placeOf(target, body.metadata.name), body)
  }

  const stopped = (request: Request, why: string): Answer => {
    const what = `${request.method} ${request.path}`
    trail.stop(`the recording does not have ${why}: ${what}`, what)
    return Effect.interrupt
  }

  const recorded = (request: Request, found: RequestDocument): Answer => {
    used.add(found)
    time.reach(Date.parse(found.startedAt) + found.millis)
    if (found.response !== undefined) {
      const { body, headers, status } = found.response
      saw(request, Target.of(request), body, status)
      entered(request, String(status), "recorded")
      return Effect.succeed(response(status, headers, body))
    }
    if (found.error !== undefined) {
      entered(request, found.error.message, "recorded")
      return Effect.fail(failureOf(request, found.error, server))
    }
    if (found.cut === true) return stopped(request, "the response, which was too large, of")
    entered(request, "interrupted", "recorded")
    // The reconcile itself limits the time of a request. The end of its manager does not come again.
    return document.ending.outcome === "Interrupted" ? Effect.interrupt : Effect.never
  }

  const read = (request: Request): Answer => {
    const target = Target.of(request)
    const isOne = target !== undefined && target.name !== "" && ["", "status"].includes(target.subresource)
    const written = isOne ? known.written(placeOf(target)) : undefined
    const all = alike(request)
    const found = written === undefined ? (all.find((each) => !used.has(each)) ?? all.at(-1)) : undefined
    if (found !== undefined) return recorded(request, found)
    const state = isOne ? known.get(placeOf(target)) : undefined
    if (state === undefined) return stopped(request, "the read")
    entered(request, state === null ? "404" : "200", "known")
    return Effect.succeed(
      state === null
        ? response(404, json, {
            kind: "Status",
            status: "Failure",
            reason: "NotFound",
            message: "not found",
            code: 404
          })
        : response(200, json, state)
    )
  }

  const write = (request: Request, at: Lineage.Moment): Answer => {
    writes++
    const { method, path } = request
    const body = Writes.bodyOf(request)
    const unused = alike(request).filter((each) => !used.has(each))
    const same = unused.find((each) => comparison.fields(each.body, body).length === 0)
    if (same !== undefined) {
      placed(same, at)
      return recorded(request, same)
    }
    const [other] = unused
    if (other !== undefined) {
      used.add(other)
      placed(other, at)
    }
    differences.push(
      other === undefined
        ? { difference: "added", method, path, fields: Writes.stated(body) }
        : { difference: "changed", method, path, fields: comparison.fields(other.body, body) }
    )
    const target = Target.of(request)
    if (target === undefined) return stopped(request, "the write")
    const name = target.name === "" ? Assumed.nameOf(request, writes) : target.name
    // A write of a collection names no object that must exist.
    const before = known.get(placeOf(target, name)) ?? (target.name === "" ? null : undefined)
    const assumed = Assumed.of(request, name, before, target.subresource, time.clock.currentTimeMillisUnsafe())
    if (assumed === undefined) return stopped(request, "the object of")
    if (request.dryRun !== true) {
      known.wrote(placeOf(target, name), assumed.after)
    }
    entered(request, String(assumed.status), "assumed")
    return Effect.succeed(response(assumed.status, json, assumed.body))
  }

  const send = (request: Request): Answer =>
    Effect.withFiber((fiber) => {
      time.stir()
      const { sendings } = request
      const known = sendings === undefined ? undefined : answers.get(sendings)
      if (known !== undefined) return known
      const answer = request.method === "GET" ? read(request) : write(request, lineage.momentOf(fiber))
      if (sendings !== undefined) answers.set(sendings, answer)
      return answer
    })

  return {
    transport: Transport.Transport.of({
      server,
      send,
      open: (request) => {
        const { path } = infoOf(request)
        trail.stop(`a replay has no watches: ${path}`, `watch of ${path}`)
        return Effect.interrupt
      }
    }),
    differences: () => [
      ...differences,
      ...requests
        .filter((each) => Writes.isWrite(each) && !used.has(each))
        .map(
          ({ body, method, path }): Writes.Difference => ({
            difference: "missing",
            method,
            path,
            fields: Writes.stated(body)
          })
        )
    ],
    writes: () => writes
  }
}
