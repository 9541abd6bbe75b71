/**
 * Answers a `ConversionReview` of `apiextensions.k8s.io/v1`. The conversion of all objects fails if that of one object fails, and the
 * user sees the name of that object and the reason.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Conversion from "../resource/Conversion.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import type * as Call from "./Call.ts"
import * as Reply from "./Reply.ts"

const others = [Schema.Record(Schema.String, Schema.Unknown)] as const

const Convertible = Schema.StructWithRest(
  Schema.Struct({
    apiVersion: Schema.String,
    kind: Schema.String,
    metadata: Schema.StructWithRest(Schema.Struct({ name: Schema.optional(Schema.String) }), others)
  }),
  others
)

const Review = Schema.Struct({
  apiVersion: Schema.Literal("apiextensions.k8s.io/v1"),
  kind: Schema.Literal("ConversionReview"),
  request: Schema.Struct({
    uid: Schema.NonEmptyString,
    desiredAPIVersion: Schema.NonEmptyString,
    objects: Schema.Array(Convertible)
  })
})

const decode = Schema.decodeUnknownOption(Review)

const longest = 1000

/** An error is logged again after this time, in ms. */
const logInterval = 60_000

/** The most errors that are counted at a time. The message of an error may contain values of users. */
const mostErrors = 1000

/** Logs an error of a conversion once in a minute, and then also the number of the errors since. */
const errorLog = () => {
  const errors = new Map<string, { readonly at: number; more: number }>()
  return (key: string, line: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const last = errors.get(key)
      if (last !== undefined && now - last.at < logInterval) {
        last.more++
        return Effect.void
      }
      // The map keeps the order of insertions, so the first error is the oldest one.
      errors.delete(key)
      const [oldest] = errors.keys()
      if (oldest !== undefined && errors.size >= mostErrors) errors.delete(oldest)
      errors.set(key, { at: now, more: 0 })
      return Effect.logWarning(last === undefined || last.more === 0 ? line : `${line} (and ${last.more} more times)`)
    })
}

/**
 * The endpoint that converts objects of these kinds. It logs each distinct error of a kind and its two versions once in a minute, with
 * the first object that has the error.
 */
export const endpoint = (kinds: ReadonlyArray<CustomResource.Any>): Reply.Endpoint => {
  const logError = errorLog()
  return (body, call) =>
    Effect.gen(function* () {
      const { request } = yield* Reply.decoded(
        () => Option.getOrUndefined(decode(body)),
        "a ConversionReview of apiextensions.k8s.io/v1"
      )
      const { desiredAPIVersion, objects, uid } = request
      const review: Call.Conversion = {
        uid,
        desired: desiredAPIVersion,
        objects: objects.length,
        kind: objects[0]?.kind,
        failure: undefined
      }
      if (call !== undefined) call.conversion = review
      let panic: unknown
      const convertedObjects: Array<KubernetesObject> = []
      let failure: string | undefined
      for (const each of objects) {
        const object = each as object as KubernetesObject
        const one = convert(kinds, object, desiredAPIVersion)
        if (Result.isFailure(one)) {
          panic = one.failure.panic
          const message = Text.printable(Text.clip(one.failure.message, longest))
          failure = `${object.kind} ${JSON.stringify(object.metadata.name ?? "")}: ${message}`
          yield* logError(
            [object.kind, object.apiVersion, desiredAPIVersion, message].join("\n"),
            `A conversion to ${desiredAPIVersion} failed: ${failure}`
          )
          break
        }
        convertedObjects.push(one.success)
      }
      review.failure = failure
      const answer = (response: object, code = 200): Reply.Reply => ({
        code,
        panicked: panic !== undefined,
        body: { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", response: { uid, ...response } }
      })
      return failure === undefined
        ? answer({ convertedObjects, result: { status: "Success" } })
        : answer({ convertedObjects: [], result: { status: "Failure", message: failure } }, 500)
    })
}

interface Failure {
  readonly message: string
  readonly panic?: unknown
}

const convert = (
  kinds: ReadonlyArray<CustomResource.Any>,
  object: KubernetesObject,
  desired: string
): Result.Result<KubernetesObject, Failure> => {
  const kind = kinds.find(
    (kind) => kind.kind === object.kind && Conversion.versionsOf(kind).includes(object.apiVersion ?? "")
  )
  if (kind === undefined) {
    return Result.fail({
      message: `unknown kind: ${object.kind} of ${object.apiVersion} (this webhook does not convert it)`
    })
  }
  try {
    return Result.mapError(Conversion.convert(kind, object, desired), (message) => ({ message }))
  } catch (panic) {
    const text = panic instanceof Error ? panic.message || panic.name : String(panic)
    return Result.fail({ message: `internal error of the conversion: ${text}`, panic: panic ?? "undefined" })
  }
}
