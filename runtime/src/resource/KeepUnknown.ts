/** Keeps the fields that a schema does not declare, at every depth: another version of a kind may have them. */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

const unknown = [new AST.IndexSignature(AST.string, AST.unknown)]

const opened = (ast: AST.AST): AST.AST => {
  const encoding = encodingOf(ast.encoding)
  switch (ast._tag) {
    case "Objects":
      // Effect keeps the fields of a struct without properties.
      return new AST.Objects(
        ast.propertySignatures.map(({ name, type }) => new AST.PropertySignature(name, open(type))),
        ast.indexSignatures.length > 0
          ? ast.indexSignatures.map(({ parameter, type }) => new AST.IndexSignature(parameter, open(type)))
          : ast.propertySignatures.length > 0
            ? unknown
            : [],
        ast.annotations,
        ast.checks,
        encoding,
        ast.context,
        ast.encodingChecks
      )
    case "Arrays":
      return new AST.Arrays(
        ast.isMutable,
        ast.elements.map(open),
        ast.rest.map(open),
        ast.annotations,
        ast.checks,
        encoding,
        ast.context,
        ast.encodingChecks
      )
    case "Union":
      return new AST.Union(
        ast.types.map(open),
        ast.options,
        ast.annotations,
        ast.checks,
        encoding,
        ast.context,
        ast.encodingChecks
      )
    case "Suspend":
      return new AST.Suspend(() => open(ast.thunk()), ast.annotations, ast.checks, encoding, ast.context)
    case "Declaration":
      return new AST.Declaration(
        ast.typeParameters,
        ast.run,
        ast.annotations,
        ast.checks,
        encoding,
        ast.context,
        ast.encodingChecks,
        ast.encodingRun
      )
    default:
      return ast
  }
}

const encodingOf = (encoding: AST.Encoding | undefined): AST.Encoding | undefined => {
  if (encoding === undefined) return undefined
  const [first, ...others] = encoding.map(({ to, transformation }) => new AST.Link(open(to), transformation))
  return first === undefined ? undefined : [first, ...others]
}

const known = new WeakMap<AST.AST, AST.AST>()

const open = (ast: AST.AST): AST.AST => {
  const before = known.get(ast)
  if (before !== undefined) return before
  const after = opened(ast)
  known.set(ast, after)
  return after
}

/** The schema, decoding of which keeps unknown fields. */
export const of = <A, I>(schema: Schema.ConstraintCodec<A, I>): Schema.ConstraintCodec<A, I> =>
  Schema.make<Schema.ConstraintCodec<A, I>>(open(schema.ast))
