/**
 * The webhooks and policies of a program in an embedded cluster. The cluster calls them in this process.
 *
 * @internal
 */
import type { Client } from "@homeostat/runtime/client/Client"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type * as Admission from "@homeostat/runtime/webhook/Admission"
import * as AdmissionReview from "@homeostat/runtime/webhook/AdmissionReview"
import * as Configuration from "@homeostat/runtime/webhook/Configuration"
import * as ConversionReview from "@homeostat/runtime/webhook/ConversionReview"
import type * as Reply from "@homeostat/runtime/webhook/Reply"

type Declared = ReadonlyArray<Admission.Admission<Client>>

/** The host cannot exist, so no request leaves the process. */
const url = "https://webhooks.invalid"

const settings: Configuration.Settings = {
  program: "webhooks",
  target: { url },
  // Webhooks for built-in kinds exempt the program's namespace. A test uses other namespaces.
  namespace: "webhooks-system",
  namespaces: []
}

const apiVersion = "admissionregistration.k8s.io/v1"

/**
 * Returns the configurations, policies and bindings that the program would write.
 *
 * @internal
 */
export const objects = (declared: Declared): ReadonlyArray<object> => {
  const { mutating, validating } = Configuration.configurations(declared, settings, undefined)
  return [
    ...(mutating === undefined ? [] : [{ apiVersion, kind: "MutatingWebhookConfiguration", ...mutating }]),
    ...(validating === undefined ? [] : [{ apiVersion, kind: "ValidatingWebhookConfiguration", ...validating }]),
    ...Configuration.policies(declared, settings).flatMap(({ binding, policy }) => [
      { apiVersion, kind: "ValidatingAdmissionPolicy", ...policy },
      { apiVersion, kind: "ValidatingAdmissionPolicyBinding", ...binding }
    ])
  ]
}

/**
 * Returns the URL and the endpoint of the conversions between the versions of kinds.
 *
 * @internal
 */
export const conversion = (kinds: ReadonlyArray<CustomResource.Any>) => ({
  url: Configuration.clientConfig(settings.target, "/convert").url ?? "",
  endpoint: ConversionReview.endpoint(kinds)
})

/**
 * Returns the endpoints by their URLs in the configurations.
 *
 * @internal
 */
export const endpoints = (declared: Declared): ReadonlyMap<string, Reply.Endpoint<Client>> =>
  new Map(
    Array.from(AdmissionReview.endpoints(declared), ([path, endpoint]) => [
      Configuration.clientConfig(settings.target, path).url ?? "",
      endpoint
    ])
  )
