/** v1 Node. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, part, statusStrategy, strategy } from "../Definition.ts"
import { roundUp } from "../pods/PodDefaults.ts"

function* validate(object: JsonObject): Errors {
  for (const [index, taint] of Json.objects(Json.at(object, "spec", "taints")).entries()) {
    // A kube-apiserver reports the taints under `metadata`, not `spec`.
    const at = `metadata.taints[${index}]`
    yield* Check.text(`${at}.key`, Json.text(taint.key) ?? "", Format.labelKey)
    yield* Check.text(`${at}.value`, Json.text(taint.value) ?? "", Format.labelValue)
    yield* Check.word(`${at}.effect`, taint.effect, ["NoSchedule", "PreferNoSchedule", "NoExecute"])
  }
}

function* change(object: JsonObject, old: JsonObject): Errors {
  for (const name of ["podCIDRs", "providerID"]) {
    const before = Json.at(old, "spec", name)
    if (before === undefined || Json.equal(before, Json.at(object, "spec", name))) continue
    yield FieldError.forbidden(
      `spec.${name}`,
      name === "podCIDRs"
        ? 'node updates may not change podCIDR except from "" to valid'
        : 'node updates may not change providerID except from "" to valid'
    )
  }
}

// A create keeps the status, because a kubelet sends it with the new Node.
const main = strategy({
  shape: "core/v1.Node",
  default: (draft) => {
    const status = part(draft, "status")
    if (status === undefined) return
    for (const name of ["capacity", "allocatable"]) roundUp(part(status, name))
    const capacity = part(status, "capacity")
    if (capacity !== undefined) fill(status, "allocatable", Json.copy(capacity))
  },
  prepareForUpdate: (draft, old) => {
    draft.status = Json.copy(Json.object(old.status))
  },
  validate,
  *validateUpdate(object, old) {
    yield* validate(object)
    yield* change(object, old)
  }
})

const strategyOfNode = { ...main, resetFields: [["status"]] }

/** The definition of Node. */
export const node: Definition = {
  group: "",
  version: "v1",
  kind: "Node",
  strategy: strategyOfNode,
  status: statusStrategy(strategyOfNode, "core/v1.Node", { validateUpdate: change }),
  selectableFields: (object) => ({
    "spec.unschedulable": String(Json.at(object, "spec", "unschedulable") === true)
  }),
  unconditionalUpdate: true
}
