/** Numbers and times in words and in Kubernetes' format. Pure. */

/** `1 volume`, `2 volumes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/**
 * The epoch milliseconds of an RFC 3339 time. Undefined for an invalid time, and for null, which the kubelet writes for a lost
 * container.
 */
export const millis = (time: string | null | undefined): number | undefined => {
  const value = Date.parse(time ?? "")
  return Number.isNaN(value) ? undefined : value
}
