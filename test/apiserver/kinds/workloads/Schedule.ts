/** Validation of cron schedules, with the messages of the library that Kubernetes parses them with. */

/** The parse error of a schedule, or `undefined` if the schedule is valid. */
export const parseError = (schedule: string): string | undefined => {
  const text = schedule.replace(/^(?:CRON_)?TZ=\S+\s+/, "").trim()
  if (text.startsWith("@")) return descriptorError(text)
  const given = text === "" ? [] : text.split(/\s+/)
  if (given.length !== fields.length) {
    return `expected exactly 5 fields, found ${given.length}: [${given.join(" ")}]`
  }
  for (const [index, bounds] of fields.entries()) {
    for (const part of (given[index] ?? "").split(",")) {
      const found = part === "" ? undefined : partError(part, bounds)
      if (found !== undefined) return found
    }
  }
  return undefined
}

interface Bounds {
  readonly least: number
  readonly most: number
  readonly names: ReadonlyArray<string>
}

const fields: ReadonlyArray<Bounds> = [
  { least: 0, most: 59, names: [] },
  { least: 0, most: 23, names: [] },
  { least: 1, most: 31, names: [] },
  {
    least: 1,
    most: 12,
    names: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
  },
  { least: 0, most: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] }
]

const descriptors = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]

const descriptorError = (text: string): string | undefined => {
  if (descriptors.includes(text)) return undefined
  if (!text.startsWith("@every ")) return `unrecognized descriptor: ${text}`
  const duration = text.slice("@every ".length)
  return /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/.test(duration)
    ? undefined
    : `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`
}

const partError = (part: string, bounds: Bounds): string | undefined => {
  const [range = "", step, ...more] = part.split("/")
  if (more.length > 0) return `too many slashes: ${part}`
  const [from = "", to, ...others] = range.split("-")
  if (others.length > 0) return `too many hyphens: ${part}`
  const any = from === "*" || from === "?"
  const start = any ? bounds.least : numberOf(from, bounds)
  if (typeof start === "string") return start
  const end = any ? bounds.most : to === undefined ? (step === undefined ? start : bounds.most) : numberOf(to, bounds)
  if (typeof end === "string") return end
  const by = step === undefined ? 1 : numberOf(step, { ...bounds, names: [] })
  if (typeof by === "string") return by
  if (start < bounds.least) return `beginning of range (${start}) below minimum (${bounds.least}): ${part}`
  if (end > bounds.most) return `end of range (${end}) above maximum (${bounds.most}): ${part}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`
  return by === 0 ? `step of range should be a positive number: ${part}` : undefined
}

const numberOf = (text: string, { names }: Bounds): number | string => {
  const named = text === "" ? -1 : names.indexOf(text.toLowerCase())
  if (named >= 0) return named
  if (/^[+-]?\d+$/.test(text)) {
    const number = Number(text)
    return number < 0 ? `negative number (${number}) not allowed: ${text}` : number
  }
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
}
