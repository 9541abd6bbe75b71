/**
 * The baseline that the guard compares with: a commit, and the rows that a later change has raised.
 *
 *     { "commit": "4e2db76…", "raised": { "creation": { "to": 1.2, "reason": "A WebApp creates a NetworkPolicy too" } } }
 */

/** A row that may cost `to` times as much as at the baseline, before the guard's tolerance. */
export interface Raised {
  readonly to: number
  readonly reason: string
}

/** The baseline. `commit` has all 40 digits. `raised` has a key for each raised row. */
export interface Baseline {
  readonly commit: string
  readonly raised: { readonly [row: string]: Raised }
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads a baseline. It throws an Error that names the wrong value. */
export const parse = (text: string, rows: ReadonlyArray<string>): Baseline => {
  const document: unknown = JSON.parse(text)
  const { commit, raised } = isRecord(document) ? document : {}
  if (typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit))
    throw new Error(`invalid commit: ${JSON.stringify(commit)} (must be the 40 digits of a commit)`)
  if (!isRecord(raised)) throw new Error(`invalid raised: ${JSON.stringify(raised)} (must be an object, or {})`)
  const entries = Object.entries(raised).map(([row, value]): readonly [string, Raised] => {
    const { reason, to } = isRecord(value) ? value : {}
    if (!rows.includes(row)) throw new Error(`unknown raised row: ${row} (must be one of ${rows.join(", ")})`)
    if (typeof to !== "number" || to <= 1)
      throw new Error(`invalid to of ${row}: ${JSON.stringify(to)} (must be a ratio above 1, such as 1.2)`)
    if (typeof reason !== "string" || reason.trim().split(/\s+/).length < 3)
      throw new Error(`no reason for ${row}: ${JSON.stringify(reason)} (must say in words why it costs more)`)
    return [row, { to, reason }]
  })
  return { commit, raised: Object.fromEntries(entries) }
}
