/** The type of an object of a built-in kind. */
import type { ObjectMeta } from "./KubernetesObject.ts"
import type { Wire } from "./Wire.ts"

/** An intersection as one object. */
type Flat<T> = { [Name in keyof T]: T[Name] }

/** An object of a built-in kind as the server returns it: the wire form of client-node's `Model`, with complete metadata. */
export type Kind<Model> = Flat<Omit<Wire<Model>, "metadata"> & { readonly metadata: ObjectMeta }>
