/** The completed indexes of an Indexed Job, in the format of its status: `0,2-4`. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { annotationsOf } from "@homeostat/apiserver/model/ObjectMeta"

/** The annotation of the pods of an Indexed Job. */
export const annotation = "batch.kubernetes.io/job-completion-index"

/** Returns the index of a pod; undefined if it has no index below `completions`. */
export const indexOf = (pod: JsonObject, completions: number): number | undefined => {
  const text = annotationsOf(pod)[annotation] ?? ""
  return /^\d+$/.test(text) && Number(text) < completions ? Number(text) : undefined
}

/** Returns the indexes of pods that are below `completions`. */
export const indexesOf = (pods: ReadonlyArray<JsonObject>, completions: number): ReadonlyArray<number> =>
  pods.map((pod) => indexOf(pod, completions)).filter((index) => index !== undefined)

/** Parses a list of indexes, and returns those below `completions`. */
export const parse = (text: string, completions: number): ReadonlyArray<number> =>
  (text === "" ? [] : text.split(",")).flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number)
    const count = Math.min(last, completions - 1) - first + 1
    return Array.from({ length: Math.max(0, count) || 0 }, (_, offset) => first + offset)
  })

/** Formats indexes. Three or more consecutive indexes become a range. */
export const format = (indexes: Iterable<number>): string => {
  const sorted = [...new Set(indexes)].sort((one, other) => one - other)
  const ranges: Array<[first: number, last: number]> = []
  for (const index of sorted) {
    const range = ranges.at(-1)
    if (range !== undefined && range[1] === index - 1) range[1] = index
    else ranges.push([index, index])
  }
  return ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
    .join()
}
