/** The approximate memory of JSON values. */

/**
 * The bytes of an object, as {@link exceeds} counts them: twice the 256 KiB that an object can have for `kubectl apply`, which keeps it in
 * an annotation. etcd stores three times as much.
 */
export const mostBytes = 512 * 1024

/** The approximate bytes of a field, of an entry of a list or of a number, and of a string besides its characters. */
const fieldBytes = 24
const valueBytes = 8

const isStructure = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/** The bytes that are left, without those of a field; less than 0 if the value takes more. Ends early. */
export const left = (value: unknown, bytes: number, except?: string): number => {
  if (typeof value === "string") return bytes - value.length - valueBytes
  if (!isStructure(value)) return bytes - valueBytes
  let rest = bytes - fieldBytes
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) rest = left(value[at], rest)
    return rest
  }
  for (const name in value) {
    if (rest < 0) return rest
    if (name !== except) rest = left(value[name], rest - name.length - fieldBytes)
  }
  return rest
}

/**
 * Whether a JSON value takes more memory than `bytes`, approximately: its characters, and some bytes for each field and entry, of which a
 * megabyte can have hundreds of thousands. Takes a microsecond or two for an ordinary object, and not much more for a larger one.
 */
export const exceeds = (value: unknown, bytes: number): boolean => left(value, bytes) < 0

/** The bytes of a field besides its value. */
export const ofField = (name: string): number => name.length + fieldBytes

/** More than any object. */
const endless = 2 ** 40

/** The approximate bytes of a JSON value: see {@link exceeds}. Ends late. */
export const sizeOf = (value: unknown): number => endless - left(value, endless)
