/** Times as `homeostat why` tells them: how long ago, and when. In UTC, for the manager and who asks it are in different places. */

/** A duration in at most two units, as kubectl writes ages: `350ms`, `12s`, `3m20s`, `2h5m`, `3d4h`. */
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

/** `10:21:13Z`, with the date before it where that is not today's. */
export const clock = (at: number, now: number): string => {
  const [date = "", time = ""] = new Date(at).toISOString().split("T")
  const today = new Date(now).toISOString().slice(0, 10)
  return `${date === today ? "" : `${date} `}${time.slice(0, 8)}Z`
}

/** `3m20s ago`. Two clocks may differ a little: what seems to be yet to come has just happened. */
export const ago = (at: number, now: number): string => (now - at < 1000 ? "just now" : `${span(now - at)} ago`)

/** `3m20s ago (10:17:53Z)`. */
export const past = (at: number, now: number): string => `${ago(at, now)} (${clock(at, now)})`

/** `in 12s (10:21:25Z)`. */
export const future = (at: number, now: number): string =>
  at <= now ? `now (${clock(at, now)})` : `in ${span(at - now)} (${clock(at, now)})`
