/**
 * Resource versions as numbers. Kubernetes orders them within a kind; a server that does not is believed only where two are
 * equal.
 */

/**
 * The place of a resource version in the order of writes; `undefined` if it is not a decimal number that JavaScript holds
 * exactly, which makes it comparable for equality only.
 */
export const order = (resourceVersion: string | undefined): number | undefined => {
  if (resourceVersion === undefined || resourceVersion === "") return undefined
  const first = resourceVersion.charCodeAt(0)
  // Number() also reads signs, spaces and hexadecimal; the length keeps it exact (etcd revisions are far below 2^53).
  if (first < 48 || first > 57 || resourceVersion.length > 15) return undefined
  const value = Number(resourceVersion)
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Whether `a` is certainly later than `b`. */
export const isLater = (a: number | undefined, b: number | undefined): boolean =>
  a !== undefined && b !== undefined && a > b
