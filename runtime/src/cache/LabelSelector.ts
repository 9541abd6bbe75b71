/**
 * Label selectors as the API server evaluates them (`app=web,tier in (a,b),!legacy`). A cache with a selector needs them to decide
 * whether an object that the manager has just written still belongs to the cache.
 */

/** Labels of an object. */
export type Labels = { readonly [key: string]: string }

/** Decides whether labels match. */
export type LabelSelector = (labels: Labels | undefined) => boolean

type Requirement = (labels: Labels) => boolean

const key = "[A-Za-z0-9][-A-Za-z0-9_./]*"
const value = "[-A-Za-z0-9_.]*"
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`)
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([-A-Za-z0-9_.,\\s]*)\\)$`)
const existence = new RegExp(`^(!?)\\s*(${key})$`)

/** As in the API server, `!=` and `notin` match an object without the label. */
const requirement = (text: string): Requirement | undefined => {
  const equal = equality.exec(text)
  if (equal !== null) {
    const [, name = "", operator, wanted = ""] = equal
    return operator === "!=" ? (labels) => labels[name] !== wanted : (labels) => labels[name] === wanted
  }
  const member = membership.exec(text)
  if (member !== null) {
    const [, name = "", operator, list = ""] = member
    const wanted = new Set(list.split(",").map((item) => item.trim()))
    return operator === "in"
      ? (labels) => labels[name] !== undefined && wanted.has(labels[name])
      : (labels) => labels[name] === undefined || !wanted.has(labels[name])
  }
  const exists = existence.exec(text)
  if (exists !== null) {
    const [, not, name = ""] = exists
    return not === "!" ? (labels) => labels[name] === undefined : (labels) => labels[name] !== undefined
  }
  return undefined
}

/** Splits at the commas that are not inside a list of values. */
const split = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let inside = false
  for (const piece of text.split(",")) {
    parts.push(inside ? `${parts.pop() ?? ""},${piece}` : piece)
    if (/[()]/.test(piece)) inside = piece.lastIndexOf("(") > piece.lastIndexOf(")")
  }
  return parts.map((part) => part.trim())
}

const none: Labels = {}

/** The selector as a predicate; `undefined` if the syntax is unknown. An empty selector matches every object. */
export const parse = (selector: string | undefined): LabelSelector | undefined => {
  if (selector === undefined || selector.trim() === "") return () => true
  const requirements: Array<Requirement> = []
  for (const part of split(selector)) {
    const parsed = requirement(part)
    if (parsed === undefined) return undefined
    requirements.push(parsed)
  }
  return (labels = none) => requirements.every((holds) => holds(labels))
}
