/** What kubectl has written, without what is different each time. */
import type { Session } from "./Session.ts"

/** Letters and digits of names that Kubernetes makes up. */
const safe = "[bcdfghjklmnpqrstvwxz2456789]"

const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "TIME"],
  [/(resourceVersion"?: )"\d+"/g, '$1"VERSION"'],
  [/(Resource Version:\s+)\d+/g, "$1VERSION"],
  // A watch that is cut by kubectl's own --timeout: whether it says so depends on how far it was.
  [/^(\(stderr\) )?E\d{4} [^\n]*"Failed to watch" err="context deadline exceeded"[^\n]*\n/gm, "$1"],
  // What the embedded cluster does not do, it says.
  [/^(\(stderr\) )?Warning: the embedded cluster stores a [^\n]*\n/gm, "$1"],
  // Times of day in the log of kubectl itself.
  [/^(\(stderr\) )?([EIW])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/gm, "$1$2 LOG]"],
  [/\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b|<unknown>|<invalid>|\b\d+m\b(?= )/g, "AGE"],
  [/\b(10|127)\.\d+\.\d+\.\d+/g, "ADDRESS"],
  [/\bhttps?:\/\/ADDRESS:\d+/g, "SERVER"],
  [/\b3[0-2]\d{3}\b/g, "NODEPORT"],
  // An Event's name ends with the time of its making.
  [/\.[0-9a-f]{16}\b/g, ".MADE"],
  [new RegExp(`-${safe}{5}(?![\\w-])`, "g"), "-MADE"],
  // Of a pod template, each server has a hash of its own making.
  [new RegExp(`(-|pod-template-hash[:=] ?"?)(?=\\w*\\d)${safe}{8,10}\\b`, "g"), "$1HASH"],
  [/v1\.37\.1\+homeostat/g, "v1.37.1"],
  [/\/(LIVE|MERGED)-\d+\//g, "/$1/"],
  [/kubectl-edit-\d+\.yaml/g, "kubectl-edit.yaml"]
]

/**
 * Ages, times, uids, versions, addresses, ports and made up ends of names become words. As those are of different lengths, so
 * are gaps in a line.
 */
export const of = ({ namespace }: Session, text: string): string =>
  replacements
    .reduce((left, [pattern, word]) => left.replaceAll(pattern, word), text.replaceAll(namespace, "NAMESPACE"))
    .replaceAll(/(?<=\S) {2,}/g, "  ")
    .replaceAll(/ +$/gm, "")
    .replaceAll(/^\* .*(\n\* .*)*/gm, sorted)

/** The mistakes in a custom object come in any order. */
const sorted = (lines: string): string => lines.split("\n").sort().join("\n")
