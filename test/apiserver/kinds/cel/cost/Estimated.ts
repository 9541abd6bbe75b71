/** Nodes of expressions with the estimates of their costs and sizes. */
import type { ASTNode } from "@marcbachmann/cel-js"
import * as Size from "./Size.ts"

/** The type of a node, which the library notes when it checks an expression. */
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
  /** The most that its evaluation costs. */
  readonly cost: number
  /** The fields from a variable to it; none: it is the result of a call. */
  readonly path: ReadonlyArray<string>
  readonly size: Size.Size | undefined
  readonly entries: Entries | undefined
}

/** Variables of macros. */
export type Scope = ReadonlyMap<string, Pick<Estimated, "path" | "size" | "entries">>

/** Estimates the nodes of an expression. */
export interface Estimator {
  readonly estimate: (node: ASTNode, scope: Scope) => Estimated
  /** The estimate of a node from its cost, with the size that its path, its type or `known` has. */
  readonly estimated: (
    type: Type,
    cost: number,
    known?: Partial<Pick<Estimated, "node" | "path" | "size" | "entries">>
  ) => Estimated
  /** The size of the value at a path. */
  readonly sizeAt: (path: ReadonlyArray<string>) => Size.Size | undefined
}

/** A type that only the evaluation finds out. */
export const dyn: Type = { kind: "dyn", name: "dyn" }

/** The type of conditions. */
export const bool: Type = { kind: "primitive", name: "bool" }

/** The type of a checked node. */
export const typeOf = (node: ASTNode): Type => {
  const type: unknown = "checkedType" in node ? node.checkedType : undefined
  return isType(type) ? type : dyn
}

const isType = (value: unknown): value is Type =>
  typeof value === "object" && value !== null && "kind" in value && "name" in value

/** The size, or all sizes. */
export const sizeOr = ({ size }: Pick<Estimated, "size">): Size.Size => size ?? Size.unknown

/** The sizes of the entries of the one or the other value. */
export const unite = (one: Entries | undefined, other: Entries | undefined): Entries | undefined =>
  one === undefined || other === undefined
    ? undefined
    : { isList: one.isList, key: Size.union(one.key, other.key), value: Size.union(one.value, other.value) }
