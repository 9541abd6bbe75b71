/** Fields of objects by paths in the form of field errors: `spec.env[0].name`. */

/** The path of a field `__proto__`, which a decoded map would hide from a check; `undefined` if there is none. */
export const prototype = (value: unknown): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  // The entries of a long list would take many times as long as the list.
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner = prototype(value[index])
      if (inner !== undefined) return joined(`[${index}]`, inner)
    }
    return undefined
  }
  for (const [name, each] of Object.entries(value)) {
    const inner = name === "__proto__" ? "" : prototype(each)
    if (inner !== undefined) return joined(name, inner)
  }
  return undefined
}

const joined = (step: string, inner: string): string =>
  inner === "" || inner.startsWith("[") ? `${step}${inner}` : `${step}.${inner}`

/** The value at a path such as `spec.env[0].name`. */
export const valueAt = (object: unknown, field: string): unknown =>
  field
    .split(/[.[\]]+/)
    .filter((step) => step !== "")
    .reduce<unknown>(
      (value, step) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, step)
          ? (value as Readonly<Record<string, unknown>>)[step]
          : undefined,
      object
    )
