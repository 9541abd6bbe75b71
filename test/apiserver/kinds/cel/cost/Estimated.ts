/** Nodes of expressions with the estimates of their costs and sizes. */
import type { ASTNode } from "@marcbachmann/cel-js"
import * as Size from "./Size.ts"

/** The type of a node, which the library stores when it checks an expression. */
export interface Type {
  readonly kind: string
  readonly name: string
  readonly valueType?: Type
}

/** The sizes of the keys and values of a list or a map that an expression makes. */
export interface Entries {
  readonly isList: boolean
  readonly key: Size.Size
  readonly value: Size.Size
}

/** A node with its estimate. */
export interface Estimated {
  readonly node: ASTNode | undefined
  readonly type: Type
  /** The greatest cost of an evaluation of the node. */
  readonly cost: number
  /** The variable and the fields that lead to the node. Empty for the result of a call. */
  readonly path: ReadonlyArray<string>
  readonly size: Size.Size | undefined
  readonly entries: Entries | undefined
}

/** The variables of macros, by name. */
export type Scope = ReadonlyMap<string, Pick<Estimated, "path" | "size" | "entries">>

/** Estimates the nodes of an expression. */
export interface Estimator {
  readonly estimate: (node: ASTNode, scope: Scope) => Estimated
  /** Makes the estimate of a node from its cost. Its size comes from `known`, its path or its type. */
  readonly estimated: (
    type: Type,
    cost: number,
    known?: Partial<Pick<Estimated, "node" | "path" | "size" | "entries">>
  ) => Estimated
  /** Returns the size of the value at a path; undefined: the size is unknown. */
  readonly sizeAt: (path: ReadonlyArray<string>) => Size.Size | undefined
}

/** The type of values whose type is known only at the evaluation. */
export const dyn: Type = { kind: "dyn", name: "dyn" }

/** The type of conditions. */
export const bool: Type = { kind: "primitive", name: "bool" }

/** Returns the type of a checked node, or `dyn` if the library stores no type. */
export const typeOf = (node: ASTNode): Type => {
  const type: unknown = "checkedType" in node ? node.checkedType : undefined
  return isType(type) ? type : dyn
}

const isType = (value: unknown): value is Type =>
  typeof value === "object" && value !== null && "kind" in value && "name" in value

/** Returns the size of an estimate, or `Size.unknown`. */
export const sizeOr = ({ size }: Pick<Estimated, "size">): Size.Size => size ?? Size.unknown

/** Returns sizes that include the entries of both values; undefined: the entries of a value are unknown. */
export const unite = (one: Entries | undefined, other: Entries | undefined): Entries | undefined =>
  one === undefined || other === undefined
    ? undefined
    : { isList: one.isList, key: Size.union(one.key, other.key), value: Size.union(one.value, other.value) }
