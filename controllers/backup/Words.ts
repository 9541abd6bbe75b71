/** Amounts and times as people and Kubernetes write them. Pure. */

/** `1 volume`, `2 volumes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/**
 * The epoch milliseconds of an RFC 3339 time; undefined for none, as the kubelet has it (null) of a container that it lost sight of, and
 * for what is no time.
 */
export const millis = (time: string | null | undefined): number | undefined => {
  const value = Date.parse(time ?? "")
  return Number.isNaN(value) ? undefined : value
}
