/**
 * Go's errors for invalid times.
 */

/** The layout of metav1.Time: RFC 3339, with or without a fraction. */
export const seconds = "2006-01-02T15:04:05Z07:00"
/** The layout of metav1.MicroTime: RFC 3339 with six fractional digits. */
export const microseconds = "2006-01-02T15:04:05.000000Z07:00"

/** A fast path for nearly all times. It matches only days that every month has. */
const usual = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/** Returns Go's error for a time, or undefined if it is valid. */
export const parseError = (text: string, layout: typeof seconds | typeof microseconds): string | undefined => {
  if (layout === seconds && usual.test(text)) return undefined
  let rest = text
  const numbers = new Map<string, number>()
  for (const element of layout === seconds ? elements : microElements) {
    const found = (patterns.get(element) ?? literal(element)).exec(rest)?.[0]
    if (found === undefined) {
      return `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(element)}`
    }
    numbers.set(element, Number(found))
    const [name, least, most] = limits.get(element) ?? ["", 0, Number.POSITIVE_INFINITY]
    if (Number(found) < least || Number(found) > most)
      return `parsing time ${JSON.stringify(text)}: ${name} out of range`
    rest = rest.slice(found.length)
    if (element === "05" && layout === seconds) rest = rest.replace(/^[.,]\d+/, "")
  }
  if (rest !== "") return `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`
  return dateError(text, numbers)
}

const elements = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"]
const microElements = [...elements.slice(0, -1), ".000000", "Z07:00"]

const patterns = new Map([
  ["2006", /^\d{4}/],
  ["01", /^\d{2}/],
  ["02", /^\d{2}/],
  ["15", /^\d{1,2}/],
  ["04", /^\d{2}/],
  ["05", /^\d{2}/],
  [".000000", /^[.,]\d{6}/],
  ["Z07:00", /^(?:Z|[+-]\d{2}:\d{2})/]
])

const limits = new Map<string, readonly [name: string, least: number, most: number]>([
  ["01", ["month", 1, 12]],
  ["15", ["hour", 0, 23]],
  ["04", ["minute", 0, 59]],
  ["05", ["second", 0, 59]]
])

const literal = (text: string): RegExp => new RegExp(`^${text}`)

const dateError = (text: string, numbers: ReadonlyMap<string, number>): string | undefined => {
  const [year = 0, month = 0, day = 0] = ["2006", "01", "02"].map((element) => numbers.get(element))
  const last = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  return day === 0 || day > last ? `parsing time ${JSON.stringify(text)}: day out of range` : undefined
}
