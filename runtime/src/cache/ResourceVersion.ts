/**
 * Resource versions as numbers. Kubernetes orders them within a kind; a server that does not is believed only where two are
 * equal.
 */

/**
 * The place of a resource version in the order of writes; `undefined` if it is not a decimal number that JavaScript holds
 * exactly, which makes it comparable for equality only.
 */
export const order = (resourceVersion: string | undefined): number | undefined => {
  // Number() also reads signs, spaces, exponents and hexadecimal.
  if (resourceVersion === undefined || !/^[0-9]+$/.test(resourceVersion)) return undefined
  const value = Number(resourceVersion)
  return Number.isSafeInteger(value) ? value : undefined
}

/** Whether `a` is certainly later than `b`. */
export const isLater = (a: number | undefined, b: number | undefined): boolean =>
  a !== undefined && b !== undefined && a > b
