/** The rules of roles: the requests that a rule allows, and the rules that it covers. */

import type { AccessRequest, PolicyRule } from "../model/Authorizer.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { quote } from "../model/Quote.ts"

/** The rules of a role. */
export const ofRole = (role: JsonObject): ReadonlyArray<PolicyRule> => J.objects(role.rules).map(ofJson)

const ofJson = (rule: JsonObject): PolicyRule => ({
  verbs: texts(rule.verbs),
  apiGroups: texts(rule.apiGroups),
  resources: texts(rule.resources),
  resourceNames: texts(rule.resourceNames),
  nonResourceURLs: texts(rule.nonResourceURLs)
})

const texts = (value: Json | undefined): ReadonlyArray<string> =>
  J.list(value).filter((item): item is string => typeof item === "string")

/** True if the rule allows the request. */
export const allows = (rule: PolicyRule, { path, resource, verb }: AccessRequest): boolean => {
  if (!hasOrAll(rule.verbs, verb)) return false
  if (resource === undefined) return rule.nonResourceURLs.some((url) => url === "*" || coversUrl(url, path))
  const { group, name, subresource } = resource
  return (
    hasOrAll(rule.apiGroups, group) &&
    rule.resources.some((pattern) => matches(pattern, resource.resource, subresource)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  )
}

const hasOrAll = (set: ReadonlyArray<string>, one: string): boolean => set.includes("*") || set.includes(one)

const matches = (pattern: string, resource: string, subresource: string): boolean =>
  pattern === "*" ||
  (subresource === ""
    ? pattern === resource
    : pattern === `${resource}/${subresource}` || pattern === `*/${subresource}`)

/** A pattern that ends with a star matches as a prefix. */
const coversUrl = (pattern: string, path: string): boolean =>
  pattern === path || (pattern.endsWith("*") && path.startsWith(withoutStars(pattern)))

const withoutStars = (pattern: string): string => {
  let end = pattern.length
  while (pattern[end - 1] === "*") end--
  return pattern.slice(0, end)
}

/** The parts of the rules that the held rules do not cover. Each part has one verb, and one resource or path. */
export const missing = (
  held: ReadonlyArray<PolicyRule>,
  wanted: ReadonlyArray<PolicyRule>
): ReadonlyArray<PolicyRule> => wanted.flatMap(parts).filter((part) => !held.some((rule) => covers(rule, part)))

const parts = (rule: PolicyRule): ReadonlyArray<PolicyRule> => [
  ...rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        (rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name])).map((resourceNames) => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
          nonResourceURLs: []
        }))
      )
    )
  ),
  ...rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({
      verbs: [verb],
      apiGroups: [],
      resources: [],
      resourceNames: [],
      nonResourceURLs: [url]
    }))
  )
]

/** True if a rule covers a part of another rule. */
const covers = (rule: PolicyRule, part: PolicyRule): boolean =>
  part.verbs.every((verb) => hasOrAll(rule.verbs, verb)) &&
  part.apiGroups.every((group) => hasOrAll(rule.apiGroups, group)) &&
  part.resources.every((resource) => coversResource(rule.resources, resource)) &&
  part.nonResourceURLs.every((path) => rule.nonResourceURLs.some((url) => coversUrl(url, path))) &&
  (rule.resourceNames.length === 0 ||
    (part.resourceNames.length > 0 && part.resourceNames.every((name) => rule.resourceNames.includes(name))))

const coversResource = (set: ReadonlyArray<string>, resource: string): boolean => {
  if (hasOrAll(set, resource)) return true
  const slash = resource.indexOf("/")
  return slash >= 0 && set.includes(`*${resource.slice(slash)}`)
}

/** The parts as sorted lines. Parts that differ only in their verb share one line, except parts with paths. */
export const describe = (rules: ReadonlyArray<PolicyRule>): ReadonlyArray<string> => {
  const merged = new Map<string, PolicyRule>()
  for (const rule of rules) {
    const { nonResourceURLs, verbs } = rule
    const key = JSON.stringify([{ ...rule, verbs: nonResourceURLs.length === 0 ? [] : verbs }])
    const before = merged.get(key)
    merged.set(key, before === undefined ? rule : { ...rule, verbs: [...new Set([...before.verbs, ...verbs])] })
  }
  return [...new Set([...merged.values()].map(line))].sort()
}

const line = ({ apiGroups, nonResourceURLs, resourceNames, resources, verbs }: PolicyRule): string => {
  const members = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["NonResourceURLs", nonResourceURLs],
    ["ResourceNames", resourceNames],
    ["Verbs", verbs]
  ] as const
  return `{${members.flatMap(([name, values]) => (values.length === 0 ? [] : [`${name}:${quoted(values)}`])).join(", ")}}`
}

/** A list of texts in the format of Go's `%q`. */
export const quoted = (texts: ReadonlyArray<string>): string => `[${texts.map(quote).join(" ")}]`
