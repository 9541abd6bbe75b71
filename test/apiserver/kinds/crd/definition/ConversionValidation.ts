/** Validates the conversion between the versions of a CRD (`spec.conversion`). */

import * as FieldError from "../../../model/FieldError.ts"
import * as Format from "../../../model/Format.ts"
import * as Json from "../../../model/Json.ts"
import * as ClientConfig from "../../ClientConfig.ts"
import type * as Internal from "./Internal.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

const path = "spec.conversion"

/** Returns the errors of a conversion. `before` is the stored spec of an update, which may keep unrecognized review versions. */
export const validate = (spec: Internal.Spec, before?: Internal.Spec): Errors => {
  const conversion = Json.object(spec.read.conversion)
  const strategy = Json.text(conversion.strategy) ?? ""
  const webhook = Json.object(conversion.webhook)
  const unknown =
    strategy === ""
      ? [FieldError.required(`${path}.strategy`)]
      : ["None", "Webhook"].includes(strategy)
        ? []
        : [FieldError.notSupported(`${path}.strategy`, strategy, ["None", "Webhook"])]
  if (strategy === "Webhook") {
    const client = `${path}.webhookClientConfig`
    return [
      ...(Json.isObject(webhook.clientConfig)
        ? ClientConfig.validate(client, webhook.clientConfig)
        : [FieldError.required(client, "required when strategy is set to Webhook")]),
      ...ofReviewVersions(webhook.conversionReviewVersions, webhookOf(before).conversionReviewVersions)
    ]
  }
  const detail = "should not be set when strategy is not set to Webhook"
  return [
    ...unknown,
    ...(Json.isObject(webhook.clientConfig) ? [FieldError.forbidden(`${path}.webhookClientConfig`, detail)] : []),
    ...(Json.list(webhook.conversionReviewVersions).length > 0
      ? [FieldError.forbidden(`${path}.conversionReviewVersions`, detail)]
      : [])
  ]
}

const webhookOf = (spec: Internal.Spec | undefined): Json.JsonObject =>
  Json.object(Json.at(spec?.read, "conversion", "webhook"))

const accepted = ["v1", "v1beta1"]

const isKnown = (versions: ReadonlyArray<Json.Json>): boolean =>
  versions.some((version) => accepted.includes(String(version)))

const ofReviewVersions = (value: Json.Json | undefined, before: Json.Json | undefined): Errors => {
  const at = `${path}.conversionReviewVersions`
  const versions = Json.list(value)
  if (versions.length === 0) return [FieldError.required(at)]
  const old = Json.list(before)
  const isRecognized = isKnown(versions) || (old.length > 0 && !isKnown(old))
  return [
    ...versions.flatMap((version, index) => {
      const field = `${at}[${index}]`
      if (versions.indexOf(version) < index) return [FieldError.invalid(field, version, "duplicate version")]
      return Format.dnsLabel1035(String(version)).map((error) => FieldError.invalid(field, version, error))
    }),
    ...(isRecognized ? [] : [FieldError.invalid(at, versions, `must include at least one of ${accepted.join(", ")}`)])
  ]
}
