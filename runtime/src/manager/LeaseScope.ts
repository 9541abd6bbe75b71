/**
 * The scope of the work of a Lease's holder. It stands on the Lease as an annotation, so that a manager that works on something else does
 * not wait for a Lease that another manager never gives up. Plain functions.
 */

/** The scope of a leader's work. */
export interface LeaseScope {
  /** Names of the controllers that run on the leader only. */
  readonly controllers: ReadonlyArray<string>
  /** Empty: all. */
  readonly namespaces: ReadonlyArray<string>
  /** A label selector; undefined: all labels. */
  readonly selector: string | undefined
}

/** Where a Lease has the scope of its last holder. */
export const annotation = "homeostat.dev/lease-scope"

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()

/** The annotation's value: the same text for the same scope. */
export const encode = ({ controllers, namespaces, selector }: LeaseScope): string =>
  JSON.stringify({ controllers: sorted(controllers), namespaces: sorted(namespaces), selector })

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

/** The scope in an annotation's value; undefined where there is none, or none that can be read. */
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
 * Whether two managers with these scopes have an object in common. `some`: one may replace the other in a rolling update that
 * changes its flags. Selectors are compared as text only.
 */
export const overlap = (one: LeaseScope, other: LeaseScope): "all" | "some" | "none" =>
  encode(one) === encode(other)
    ? "all"
    : meets(one.controllers, other.controllers) && meets(one.namespaces, other.namespaces)
      ? "some"
      : "none"

const list = (noun: string, names: ReadonlyArray<string>): string =>
  `${noun}${names.length === 1 ? "" : "s"} ${sorted(names).join(", ")}`

/** Such as `controllers backup, webapp in namespace shop with labels team=a`. */
export const describe = ({ controllers, namespaces, selector }: LeaseScope): string =>
  [
    controllers.length === 0 ? "no controller" : list("controller", controllers),
    ...(namespaces.length === 0 ? [] : [`in ${list("namespace", namespaces)}`]),
    ...(selector === undefined ? [] : [`with labels ${selector}`])
  ].join(" ")
