/** Kubernetes' CEL libraries of quantities, semantic versions and formats: `quantity`, `semver` and `format`. */
import { type Environment, Optional } from "@marcbachmann/cel-js"
import * as Format from "../../model/Format.ts"
import * as Quantities from "../../model/Quantity.ts"
import * as OpenApiFormats from "../crd/OpenApiFormats.ts"
import { failure } from "./Value.ts"

/** Adds the types and functions to an environment. Returns the same environment. */
export const register = (env: Environment): Environment => {
  env.registerType("kubernetes.Quantity", Quantity)
  env.registerType("kubernetes.Semver", Semver)
  env.registerType("kubernetes.NamedFormat", NamedFormat)
  env.registerType("FormatNamespace", FormatNamespace)
  env.registerConstant("format", "FormatNamespace", new FormatNamespace())
  for (const [signature, handler] of Object.entries(functions)) env.registerFunction(signature, handler)
  for (const name of Object.keys(formats)) {
    env.registerFunction(`FormatNamespace.${name}(): kubernetes.NamedFormat`, () => new NamedFormat(name))
  }
  for (const type of ["kubernetes.Quantity", "kubernetes.Semver"]) {
    env.registerOperator(`${type} == ${type}`, (one: Ordered, other: Ordered) => one.compare(other) === 0n)
  }
  return env
}

class FormatNamespace {}

interface Ordered {
  readonly compare: (other: Ordered) => bigint
}

const one = 1_000_000_000n

class Quantity {
  constructor(readonly nanos: bigint) {}

  static parse(text: string): Quantity | string {
    const parsed = Quantities.parse(text)
    return typeof parsed === "string" ? parsed : new Quantity(parsed.nanos)
  }

  compare(other: Quantity): bigint {
    return this.nanos < other.nanos ? -1n : this.nanos > other.nanos ? 1n : 0n
  }
}

class Semver {
  constructor(
    readonly numbers: ReadonlyArray<bigint>,
    readonly labels: ReadonlyArray<string>
  ) {}

  static parse(text: string, normalize = false): Semver | undefined {
    const written = normalize ? normalized(text) : text
    const match =
      /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/.exec(
        written
      )
    if (match === null) return undefined
    return new Semver(match.slice(1, 4).map(BigInt), match[4]?.split(".") ?? [])
  }

  compare(other: Semver): bigint {
    for (const [at, number] of this.numbers.entries()) {
      const against = other.numbers[at] ?? 0n
      if (number !== against) return number < against ? -1n : 1n
    }
    if (this.labels.length === 0 || other.labels.length === 0) {
      return BigInt(other.labels.length === 0 ? 0 : 1) - BigInt(this.labels.length === 0 ? 0 : 1)
    }
    for (const [at, label] of this.labels.entries()) {
      const against = other.labels[at]
      if (against === undefined) return 1n
      if (label !== against) return compareLabels(label, against)
    }
    return this.labels.length < other.labels.length ? -1n : 0n
  }
}

/** Normalizes a version: removes the prefix `v` and leading zeros, and adds missing numbers (`v1.02` becomes `1.2.0`). */
const normalized = (text: string): string => {
  const [, core = "", rest = ""] = /^v?([^-+]*)(.*)$/.exec(text) ?? []
  const numbers = core.split(".").map((part) => part.replace(/^0+(?=\d)/, ""))
  return [...numbers, "0", "0"].slice(0, Math.max(3, numbers.length)).join(".") + rest
}

const compareLabels = (label: string, other: string): bigint => {
  const numeric = /^\d+$/
  if (numeric.test(label) && numeric.test(other)) return BigInt(label) < BigInt(other) ? -1n : 1n
  if (numeric.test(label) !== numeric.test(other)) return numeric.test(label) ? -1n : 1n
  return label < other ? -1n : 1n
}

class NamedFormat {
  constructor(readonly name: string) {}
}

const quantity = (text: string): Quantity => {
  const parsed = Quantity.parse(text)
  if (typeof parsed === "string") throw failure(parsed)
  return parsed
}

const integer = ({ nanos }: Quantity): bigint => {
  if (nanos % one !== 0n) throw failure("cannot convert value to integer")
  return nanos / one
}

const semver = (text: string, normalize = false): Semver => {
  const parsed = Semver.parse(text, normalize)
  if (parsed === undefined) throw failure("No Major.Minor.Patch elements found")
  return parsed
}

const orNone =
  (problem: string) =>
  (valid: boolean | undefined): ReadonlyArray<string> =>
    valid === true ? [] : [problem]

/** The formats by name. Each returns the errors of a text. */
const formats: { readonly [name: string]: (text: string) => ReadonlyArray<string> } = {
  dns1123Label: (text) => Format.dnsLabel(text),
  dns1123Subdomain: (text) => Format.dnsSubdomain(text),
  dns1035Label: (text) => Format.dnsLabel1035(text),
  qualifiedName: (text) => Format.labelKey(text),
  dns1123LabelPrefix: (text) => Format.dnsLabel(text.replace(/-$/, "a")),
  dns1123SubdomainPrefix: (text) => Format.dnsSubdomain(text.replace(/-$/, "a")),
  dns1035LabelPrefix: (text) => Format.dnsLabel1035(text.replace(/-$/, "a")),
  labelValue: (text) => Format.labelValue(text),
  uri: (text) => orNone(`parse ${JSON.stringify(text)}: invalid URI for request`)(OpenApiFormats.has("uri", text)),
  uuid: (text) => orNone("does not match the UUID format")(OpenApiFormats.has("uuid", text)),
  byte: (text) => orNone("invalid base64")(OpenApiFormats.has("byte", text)),
  date: (text) => orNone("invalid date")(OpenApiFormats.has("date", text)),
  datetime: (text) => orNone("invalid datetime")(OpenApiFormats.has("datetime", text))
}

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "quantity(string): kubernetes.Quantity": quantity,
  "isQuantity(string): bool": (text: string) => typeof Quantity.parse(text) !== "string",
  "sign(kubernetes.Quantity): int": (of: Quantity) => of.compare(new Quantity(0n)),
  "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool": (of: Quantity, other: Quantity) =>
    of.compare(other) > 0n,
  "kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool": (of: Quantity, other: Quantity) =>
    of.compare(other) < 0n,
  "kubernetes.Quantity.compareTo(kubernetes.Quantity): int": (of: Quantity, other: Quantity) => of.compare(other),
  "kubernetes.Quantity.asApproximateFloat(): double": ({ nanos }: Quantity) => Number(nanos) / Number(one),
  "kubernetes.Quantity.asInteger(): int": integer,
  "kubernetes.Quantity.isInteger(): bool": ({ nanos }: Quantity) => nanos % one === 0n,
  "kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity": (of: Quantity, other: Quantity) =>
    new Quantity(of.nanos + other.nanos),
  "kubernetes.Quantity.add(int): kubernetes.Quantity": (of: Quantity, other: bigint) =>
    new Quantity(of.nanos + other * one),
  "kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity": (of: Quantity, other: Quantity) =>
    new Quantity(of.nanos - other.nanos),
  "kubernetes.Quantity.sub(int): kubernetes.Quantity": (of: Quantity, other: bigint) =>
    new Quantity(of.nanos - other * one),
  "semver(string): kubernetes.Semver": (text: string) => semver(text),
  "semver(string, bool): kubernetes.Semver": semver,
  "isSemver(string): bool": (text: string) => Semver.parse(text) !== undefined,
  "isSemver(string, bool): bool": (text: string, normalize: boolean) => Semver.parse(text, normalize) !== undefined,
  "kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool": (of: Semver, other: Semver) => of.compare(other) > 0n,
  "kubernetes.Semver.isLessThan(kubernetes.Semver): bool": (of: Semver, other: Semver) => of.compare(other) < 0n,
  "kubernetes.Semver.compareTo(kubernetes.Semver): int": (of: Semver, other: Semver) => of.compare(other),
  "kubernetes.Semver.major(): int": ({ numbers }: Semver) => numbers[0],
  "kubernetes.Semver.minor(): int": ({ numbers }: Semver) => numbers[1],
  "kubernetes.Semver.patch(): int": ({ numbers }: Semver) => numbers[2],
  "FormatNamespace.named(string): optional<kubernetes.NamedFormat>": (_: unknown, name: string) =>
    Object.hasOwn(formats, name) ? Optional.of(new NamedFormat(name)) : Optional.none(),
  "kubernetes.NamedFormat.validate(string): optional<list<string>>": ({ name }: NamedFormat, text: string) => {
    const problems = formats[name]?.(text) ?? []
    return problems.length === 0 ? Optional.none() : Optional.of(problems)
  }
}
