/**
 * Whether a stored value means the same as the value that was sent. API servers normalise quantities, durations and times, and add to
 * lists that several managers own. Pure.
 */
import * as Drift from "./Drift.ts"

/** Whether the stored value contains all that was sent, in any notation. */
export const isSame = (sent: Drift.Json | undefined, stored: Drift.Json | undefined): boolean => {
  if (Drift.equal(sent, stored)) return true
  if (Array.isArray(sent) && Array.isArray(stored)) {
    const found: ReadonlyArray<Drift.Json> = stored
    const isAt = (item: Drift.Json, place: number): boolean =>
      isSame(item, found[place]) ||
      // In a long list, a search for each item would take seconds.
      (found.length <= Drift.longest && found.some((candidate) => isSame(item, candidate)))
    return sent.every(isAt)
  }
  return isScalar(sent) && isScalar(stored) && readings.some((read) => agree(read(String(sent)), read(String(stored))))
}

/**
 * Whether a server that was sent `want` stores `have`: the same value in the canonical form of its type. Texts that are free are
 * stored as they were sent, so `1.10` in a label is never `1.1`.
 */
export const isStored = ({ have, path, want }: Drift.Difference): boolean =>
  isScalar(want) &&
  typeof have === "string" &&
  !free.test(path) &&
  forms.some(([read, isCanonical]) => isCanonical(have) && agree(read(String(want)), read(have)))

/** Labels, annotations, the data of ConfigMaps and Secrets, and the values of variables. */
const free =
  /^(?:metadata|data|stringData|binaryData)\.|\.(?:labels|annotations|matchLabels)\.|\.env\[[^[\]]*\]\.value$/

const isScalar = (value: Drift.Json | undefined): value is string | number =>
  typeof value === "string" || typeof value === "number"

/** Equal within the precision of floating-point numbers. NaN equals nothing. */
const agree = (a: number | undefined, b: number | undefined): boolean =>
  a !== undefined && b !== undefined && Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b))

const suffixes: { readonly [suffix: string]: number } = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60
}

/** `resource.Quantity`: `500m`, `0.5`, `1Gi`, `1e3`. */
const quantity = (text: string): number | undefined => {
  const [, number, suffix = ""] = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(suffixes, suffix) ? suffixes[suffix] : undefined
  return factor === undefined ? undefined : Number(number) * factor
}

const units: { readonly [unit: string]: number } = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }

/** `metav1.Duration`, in seconds: `90s`, `1m30s`. */
const duration = (text: string): number | undefined => {
  const unsigned = text.replace(/^[+-]/, "")
  const parts = Array.from(unsigned.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/gy))
  if (unsigned === "" || parts.reduce((length, [part]) => length + part.length, 0) !== unsigned.length) return undefined
  const sum = parts.reduce((seconds, [, number, unit = ""]) => seconds + Number(number) * (units[unit] ?? 0), 0)
  return text.startsWith("-") ? -sum : sum
}

/** RFC 3339, in milliseconds. */
const time = (text: string): number | undefined => (/^\d{4}-\d\d-\d\d[Tt]/.test(text) ? Date.parse(text) : undefined)

/** The canonical quantity, a whole number of the greatest unit: `500m`, `1`, `1536Mi`. */
const isCanonicalQuantity = (text: string): boolean => {
  const [, number, binary] = /^-?(0|[1-9]\d*)(?:[numkMGTPE]|([KMGTPE]i))?$/.exec(text) ?? []
  return number !== undefined && (number === "0" || Number(number) % (binary === undefined ? 1000 : 1024) !== 0)
}

/** The canonical duration, as Go writes it: `1m30s`, `1h0m0s`, `100ms`. */
const isCanonicalDuration = (text: string): boolean =>
  /^-?(?:(?:(?:\d+h)?[0-5]?\dm)?[0-5]?\d(?:\.\d+)?s|\d{1,3}(?:\.\d+)?(?:ms|µs|ns))$/.test(text)

const isCanonicalTime = (text: string): boolean => text.endsWith("Z")

const forms = [
  [quantity, isCanonicalQuantity],
  [duration, isCanonicalDuration],
  [time, isCanonicalTime]
] as const
const readings = forms.map(([read]) => read)
