/** v1 ConfigMap and Secret. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as ObjectMetaValidation from "../../model/ObjectMetaValidation.ts"
import * as Check from "../Check.ts"
import { type Definition, type Errors, fill, keep, strategy } from "../Definition.ts"

/** The maximum size of the data, in bytes. */
const most = 1024 * 1024

function* keys(field: string, value: JsonValue | undefined): Errors {
  for (const key of Object.keys(Json.object(value))) yield* Check.text(`${field}[${key}]`, key, Format.configKey)
}

const bytes = (base64: string): number => (base64.length * 3) / 4 - (/=*$/.exec(base64)?.[0].length ?? 0)

const size = (value: JsonValue | undefined, sizeOf: (text: string) => number): number =>
  Object.values(Json.texts(value)).reduce((sum, text) => sum + sizeOf(text), 0)

const tooLong = (field: string): FieldError.FieldError =>
  FieldError.make("FieldValueTooLong", field, undefined, `may not be more than ${most} bytes`)

/** Yields an error for each change of an object whose `immutable` is true. */
function* immutable(object: JsonObject, old: JsonObject, names: ReadonlyArray<string>): Errors {
  if (old.immutable !== true) return
  const detail = "field is immutable when `immutable` is set"
  if (object.immutable !== true) yield FieldError.forbidden("immutable", detail)
  for (const name of names) if (!Json.equal(object[name], old[name])) yield FieldError.forbidden(name, detail)
}

function* validateConfig(object: JsonObject): Errors {
  const binary = Json.object(object.binaryData)
  for (const key of Object.keys(Json.object(object.data))) {
    yield* Check.text(`data[${key}]`, key, Format.configKey)
    if (Object.hasOwn(binary, key)) {
      yield FieldError.invalid(`data[${key}]`, key, "duplicate of key present in binaryData")
    }
  }
  yield* keys("binaryData", binary)
  if (size(object.data, Buffer.byteLength) + size(binary, bytes) > most) yield tooLong("[]")
}

/** The definition of ConfigMap. */
export const configMap: Definition = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  strategy: strategy({
    shape: "core/v1.ConfigMap",
    validate: validateConfig,
    *validateUpdate(object, old) {
      yield* immutable(object, old, ["data", "binaryData"])
      yield* ObjectMetaValidation.validate({ namespaced: true }, object)
      yield* validateConfig(object)
    }
  }),
  unconditionalUpdate: true
}

/** The required keys of `data`, by Secret type. */
const required: { readonly [type: string]: ReadonlyArray<string> } = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"]
}

function* validateSecret(object: JsonObject): Errors {
  const data = Json.object(object.data)
  yield* keys("data", data)
  if (size(data, bytes) > most) yield tooLong("data")
  const type = Json.text(object.type) ?? ""
  for (const key of required[type] ?? []) {
    if (data[key] === undefined || (type.endsWith("ssh-auth") && data[key] === "")) {
      yield FieldError.required(`data[${key}]`)
    }
  }
  if (type === "kubernetes.io/basic-auth" && data.username === undefined && data.password === undefined) {
    yield FieldError.required("data[username]")
    yield FieldError.required("data[password]")
  }
  if (type === "kubernetes.io/service-account-token") {
    const account = "kubernetes.io/service-account.name"
    if ((Json.text(Json.at(object, "metadata", "annotations", account)) ?? "") === "") {
      yield FieldError.required(`metadata.annotations[${account}]`)
    }
  }
}

/** The definition of Secret. */
export const secret: Definition = {
  group: "",
  version: "v1",
  kind: "Secret",
  strategy: strategy({
    shape: "core/v1.Secret",
    default: (draft) => {
      const written = Json.texts(draft.stringData)
      const names = Object.keys(written)
      if (names.length > 0) {
        const data = Json.member(draft, "data")
        for (const name of names) Json.put(data, name, Buffer.from(written[name] ?? "").toString("base64"))
      }
      delete draft.stringData
      fill(draft, "type", "Opaque")
    },
    prepareForUpdate: (draft, old) => {
      if (draft.type === undefined) keep(draft, old, "type")
    },
    validate: validateSecret,
    *validateUpdate(object, old) {
      yield* Check.immutable("type", object.type, old.type)
      yield* immutable(object, old, ["data"])
      yield* ObjectMetaValidation.validate({ namespaced: true }, object)
      yield* validateSecret(object)
    }
  }),
  selectableFields: (object) => ({ type: Json.text(object.type) ?? "" }),
  unconditionalUpdate: true
}
