/**
 * The JSON form of a client-node model.
 *
 * client-node's classes describe the output of its own deserializer: times are `Date`s, and some names are mangled. This runtime
 * never uses that deserializer, so it needs the types of the plain JSON.
 */

/** Only `any` passes this test. */
type IsAny<T> = 0 extends 1 & T ? true : false

type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : Name

/** The name of a field in JSON: client-node writes `_default` for `default`, and underscores for dashes in `x-kubernetes-…`. */
export type WireName<Name> = Name extends `x_kubernetes_${infer Rest}`
  ? `x-kubernetes-${Dashed<Rest>}`
  : Name extends `_${infer Rest}`
    ? Rest
    : Name

/**
 * `T` in JSON, deeply readonly: a `Date` is an RFC 3339 string, and open types of the model (`any`, `object`) are `unknown`. Optional
 * properties are exact: a field may be absent, but not `undefined`.
 */
export type Wire<T> =
  IsAny<T> extends true
    ? unknown
    : T extends Date
      ? string
      : T extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Wire<Item>>
        : T extends object
          ? object extends T
            ? WireObject<T>
            : { readonly [Name in keyof T as WireName<Name>]: Wire<T[Name]> }
          : T

/** `object extends T` holds for `object` itself and for a model with only optional fields; only `object` has no keys. */
type WireObject<T> = keyof T extends never
  ? { readonly [key: string]: unknown }
  : { readonly [Name in keyof T as WireName<Name>]: Wire<T[Name]> }
