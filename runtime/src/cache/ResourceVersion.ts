/**
 * resourceVersions as numbers. Kubernetes orders them within a kind. If a server does not, only equality is meaningful.
 */

/**
 * The resourceVersion as a number; `undefined` if it is not a decimal number that JavaScript represents exactly. Then it can only be
 * compared for equality.
 */
export const order = (resourceVersion: string | undefined): number | undefined => {
  // Number() also reads signs, spaces, exponents and hexadecimal.
  if (resourceVersion === undefined || !/^[0-9]+$/.test(resourceVersion)) return undefined
  const value = Number(resourceVersion)
  return Number.isSafeInteger(value) ? value : undefined
}

/** Whether `a` is later than `b`; false if one of them is not a number. */
export const isLater = (a: number | undefined, b: number | undefined): boolean =>
  a !== undefined && b !== undefined && a > b
