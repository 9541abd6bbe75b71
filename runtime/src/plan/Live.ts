/** Reads of the API server of the cluster. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ApiError from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import type { Response } from "../client/Response.ts"
import * as Answers from "./Answers.ts"
import type { Collection } from "./Simulation.ts"

/** The result of a read. Failure: the response of an API server that refuses it, or does not have the object. */
export type Read<A> = Effect.Effect<Result.Result<A, Response>, ApiError.ApiError>

/** The client for the reads. */
export type Reader = Pick<Client.Client["Service"], "raw">

/** For a page of a list, which may be large. */
const timeoutMillis = 60_000

/** The answers that a reconcile may get. Any other error ends the plan. */
const answers = new Set([403, 404, 405])

/** The JSON at a path, of type A by the contract of the API server. */
export const read = <A>(client: Reader, path: string): Effect.Effect<A, ApiError.ApiError> =>
  Effect.map(client.raw({ method: "GET", path, retry: true, timeoutMillis }), ({ body }) => JSON.parse(body) as A)

/** A resource in the discovery of an API server. */
export interface Resource {
  /** The plural; that of a subresource has a slash. */
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

/** The resources of a version of a group. Every authenticated user may read them. */
export const resources = (
  client: Reader,
  { group, version }: Pick<Collection, "group" | "version">
): Effect.Effect<ReadonlyArray<Resource>, ApiError.ApiError> =>
  Effect.map(
    read<{ readonly resources?: ReadonlyArray<Resource> }>(
      client,
      group === "" ? `/api/${version}` : `/apis/${group}/${version}`
    ),
    ({ resources = [] }) => resources
  )

/** A refusal, or the absence, as a response. */
export const answered = <A>(effect: Effect.Effect<A, ApiError.ApiError>): Read<A> =>
  Effect.matchEffect(effect, {
    onFailure: (error) =>
      ApiError.isAnswer(error) && answers.has(error.code)
        ? Effect.succeed(Result.fail(Answers.ofError(error)))
        : Effect.fail(error),
    onSuccess: (value) => Effect.succeed(Result.succeed(value))
  })
