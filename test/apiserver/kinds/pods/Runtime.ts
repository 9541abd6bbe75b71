/** node.k8s.io/v1 RuntimeClass. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, strategy } from "../Definition.ts"
import { tolerations } from "./PodValidation.ts"
import * as PodWarnings from "./PodWarnings.ts"
import * as Resources from "./ResourceValidation.ts"

/** The definition of RuntimeClass. */
export const runtimeClass: Definition = {
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  strategy: strategy({
    shape: "node/v1.RuntimeClass",
    *warnings(object) {
      for (const label of Object.keys(Json.object(Json.at(object, "scheduling", "nodeSelector")))) {
        const text = PodWarnings.deprecatedLabels.get(label)
        if (text !== undefined) yield `scheduling.nodeSelector: ${text}`
      }
    },
    validate,
    *validateUpdate(object, old) {
      yield* validate(object)
      if (object.handler !== old.handler) yield FieldError.invalid("handler", null, "field is immutable")
    }
  }),
  createOnUpdate: true
}

function* validate({ handler, overhead, scheduling }: JsonObject): Errors {
  yield* Check.requiredText("handler", handler, Format.dnsLabel)
  yield* Resources.requirements("overhead", { limits: Json.object(Json.object(overhead).podFixed) })
  const { nodeSelector, tolerations: list } = Json.object(scheduling)
  const given = Json.objects(list)
  yield* Check.labels("scheduling.nodeSelector", nodeSelector)
  yield* tolerations("scheduling.tolerations", given)
  const seen = new Set<string>()
  for (const [index, toleration] of given.entries()) {
    const { effect = "", key = "", operator = "", tolerationSeconds = null, value = "" } = toleration
    const listKey = { Key: key, Operator: operator, Value: value, Effect: effect }
    const text = JSON.stringify(listKey)
    if (seen.has(text)) {
      yield FieldError.duplicate(`scheduling.tolerations[${index}]`, {
        ...listKey,
        TolerationSeconds: tolerationSeconds
      })
    }
    seen.add(text)
  }
}
