/** The options of `pods/log`, with the checks of a kube-apiserver before its request to the kubelet. */
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as Json from "../model/Json.ts"

/** The options of a log request. */
export interface LogOptions {
  readonly container: string
  /** True if the response continues with new lines until the container has ended. */
  readonly follow: boolean
  /** The maximum number of lines from the end. */
  readonly tailLines: number | undefined
}

/** The options that the embedded kubelet lacks. */
const unsupported = ["previous", "timestamps", "sinceSeconds", "sinceTime", "limitBytes"]

/** Reads the query of a request for a log of that pod. Throws a Failure (400, 422, 501). */
export const of = (pod: Json.JsonObject, query: URLSearchParams): LogOptions => {
  const refused = unsupported.find((name) => !["", "false"].includes(query.get(name) ?? ""))
  if (refused !== undefined) throw Failure.notImplemented(`${refused} of logs`)
  const name = Json.text(Json.at(pod, "metadata", "name")) ?? ""
  return {
    container: containerOf(pod, name, query.get("container") ?? ""),
    follow: query.get("follow") === "true",
    tailLines: linesOf(name, query.get("tailLines") ?? "")
  }
}

const containerOf = (pod: Json.JsonObject, name: string, given: string): string => {
  const named = (field: string) =>
    Json.list(Json.at(pod, "spec", field)).map((one) => Json.text(Json.at(Json.object(one), "name")) ?? "")
  const [first = "", ...others] = named("containers")
  const inits = named("initContainers")
  if (given === "") {
    if (others.length === 0) return first
    const all = `[${[first, ...others].join(" ")}]`
    const choice = inits.length === 0 ? all : `${all} or one of the init containers: [${inits.join(" ")}]`
    throw Failure.badRequest(`a container name must be specified for pod ${name}, choose one of: ${choice}`)
  }
  if ([first, ...others, ...inits].includes(given)) return given
  throw Failure.badRequest(`container ${given} is not valid for pod ${name}`)
}

const linesOf = (name: string, given: string): number | undefined => {
  if (given === "") return undefined
  const lines = Number(given)
  if (lines >= 0) return lines
  const error = FieldError.invalid("tailLines", lines, "must be greater than or equal to 0")
  throw Failure.invalid({ group: "", kind: "PodLogOptions", plural: "" }, name, [error])
}
