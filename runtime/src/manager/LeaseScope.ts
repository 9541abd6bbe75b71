/**
 * The scope of the work of a Lease's holder. An annotation of the Lease has it, so that a manager with another scope does not wait
 * for a Lease that it would never get. Pure functions.
 */

/** The scope of a leader's work. */
export interface LeaseScope {
  /** The controllers that only the leader runs. */
  readonly controllers: ReadonlyArray<string>
  /** The namespaces; empty for all. */
  readonly namespaces: ReadonlyArray<string>
  /** A label selector; undefined for all labels. */
  readonly selector: string | undefined
}

/** The annotation with the scope of the last holder. Every program has the same key, so that each can read the Lease of another one. */
export const annotation = "homeostat.dev/lease-scope"

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()

/** The value of the annotation: the same text for the same scope. */
export const encode = ({ controllers, namespaces, selector }: LeaseScope): string =>
  JSON.stringify({ controllers: sorted(controllers), namespaces: sorted(namespaces), selector })

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

/** The scope in the value of an annotation; undefined if it is absent or invalid. */
export const decode = (text: string | undefined): LeaseScope | undefined => {
  if (text === undefined) return undefined
  try {
    const { controllers, namespaces, selector }: Partial<Record<keyof LeaseScope, unknown>> = JSON.parse(text)
    return isTexts(controllers) && isTexts(namespaces) && (selector === undefined || typeof selector === "string")
      ? { controllers, namespaces, selector }
      : undefined
  } catch {
    return undefined
  }
}

const meets = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.length === 0 || others.length === 0 || some.some((each) => others.includes(each))

/**
 * Whether two managers with these scopes have an object in common. With `some`, one may replace the other in a rolling update that
 * changes its flags. Selectors are compared only as text.
 */
export const overlap = (one: LeaseScope, other: LeaseScope): "all" | "some" | "none" =>
  encode(one) === encode(other)
    ? "all"
    : meets(one.controllers, other.controllers) && meets(one.namespaces, other.namespaces)
      ? "some"
      : "none"

const list = (noun: string, names: ReadonlyArray<string>): string =>
  `${noun}${names.length === 1 ? "" : "s"} ${sorted(names).join(", ")}`

/** The scope in words: `controllers backup, webapp in namespace shop with labels team=a`. */
export const describe = ({ controllers, namespaces, selector }: LeaseScope): string =>
  [
    controllers.length === 0 ? "no controller" : list("controller", controllers),
    ...(namespaces.length === 0 ? [] : [`in ${list("namespace", namespaces)}`]),
    ...(selector === undefined ? [] : [`with labels ${selector}`])
  ].join(" ")
