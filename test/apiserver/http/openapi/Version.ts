/** The order of the versions of a group: `v2`, `v1`, `v2beta1`, `v1alpha1`, and then all other names, in alphabetical order. */

/** Sorts the most important version first. */
export const byPriority = (one: string, other: string): number => {
  const [left, right] = [parse(one), parse(other)]
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1
    if (right !== undefined) return 1
    return one < other ? -1 : one > other ? 1 : 0
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor
}

interface Version {
  readonly major: number
  /** 0 for alpha, 1 for beta, 2 for stable. */
  readonly stability: number
  readonly minor: number
}

const parse = (version: string): Version | undefined => {
  const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  if (major === undefined) return undefined
  return {
    major: Number(major),
    stability: stage === undefined ? 2 : stage === "beta" ? 1 : 0,
    minor: Number(minor ?? 0)
  }
}
