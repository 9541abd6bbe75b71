/**
 * The indexes of an Indexed Job, and how its status writes them: `0,2-4`.
 */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { annotationsOf } from "@homeostat/apiserver/model/ObjectMeta"

/** On the pods of an Indexed Job. */
export const annotation = "batch.kubernetes.io/job-completion-index"

/** The index of a pod; undefined where it has none below that number. */
export const indexOf = (pod: JsonObject, completions: number): number | undefined => {
  const text = annotationsOf(pod)[annotation] ?? ""
  return /^\d+$/.test(text) && Number(text) < completions ? Number(text) : undefined
}

/** The indexes of pods, those below that number. */
export const indexesOf = (pods: ReadonlyArray<JsonObject>, completions: number): ReadonlyArray<number> =>
  pods.map((pod) => indexOf(pod, completions)).filter((index) => index !== undefined)

/** The indexes that a text names, those below that number. */
export const parse = (text: string, completions: number): ReadonlyArray<number> =>
  (text === "" ? [] : text.split(",")).flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number)
    const count = Math.min(last, completions - 1) - first + 1
    return Array.from({ length: Math.max(0, count) || 0 }, (_, offset) => first + offset)
  })

/** The text that names these indexes; three or more in a row are written as a range. */
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
