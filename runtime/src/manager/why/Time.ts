/** Times in the text of `why`: ages and times of day. In UTC, because the manager and its callers are in different places. */

/** A duration in at most two units, like ages in kubectl: `350ms`, `12s`, `3m20s`, `2h5m`, `3d4h`. */
export const span = (millis: number): string => {
  if (millis < 1000) return `${Math.max(0, Math.round(millis))}ms`
  const seconds = Math.floor(millis / 1000)
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"]
  ] as const
  const first = parts.findIndex(([amount]) => amount > 0)
  return parts
    .slice(first, first + 2)
    .flatMap(([amount, unit]) => (amount > 0 ? [`${amount}${unit}`] : []))
    .join("")
}

/** `10:21:13Z`, with the date before it if it is another day. */
export const clock = (at: number, now: number): string => {
  const [date = "", time = ""] = new Date(at).toISOString().split("T")
  const today = new Date(now).toISOString().slice(0, 10)
  return `${date === today ? "" : `${date} `}${time.slice(0, 8)}Z`
}

/** `3m20s ago`. Clocks may differ a little, so a time in the near future is `just now`. */
export const ago = (at: number, now: number): string => (now - at < 1000 ? "just now" : `${span(now - at)} ago`)

/** `3m20s ago (10:17:53Z)`. */
export const past = (at: number, now: number): string => `${ago(at, now)} (${clock(at, now)})`

/** `in 12s (10:21:25Z)`. */
export const future = (at: number, now: number): string =>
  at <= now ? `now (${clock(at, now)})` : `in ${span(at - now)} (${clock(at, now)})`
