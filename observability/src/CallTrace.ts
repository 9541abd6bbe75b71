/**
 * Completes the trace of a request to a webhook from its record. Only exported traces pay for the attributes.
 *
 * @internal
 */
import { apiVersionOf } from "@homeostat/runtime/resource/Resource"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import type { Recording } from "@homeostat/runtime/telemetry/Recording"
import type { Admission, Call, Conversion } from "@homeostat/runtime/webhook/Call"
import * as JsonPatch from "@homeostat/runtime/webhook/JsonPatch"

/**
 * Completes the recording of a request: adds the attributes of its root. `undefined` if the request was not traced.
 *
 * @internal
 */
export const complete = (call: Call): Recording | undefined => {
  const { root } = call
  if (root === undefined) return undefined
  for (const [name, value] of Object.entries(attributesOf(call, root.recording))) {
    if (value !== undefined) root.attribute(name, value)
  }
  return root.recording
}

const attributesOf = (call: Call, { dropped }: Recording): Record<string, unknown> => ({
  [Attribute.httpMethod]: call.method,
  [Attribute.httpRoute]: call.path,
  [Attribute.urlPath]: call.path,
  [Attribute.urlScheme]: "https",
  [Attribute.httpStatus]: call.status,
  [Attribute.errorType]: errorOf(call),
  [Attribute.droppedSpans]: dropped || undefined,
  ...(call.admission !== undefined && ofAdmission(call.admission)),
  ...(call.conversion !== undefined && ofConversion(call.conversion))
})

/** The type of an error by OpenTelemetry's conventions: the HTTP status of a server error. */
const errorOf = ({ panicked, status }: Call): string | undefined => {
  if (status === undefined) return "Interrupted"
  if (panicked) return "InternalError"
  return status < 500 ? undefined : String(status)
}

const ofAdmission = ({ answer, ...review }: Admission): Record<string, unknown> => ({
  [Attribute.objectKind]: review.resource.kind,
  [Attribute.objectApiVersion]: apiVersionOf(review.resource),
  [Attribute.namespace]: review.namespace,
  [Attribute.objectName]: review.name,
  [Attribute.objectUid]: review.objectUid,
  [Attribute.admissionUid]: review.uid,
  [Attribute.admissionOperation]: review.operation,
  [Attribute.admissionDryRun]: review.dryRun,
  ...(answer !== undefined && {
    [Attribute.admissionAllowed]: answer.denial === undefined,
    [Attribute.admissionMessage]: answer.denial,
    [Attribute.admissionWarnings]: answer.warnings.length === 0 ? undefined : answer.warnings,
    [Attribute.admissionFields]: answer.patch.length === 0 ? undefined : answer.patch.map(JsonPatch.fieldOf)
  })
})

const ofConversion = ({ desired, failure, kind, objects, uid }: Conversion): Record<string, unknown> => ({
  [Attribute.objectKind]: kind,
  [Attribute.conversionUid]: uid,
  [Attribute.conversionDesiredVersion]: desired,
  [Attribute.conversionObjects]: objects,
  [Attribute.conversionMessage]: failure
})
