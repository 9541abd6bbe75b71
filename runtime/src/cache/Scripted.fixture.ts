/** Objects, failures and a scripted server, for the tests of this folder. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as ApiError from "../client/ApiError.ts"
import * as Watch from "../client/Watch.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import type { ListerWatcher, Page } from "./ListerWatcher.ts"

const freeze = <A extends object>(value: A): A => {
  for (const part of Object.values(value)) if (typeof part === "object" && part !== null) freeze(part)
  return Object.freeze(value)
}

/** An owner by its UID; cluster-scoped without a namespace. */
export const owner = (uid: string, namespace?: string): KubernetesObject => ({
  metadata: {
    name: "o",
    uid,
    resourceVersion: "1",
    creationTimestamp: "",
    ...(namespace !== undefined && { namespace })
  }
})

export const web = (options: {
  readonly name: string
  readonly rv: string
  readonly uid?: string
  readonly namespace?: string
  readonly labels?: { readonly [key: string]: string }
  readonly owner?: string
  readonly metadata?: Partial<ObjectMeta>
}): KubernetesObject =>
  freeze({
    apiVersion: "apps.kubedojo.io/v1beta1",
    kind: "WebApp",
    metadata: {
      name: options.name,
      namespace: options.namespace ?? "default",
      uid: options.uid ?? `uid-${options.name}`,
      resourceVersion: options.rv,
      creationTimestamp: "2026-11-20T00:00:00Z",
      ...(options.labels !== undefined && { labels: options.labels }),
      ...(options.owner !== undefined && {
        ownerReferences: [{ apiVersion: "v1", kind: "Owner", name: "o", uid: options.owner }]
      }),
      ...options.metadata
    }
  })

const request = { method: "GET", path: "/apis/apps.kubedojo.io/v1beta1/webapps" }

/** An error response of the server. */
export const refusal = (code: number, reason: string, retryAfterSeconds = 0, message = reason): ApiError.Answered =>
  reason === ""
    ? ApiError.fromResponse(request, {
        status: code,
        headers: new Headers(),
        body: "404 page not found"
      })
    : ApiError.fromStatus(request, { kind: "Status", code, reason, message, details: { retryAfterSeconds } }, code)

/** A request without a response. */
export const unreachable = new ApiError.Transport({
  message: "GET /apis: connect ECONNREFUSED",
  code: "ECONNREFUSED",
  reason: "connection refused",
  outcome: "unsent",
  server: "memory",
  request
})

/** A request whose response did not arrive in time. */
export const late = new ApiError.Transport({
  message: "GET /apis: no answer in time",
  code: "DEADLINE",
  reason: "no answer in time",
  outcome: "unknown",
  server: "memory",
  request
})

/** The next outcome of a watch. */
export type Happening = ReadonlyArray<Watch.Event> | Watch.Ended | Watch.Idle | ApiError.Transport

export const ended = new Watch.Ended({ message: "ended" })
export const idle = new Watch.Idle({ message: "idle" })

/** A request to the scripted server, with the functions that respond to it. */
export type Asked =
  | {
      readonly _tag: "page"
      readonly limit: number
      readonly continue: string | undefined
      readonly answer: (page: Page) => Effect.Effect<void>
      readonly refuse: (error: ApiError.ApiError) => Effect.Effect<void>
    }
  | {
      readonly _tag: "watch"
      readonly from: string
      /** Accepts the watch. Returns a function that delivers its next outcome. */
      readonly accept: Effect.Effect<(happening: Happening) => Effect.Effect<void>>
      readonly refuse: (error: ApiError.ApiError) => Effect.Effect<void>
    }

/** A server whose responses a test determines. */
export interface Scripted {
  readonly source: ListerWatcher
  /** Waits for the next request. */
  readonly asked: Effect.Effect<Asked>
  /** The number of requests that the test has not read. */
  readonly pending: Effect.Effect<number>
  /** The number of open watches. */
  readonly open: () => number
}

type Answer<A> = Effect.Effect<A, ApiError.ApiError>

const settle = <A>(answers: Queue.Queue<Answer<A>>): Effect.Effect<A, ApiError.ApiError> =>
  Effect.flatten(Queue.take(answers))

/** Makes a scripted server, which waits for the responses of the test. */
export const scripted: Effect.Effect<Scripted> = Effect.gen(function* () {
  const requests = yield* Queue.unbounded<Asked>()
  let open = 0
  const source: ListerWatcher = {
    page: (options) =>
      Effect.gen(function* () {
        const answers = yield* Queue.unbounded<Answer<Page>>()
        yield* Queue.offer(requests, {
          _tag: "page",
          limit: options.limit,
          continue: options.continue,
          answer: (value) => Effect.asVoid(Queue.offer(answers, Effect.succeed(value))),
          refuse: (error) => Effect.asVoid(Queue.offer(answers, Effect.fail(error)))
        })
        return yield* settle(answers)
      }),
    watch: (options) =>
      Effect.gen(function* () {
        const answers = yield* Queue.unbounded<Answer<Watch.Connection>>()
        const happenings = yield* Queue.unbounded<Happening>()
        yield* Queue.offer(requests, {
          _tag: "watch",
          from: options.resourceVersion,
          accept: Effect.as(
            Queue.offer(
              answers,
              Effect.succeed({
                next: Effect.flatMap(Queue.take(happenings), (happening): Watch.Connection["next"] =>
                  "_tag" in happening ? Effect.fail(happening) : Effect.succeed(happening)
                )
              })
            ),
            (happening: Happening) => Effect.asVoid(Queue.offer(happenings, happening))
          ),
          refuse: (error) => Effect.asVoid(Queue.offer(answers, Effect.fail(error)))
        })
        const connection = yield* settle(answers)
        open++
        yield* Effect.addFinalizer(() => Effect.sync(() => open--))
        return connection
      })
  }
  return { source, asked: Queue.take(requests), pending: Queue.size(requests), open: () => open }
})
