/**
 * Quantities of resources: `500m`, `1Gi`, `2e3`, parsed and formatted like apimachinery's `resource.Quantity`.
 */

/** A quantity in billionths (the finest unit of Kubernetes), and its format. */
export interface Quantity {
  readonly nanos: bigint
  readonly format: Format
}

type Format = "DecimalSI" | "BinarySI" | "DecimalExponent"

/** The error of kube-apiserver for a malformed quantity. */
export const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
/** The error of kube-apiserver for an unknown suffix. */
export const wrongSuffix = "unable to parse quantity's suffix"

/** Parses a quantity. Returns an error message if the text is malformed. */
export const parse = (text: string): Quantity | string => {
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text)
  if (match === null || !/[0-9]/.test(text)) return wrongFormat
  const [, sign, written = "", fraction = "", suffix = ""] = match
  const unit = unitOf(suffix)
  if (unit === undefined) return wrongSuffix
  const nanos = nanosOf(written.replace(/^0+/, ""), fraction, unit)
  const format = unit[0] === 2 ? "BinarySI" : /^[eE][-+]?[0-9]/.test(suffix) ? "DecimalExponent" : "DecimalSI"
  return { nanos: sign === "-" ? -nanos : nanos, format }
}

/** More digits than any valid quantity has. The parser does not compute larger numbers exactly. */
const mostDigits = 1000

const nanosOf = (whole: string, fraction: string, [base, exponent]: Unit): bigint => {
  if (!/[1-9]/.test(`${whole}${fraction}`)) return 0n
  if (whole.length > mostDigits || exponent > mostDigits) return largest
  if (exponent < -2 * mostDigits) return 1n
  const known = fraction.slice(0, 3 * mostDigits)
  const digits = BigInt(`${whole}${known}`)
  const scaled = base === 2 ? digits * 2n ** BigInt(exponent) : digits
  return shifted(scaled, 9 + (base === 10 ? exponent : 0) - known.length)
}

/** Returns a validated quantity in billionths; 0 if the text is not a quantity. */
export const amount = (text: string): bigint => {
  const parsed = parse(text)
  return typeof parsed === "string" ? 0n : parsed.nanos
}

/** Formats a quantity as the shortest text without a fraction. */
export const format = ({ nanos, format }: Quantity): string => {
  if (nanos === 0n) return "0"
  const small = nanos > -1024n * one && nanos < 1024n * one
  if (format === "BinarySI" && !small && nanos % one === 0n) return binary(nanos / one)
  return decimal(nanos, format)
}

/** Formats a quantity as the server does when it encodes an object. Invalid text stays unchanged. */
export const canonical = (text: string): string => {
  if (plain.test(text)) return text
  const parsed = parse(text)
  return typeof parsed === "string" ? text : format(parsed)
}

/** Rounds a quantity up to thousandths, the precision of a resource list. */
export const milli = (text: string): string => {
  if (!/[nu]|\.\d{4}|e-/i.test(text)) return text
  const parsed = parse(text)
  if (typeof parsed === "string" || parsed.nanos % thousandth === 0n) return text
  const up = (parsed.nanos / thousandth + (parsed.nanos > 0n ? 1n : -1n)) * thousandth
  return format({ nanos: up, format: parsed.format })
}

const one = 1_000_000_000n
const largest = (2n ** 63n - 1n) * one
const thousandth = 1_000_000n

/** Common texts that are already canonical: without trailing zeros that would allow a larger unit, and without leading zeros. */
const plain = /^(?:0|[1-9][0-9]{0,2}(?:[munkMGTPE]|)|[1-9](?:[0-9]?[1-9])?(?:Ki|Mi|Gi|Ti|Pi|Ei))$/

const decimals = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18]
])
const binaries = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

type Unit = readonly [base: 2 | 10, exponent: number]

const unitOf = (suffix: string): Unit | undefined => {
  const power = decimals.get(suffix)
  if (power !== undefined) return [10, power]
  const binary = binaries.indexOf(suffix)
  if (binary >= 0) return [2, (binary + 1) * 10]
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1]
  return exponent === undefined ? undefined : [10, Number(exponent)]
}

/** Multiplies by a power of ten. A remainder below the finest unit is rounded up. */
const shifted = (digits: bigint, by: number): bigint => {
  if (by >= 0) return digits * 10n ** BigInt(by)
  const divisor = 10n ** BigInt(-by)
  return digits / divisor + (digits % divisor === 0n ? 0n : 1n)
}

const binary = (whole: bigint): string => {
  let value = whole
  let unit = 0
  while (unit < binaries.length && value % 1024n === 0n) {
    value /= 1024n
    unit++
  }
  return `${value}${binaries[unit - 1] ?? ""}`
}

const decimal = (nanos: bigint, written: Format): string => {
  let value = nanos
  let power = -9
  while (power < 18 && value % 1000n === 0n) {
    value /= 1000n
    power += 3
  }
  if (written === "DecimalExponent") return power === 0 ? `${value}` : `${value}e${power}`
  const unit = [...decimals].find(([, exponent]) => exponent === power)?.[0] ?? ""
  return `${value}${unit}`
}
