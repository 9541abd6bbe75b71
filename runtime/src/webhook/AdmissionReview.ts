/**
 * Answers an `AdmissionReview` of `admission.k8s.io/v1`.
 *
 * A check that fails with an error of its own is not a denial: the endpoint answers with HTTP 500, and the failure policy of the
 * webhook decides. A defect is a denial that says so, because the code is wrong for this object and would fail again.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Exchanges, Ledger } from "../client/Exchange.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Text from "../resource/Text.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as Admission from "./Admission.ts"
import type * as Call from "./Call.ts"
import * as Reply from "./Reply.ts"

const strings = Schema.Array(Schema.String)

/** The parts of an object that every kind has. */
const AnyObject = Schema.StructWithRest(Schema.Struct({ metadata: Schema.Record(Schema.String, Schema.Unknown) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])

const Review = Schema.Struct({
  apiVersion: Schema.Literal("admission.k8s.io/v1"),
  kind: Schema.Literal("AdmissionReview"),
  request: Schema.Struct({
    uid: Schema.NonEmptyString,
    operation: Schema.Literals(["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    name: Schema.String.pipe(Schema.withDecodingDefaultType(Effect.succeed(""))),
    namespace: Schema.optional(Schema.String),
    dryRun: Schema.NullOr(Schema.Boolean).pipe(Schema.withDecodingDefaultType(Effect.succeed(false))),
    object: Schema.NullOr(AnyObject).pipe(Schema.withDecodingDefaultType(Effect.succeed(null))),
    oldObject: Schema.NullOr(AnyObject).pipe(Schema.withDecodingDefaultType(Effect.succeed(null))),
    userInfo: Schema.Struct({
      username: Schema.String.pipe(Schema.withDecodingDefaultType(Effect.succeed(""))),
      uid: Schema.optional(Schema.String),
      groups: Schema.optional(strings),
      extra: Schema.optional(Schema.Record(Schema.String, strings))
    }).pipe(Schema.withDecodingDefaultType(Effect.succeed({ username: "" })))
  })
})

const decode = Schema.decodeUnknownOption(Review)

/** The longest message of a response, in characters: it becomes part of a header or of kubectl's output. */
const longest = 1000

const isSecret = ({ group, kind }: Resource.Any): boolean => group === "" && kind === "Secret"

/** The most errors, and the most warnings, of a response. */
const mostFindings = 100

/** The first errors and the first warnings. */
const first = (findings: ReadonlyArray<Admission.Finding>): ReadonlyArray<Admission.Finding> => {
  if (findings.length <= mostFindings) return findings
  let errors = 0
  let warnings = 0
  return findings.filter(({ _tag }) => (_tag === "Warning" ? ++warnings : ++errors) <= mostFindings)
}

/** Whether a field is part of the values of a Secret. */
const isSecretValue = (resource: Resource.Any, field: string): boolean =>
  isSecret(resource) && /^(data|stringData)\b/.test(field)

/** The longest value in the text of an error, in characters. */
const longestValue = 200

/** A value in the text of an error, as the API server writes it. */
const shown = (resource: Resource.Any, field: string, value: unknown): string => {
  if (value === undefined || value === null) return "null"
  if (isSecretValue(resource, field)) return JSON.stringify(Secrecy.hidden)
  // The name of the field may mark its value as a secret.
  const name = field.split(/[.[\]]+/).findLast((step) => step !== "") ?? ""
  // The search for secrets reads all members of a list, and the text shows only the first.
  const seen: unknown = Array.isArray(value) ? value.slice(0, longestValue) : value
  const redacted = Secrecy.redacted({ [name]: seen })
  return Text.printable(Text.clip(JSON.stringify(Object.values({ ...(redacted as object) })[0] ?? seen), longestValue))
}

/** The message of an error without its field. */
const textOf = (resource: Resource.Any, finding: Exclude<Admission.Finding, { _tag: "Warning" }>): string =>
  finding._tag === "Invalid"
    ? `Invalid value: ${shown(resource, finding.field, finding.value)}: ${finding.message}`
    : finding.field === undefined
      ? finding.message
      : `Forbidden: ${finding.message}`

const withField = (resource: Resource.Any, finding: Exclude<Admission.Finding, { _tag: "Warning" }>): string =>
  finding.field === undefined ? textOf(resource, finding) : `${finding.field}: ${textOf(resource, finding)}`

/** The status of a denial, as the API server's own validation writes it; `undefined` if no finding is an error. */
const denial = (resource: Resource.Any, name: string, findings: ReadonlyArray<Admission.Finding>) => {
  const errors = findings.filter((finding) => finding._tag !== "Warning")
  if (errors.length === 0) return undefined
  const fields = errors.filter((error) => error.field !== undefined)
  const all = errors.map((error) => withField(resource, error))
  const joined = Text.clip(all.length === 1 ? (all[0] ?? "") : `[${all.join(", ")}]`, longest)
  return fields.length < errors.length
    ? { code: 403, reason: "Forbidden", message: joined }
    : {
        code: 422,
        reason: "Invalid",
        message: `${resource.kind}${resource.group === "" ? "" : `.${resource.group}`} ${Text.printable(JSON.stringify(name))} is invalid: ${joined}`,
        details: {
          name,
          group: resource.group,
          kind: resource.kind,
          causes: fields.map((error) => ({
            reason: error._tag === "Invalid" ? "FieldValueInvalid" : "FieldValueForbidden",
            message: Text.clip(textOf(resource, error), longest),
            field: Text.clip(error.field ?? "", longest)
          }))
        }
      }
}

/** The defect of a hook in one line, without values of secrets. */
const messageOf = (defect: unknown, ledger: Ledger): string =>
  Text.clip(
    Text.printable(
      ledger.hide(
        defect instanceof Error
          ? defect.message || defect.name
          : Inspectable.toStringUnknown(Secrecy.redacted(defect), 0)
      )
    ),
    longest
  )

/** The endpoint of a kind's hooks of one type. */
export const endpoint =
  <R>(resource: Resource.Any, hooks: ReadonlyArray<Admission.Hook<R>>): Reply.Endpoint<R> =>
  (body, call) => {
    const ledger = new Ledger()
    return Effect.gen(function* () {
      const { request } = yield* Reply.decoded(
        () => Option.getOrUndefined(decode(body)),
        "an AdmissionReview of admission.k8s.io/v1"
      )
      const reply = (code: number, response: object, panicked = false): Reply.Reply => ({
        code,
        panicked,
        body: {
          apiVersion: "admission.k8s.io/v1",
          kind: "AdmissionReview",
          response: { uid: request.uid, ...response }
        }
      })
      const { oldObject, operation } = request
      const metadata = (request.object ?? oldObject)?.metadata
      const given = request.name || textAt(metadata, "name")
      const namespace = request.namespace === "" ? undefined : request.namespace
      const review: Call.Admission = {
        resource,
        uid: request.uid,
        operation,
        namespace,
        name: given,
        objectUid: textAt(metadata, "uid"),
        dryRun: request.dryRun === true,
        username: request.userInfo.username,
        answer: undefined
      }
      if (call !== undefined) call.admission = review
      const hook = hooks.find(({ operations }) => operations.some((each) => each === operation))
      if (hook === undefined) {
        review.answer = { denial: undefined, warnings: [], patch: [] }
        return reply(200, { allowed: true })
      }
      const wire = {
        ...request,
        dryRun: review.dryRun,
        namespace,
        // Checked above; the hook decodes the rest.
        object: request.object as KubernetesObject | null,
        oldObject: request.oldObject as KubernetesObject | null
      } as Admission.Wire
      // Every pod can send a review. So only webhooks of Secrets note values, up to the limit of `SecretValues`.
      if (isSecret(resource)) for (const each of [request.object, oldObject]) ledger.saw(each)
      const exit = yield* Effect.exit(Effect.suspend(() => hook.answer(wire)))
      if (Exit.isFailure(exit)) {
        if (Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
        const failure = Cause.findErrorOption(exit.cause)
        if (Option.isSome(failure)) {
          const message = messageOf(failure.value, ledger)
          yield* Effect.logWarning(`A webhook of ${Resource.nameOf(resource)} failed: ${message}`)
          return yield* new Reply.Rejected({ status: 500, message })
        }
        yield* Effect.logError(`A webhook of ${Resource.nameOf(resource)} threw`, exit.cause)
        const message = `internal error of the webhook: ${messageOf(Cause.squash(exit.cause), ledger)} (report it to its developers)`
        review.answer = { denial: message, warnings: [], patch: [] }
        const status = { code: 500, reason: "InternalError", message }
        return reply(500, { allowed: false, status }, true)
      }
      const { patch } = exit.value
      const findings = first(exit.value.findings).map((finding) => ({
        ...finding,
        message: Text.printable(ledger.hide(finding.message)),
        ...("field" in finding && finding.field !== undefined && { field: Text.printable(finding.field) })
      }))
      // The name of an object that the API server has not named yet is its `generateName`.
      const name = given ?? textAt(metadata, "generateName") ?? ""
      const status = denial(resource, name, findings)
      const warnings = findings.flatMap((finding) =>
        finding._tag === "Warning" ? [Text.clip(finding.message.replace(/\s+/g, " "), longest)] : []
      )
      review.answer = { denial: status?.message, warnings, patch: status === undefined ? patch : [] }
      if (status !== undefined) {
        const where = wire.namespace === undefined ? name : `${wire.namespace}/${name}`
        yield* Effect.logDebug(
          `Denied ${wire.operation} of ${Resource.nameOf(resource)} ${where} by ${wire.userInfo.username}: ${status.message}`
        )
      }
      return reply(status?.code ?? 200, {
        allowed: status === undefined,
        ...(status === undefined ? {} : { status }),
        ...(warnings.length === 0 ? {} : { warnings }),
        ...(status !== undefined || patch.length === 0
          ? {}
          : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") })
      })
      // The log of a hook has no values of the object either.
    }).pipe(Effect.provideService(Exchanges, ledger))
  }

/** The endpoints of declared webhooks by their paths. */
export const endpoints = <R>(
  declared: ReadonlyArray<Admission.Admission<R>>
): ReadonlyMap<string, Reply.Endpoint<R>> => {
  const found = new Map<string, Reply.Endpoint<R>>()
  for (const { hooks, resource } of declared) {
    for (const hook of hooks) {
      const all = declared
        .filter((other) => Resource.nameOf(other.resource) === Resource.nameOf(resource))
        .flatMap((other) => other.hooks)
        .filter(({ type }) => type === hook.type)
      found.set(Admission.pathOf(resource, hook), endpoint(resource, all))
    }
  }
  return found
}

/** A text of the metadata, which may have any content; undefined if it is empty. */
const textAt = (metadata: object | undefined, field: "name" | "generateName" | "uid"): string | undefined => {
  const value: unknown = metadata === undefined ? undefined : Reflect.get(metadata, field)
  return typeof value === "string" && value !== "" ? value : undefined
}
