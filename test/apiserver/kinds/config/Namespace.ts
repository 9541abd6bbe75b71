/** v1 Namespace and ServiceAccount. Each Namespace has a default ServiceAccount. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as ObjectMeta from "../../model/ObjectMeta.ts"
import { type Definition, type Errors, fill, keep, statusStrategy, strategy } from "../Definition.ts"

const nameLabel = "kubernetes.io/metadata.name"

/** The finalizer that keeps a deleted Namespace until its objects are deleted. */
const finalizer = "kubernetes"

function* validate(object: JsonObject): Errors {
  for (const value of Json.list(Json.at(object, "spec", "finalizers"))) {
    const name = Json.text(value) ?? ""
    const wrong = Format.labelKey(name)
    for (const detail of wrong) yield FieldError.invalid("spec.finalizers", name, detail)
    if (wrong.length === 0 && !name.includes("/") && !["kubernetes", "foregroundDeletion", "orphan"].includes(name)) {
      yield FieldError.invalid(
        "spec.finalizers",
        name,
        "name is neither a standard finalizer name nor is it fully qualified"
      )
    }
  }
}

const label = (draft: Json.DraftObject): void => {
  const metadata = Json.member(draft, "metadata")
  const name = Json.text(metadata.name) ?? ""
  if (name !== "") Json.member(metadata, "labels")[nameLabel] = name
}

const main = strategy({
  shape: "core/v1.Namespace",
  status: { phase: "Active" },
  default: (draft) => {
    label(draft)
    fill(Json.member(draft, "status"), "phase", "Active")
  },
  prepareForCreate: (draft) => {
    // Sets the label again, because the server has generated the name after the defaults.
    label(draft)
    const finalizers = Json.items(Json.member(draft, "spec"), "finalizers")
    if (!finalizers.includes(finalizer)) finalizers.push(finalizer)
  },
  prepareForUpdate: (draft, old) => keep(draft, old, "spec", "finalizers"),
  validate
})

/** The definition of Namespace. */
export const namespace: Definition = {
  group: "",
  version: "v1",
  kind: "Namespace",
  names: Format.dnsLabel,
  strategy: main,
  status: statusStrategy(main, "core/v1.Namespace", {
    *validateUpdate(object) {
      const deleted = Json.at(object, "metadata", "deletionTimestamp") !== undefined
      const phase = Json.at(object, "status", "phase") ?? ""
      const right = deleted ? "Terminating" : "Active"
      if (phase !== right) {
        yield FieldError.invalid(
          "status.Phase",
          phase,
          `may only be '${right}' if \`deletionTimestamp\` is ${deleted ? "not " : ""}empty`
        )
      }
    }
  }),
  subresources: {
    finalize: {
      ...main,
      prepareForUpdate: (draft, old) => keep(draft, old, "status"),
      validate: () => [],
      validateUpdate: (object) => [...validate(object)]
    }
  },
  selectableFields: (object) => ({ "status.phase": Json.text(Json.at(object, "status", "phase")) ?? "" }),
  unconditionalUpdate: true
}

const mountable = "kubernetes.io/enforce-mountable-secrets"

/** The definition of ServiceAccount. */
export const serviceAccount: Definition = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  strategy: strategy({
    shape: "core/v1.ServiceAccount",
    *warnings(account, old) {
      const isNew = old === undefined || ObjectMeta.annotationsOf(old)[mountable] === undefined
      if (isNew && ObjectMeta.annotationsOf(account)[mountable] !== undefined) {
        yield `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`
      }
    }
  }),
  unconditionalUpdate: true
}
