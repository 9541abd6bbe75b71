/**
 * The JSON form of a client-node model.
 *
 * client-node's classes describe what its own serializer makes of an answer: times are `Date`s and names that are
 * awkward in JavaScript are mangled. This runtime never runs that serializer, so it needs the types of the plain JSON.
 */

/** `any` is a part of every type, and only it. */
type IsAny<T> = 0 extends 1 & T ? true : false

type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : Name

/** The name of a field as JSON has it: client-node writes `_default` for `default` and underscores for dashes in `x-kubernetes-…`. */
export type WireName<Name> = Name extends `x_kubernetes_${infer Rest}`
  ? `x-kubernetes-${Dashed<Rest>}`
  : Name extends `_${infer Rest}`
    ? Rest
    : Name

/**
 * `T` as JSON has it, deeply readonly: a `Date` is an RFC 3339 string, and what the model leaves open (`any`, `object`)
 * is `unknown`, to be looked at before use. Optional properties stay exact: a field may be absent, but not `undefined`.
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

/** `object extends T` holds for `object` itself and for a model whose fields are all optional: only the first has no keys. */
type WireObject<T> = keyof T extends never
  ? { readonly [key: string]: unknown }
  : { readonly [Name in keyof T as WireName<Name>]: Wire<T[Name]> }
