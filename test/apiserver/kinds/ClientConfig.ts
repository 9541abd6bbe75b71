/** Validation of the `clientConfig` of webhooks. */
import * as FieldError from "../model/FieldError.ts"
import * as Format from "../model/Format.ts"
import * as Json from "../model/Json.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** The errors of a `clientConfig`. It does not validate `caBundle`: without a valid certificate, calls of the webhook fail. */
export const validate = (at: string, { service, url }: Json.JsonObject): Errors => {
  if ((typeof url === "string") === Json.isObject(service)) {
    return [FieldError.required(at, "exactly one of url or service is required")]
  }
  return typeof url === "string" ? ofUrl(`${at}.url`, url) : ofService(`${at}.service`, Json.object(service))
}

const form = "; desired format: https://host[/path]"

const ofUrl = (field: string, url: string): Errors => {
  const parsed =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(url)
  const [, scheme = "", user, host = "", , query = "", fragment = ""] = parsed ?? []
  const invalid = (wrong: boolean, value: string, detail: string): Errors =>
    wrong ? [FieldError.invalid(field, value, detail)] : []
  return [
    ...invalid(scheme.toLowerCase() !== "https", scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`),
    ...invalid(host === "", host, `host must be specified${form}`),
    ...invalid(user !== undefined, user ?? "", "user information is not permitted in the URL"),
    ...invalid(fragment !== "", fragment, "fragments are not permitted in the URL"),
    ...invalid(query !== "", query, "query parameters are not permitted in the URL")
  ]
}

/** The errors of a Service reference. Like a kube-apiserver, it reports a missing namespace as `name`, and vice versa. */
const ofService = (at: string, { name, namespace, path, port }: Json.JsonObject): Errors => {
  const number = Json.number(port) ?? 443
  const wrong = Format.port(number)
  return [
    ...((Json.text(namespace) ?? "") === "" ? [FieldError.required(`${at}.name`)] : []),
    ...((Json.text(name) ?? "") === "" ? [FieldError.required(`${at}.namespace`)] : []),
    ...(wrong.length > 0 ? [FieldError.invalid(`${at}.port`, number, `port is not valid: ${wrong.join(", ")}`)] : []),
    ...(typeof path === "string" ? ofPath(`${at}.path`, path) : [])
  ]
}

const ofPath = (field: string, path: string): Errors => {
  if (path === "" || path === "/") return []
  if (path === "//") return [FieldError.invalid(field, path, "segment[0] may not be empty")]
  const steps = path.slice(1).replace(/\/$/, "").split("/")
  return [
    ...(path.startsWith("/") ? [] : [FieldError.invalid(field, path, "must start with a '/'")]),
    ...steps.flatMap((step, index) =>
      (step === "" ? ["segment[0] may not be empty"] : Format.dnsSubdomain(step)).map((error) =>
        FieldError.invalid(
          field,
          path,
          step === "" ? `segment[${index}] may not be empty` : `segment[${index}]: ${error}`
        )
      )
    )
  ]
}
