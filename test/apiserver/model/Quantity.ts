/**
 * Amounts of resources: `500m`, `1Gi`, `2e3`, as apimachinery's `resource.Quantity` reads and writes them.
 */

/** An amount, in billionths (the finest that Kubernetes keeps), and the way it is written. */
export interface Quantity {
  readonly nanos: bigint
  readonly format: Format
}

type Format = "DecimalSI" | "BinarySI" | "DecimalExponent"

/** What Kubernetes says of a text that is no quantity. */
export const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
/** What Kubernetes says of a unit that there is none of. */
export const wrongSuffix = "unable to parse quantity's suffix"

/** The amount that a text says; otherwise why it says none. */
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

/** More digits than any amount has that fits: of what has more only that matters. */
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

/** The amount of a text that has been found to be one; 0 of any other. */
export const amount = (text: string): bigint => {
  const parsed = parse(text)
  return typeof parsed === "string" ? 0n : parsed.nanos
}

/** The shortest text of the amount without a fraction. */
export const format = ({ nanos, format }: Quantity): string => {
  if (nanos === 0n) return "0"
  const small = nanos > -1024n * one && nanos < 1024n * one
  if (format === "BinarySI" && !small && nanos % one === 0n) return binary(nanos / one)
  return decimal(nanos, format)
}

/** As the server writes a quantity that a client has written. */
export const canonical = (text: string): string => {
  if (plain.test(text)) return text
  const parsed = parse(text)
  return typeof parsed === "string" ? text : format(parsed)
}

/** Rounded up to thousandths, which is all that amounts of resources in a list keep. */
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

/** Texts that stay as they are: no zeros to be taken for a larger unit, and none that begin with one. */
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

/** Times a power of ten; what is smaller than the finest is rounded up. */
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
