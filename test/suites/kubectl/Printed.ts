/** Removes the parts of kubectl's output that differ between runs. `Comparable.ts` has the rules for all responses. */
import * as Comparable from "../comparison/Comparable.ts"
import type { Session } from "./Session.ts"

const safe = "[bcdfghjklmnpqrstvwxz2456789]"

const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  // kubectl may report a watch that ends by --timeout.
  [/^(\(stderr\) )?E\d{4} [^\n]*"Failed to watch" err="context deadline exceeded"[^\n]*\n/gm, "$1"],
  // The embedded cluster warns of kinds that it only stores.
  [/^(\(stderr\) )?Warning: the embedded cluster (?:stores a|ignores) [^\n]*\n/gm, "$1"],
  // kubectl's own log has times of day.
  [/^(\(stderr\) )?([EIW])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/gm, "$1$2 LOG]"],
  // The name of an Event ends with the time of its creation.
  [/\.[0-9a-f]{16}\b/g, ".TIME"],
  [new RegExp(`-${safe}{5}(?![\\w-])`, "g"), "-NAME"],
  // Each server has different hashes of pod templates.
  [new RegExp(`(-|pod-template-hash[:=] ?"?)(?=\\w*\\d)${safe}{8,10}\\b`, "g"), "$1HASH"],
  // kwok gives all pods the same address.
  [/\b10\.244\.\d+\.\d+/g, "POD-ADDRESS"],
  [/v1\.37\.1\+homeostat/g, "v1.37.1"],
  [/\/(LIVE|MERGED)-\d+\//g, "/$1/"],
  [/kubectl-edit-\d+\.yaml/g, "kubectl-edit.yaml"]
]

const age = /^\d+[smhd](\d+[smhd])?(?: \(x\d+ over \d+[smhd](\d+[smhd])?\))?(?= |$)/

/** The columns with ages, in tables and in the Events of `kubectl describe`. */
const columns = /\b(?:AGE|LAST SEEN|FIRST SEEN|DURATION|LAST SCHEDULE|Age)\b/g

const header = /^ *(?:[A-Z][A-Z0-9()/ -]*|Type +Reason +Age +From +Message) *$/

/** Replaces the ages in columns of ages. */
const withoutAges = (text: string): string => {
  let places: ReadonlyArray<number> = []
  return text
    .split("\n")
    .map((line) => {
      if (header.test(line)) {
        places = [...line.matchAll(columns)].map(({ index }) => index)
        return line
      }
      return places.reduceRight(
        (left, place) =>
          left.slice(0, place) +
          left.slice(place).replace(age, (ages) => ages.replaceAll(/\b\d+[smhd](\d+[smhd])?\b/g, "AGE")),
        line.replace(/^(Duration: +)\d+s$/, "$1AGE")
      )
    })
    .join("\n")
}

/** Returns a function that normalizes the output of a session. `began` is in milliseconds since 1970. */
export const make = ({ cluster, namespace }: Session, began: number): ((text: string) => string) => {
  const comparer = Comparable.make(namespace, began)
  return (text) => {
    const steady = replacements.reduce(
      (left, [pattern, word]) => left.replaceAll(pattern, word),
      withoutAges(text).replaceAll(cluster.url, "SERVER").replaceAll(namespace, "NAMESPACE")
    )
    return (
      `${Comparable.withoutTimes(comparer.value(steady))}`
        .replaceAll(/\bversion-\d+\b/g, "VERSION")
        // The gaps between columns depend on the length of generated values.
        .replaceAll(/(?<=\S) {2,}/g, "  ")
        .replaceAll(/ +$/gm, "")
        .replaceAll(/^\* .*(\n\* .*)*/gm, sorted)
    )
  }
}

/** Sorts the mistakes in a custom object, because kubectl lists them in any order. */
const sorted = (lines: string): string => lines.split("\n").sort().join("\n")
