/** Short lists whose entries are known by hashes of their names, which may be long: the names are not kept. */

/** A value of such a list. */
export interface Hashed {
  readonly name: number
}

const dot = 46
const bracket = 91

/** Hashes (FNV-1a) of all fields that a path goes through, `spec` and `spec.ports` of `spec.ports[80]`, and of itself as the last one. */
export const path = (name: string): ReadonlyArray<number> => {
  const hashes: Array<number> = []
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (at > 0 && (code === dot || code === bracket)) hashes.push(hash >>> 0 || 1)
    hash = Math.imul(hash ^ code, 0x01000193)
  }
  hashes.push(hash >>> 0 || 1)
  return hashes
}

/** The hash of a text; never 0. */
export const of = (text: string): number => path(text).at(-1) ?? 1

/** The entry of that name. */
export const find = <A extends Hashed>(list: ReadonlyArray<A>, name: string): A | undefined => {
  const hash = of(name)
  return list.find((entry) => entry.name === hash)
}

/** The entry of that name, or a new one, which is the last from now on; the first one goes where there are more than `most`. */
export const refresh = <A extends Hashed>(list: Array<A>, name: string, make: (hash: number) => A, most: number): A => {
  const hash = of(name)
  const at = list.findIndex((entry) => entry.name === hash)
  const entry = list[at] ?? make(hash)
  if (at >= 0) list.splice(at, 1)
  list.push(entry)
  if (list.length > most) list.shift()
  return entry
}
