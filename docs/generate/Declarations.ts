/**
 * The declarations of a package as the compiler makes them, in lines of a page's width: of each module what it is about, what it
 * imports, and each thing that it declares, with the comment above it.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type ParserOptions, parse } from "@babel/parser"
import { Glob } from "bun"

const root = join(import.meta.dir, "../..")

/** The packages of which there are declarations, each with the folder of its sources. */
export const packages = {
  runtime: "runtime/src",
  observability: "observability/src",
  "test/apiserver": "test/apiserver",
  "test/cluster": "test/cluster"
} as const

/** Something that a module declares. Overloads, and a type of a value's name, are one thing. */
export interface Declaration {
  readonly name: string
  readonly isExported: boolean
  /** The comments above it, without their marks. */
  readonly comment: string
  /** The declarations, without `export` and `declare`. */
  readonly text: string
  /** The names in the text that may be other types: `Resource`, `Operations.List`. */
  readonly mentions: ReadonlyArray<string>
}

/** Where a name comes from: a thing in a module, or with `*` a module as a whole. */
export interface Import {
  readonly module: string
  readonly name: string
}

/** A module by its source, `runtime/src/client/Client.ts`. */
export interface Module {
  readonly source: string
  readonly comment: string
  readonly declarations: ReadonlyMap<string, Declaration>
  /** Names that come from other modules of these packages. */
  readonly imports: ReadonlyMap<string, Import>
  /** The exports in order. `local` is the name of the declaration or import. */
  readonly exports: ReadonlyArray<{ readonly name: string; readonly local: string; readonly comment: string }>
}

const command = (words: ReadonlyArray<string>, cwd = root): void => {
  const { exitCode, stderr, stdout } = Bun.spawnSync([process.execPath, "x", ...words], { cwd, stdin: "ignore" })
  if (exitCode !== 0) throw new Error(`${words.join(" ")} ended with ${exitCode}:\n${stdout}${stderr}`)
}

/** All modules, by their sources. Has the compiler write declarations where `bun run pack` has it too, which is quick the second time. */
export const modules = async (): Promise<ReadonlyMap<string, Module>> => {
  command(["tsc", "-b", ...Object.keys(packages).map((folder) => `${folder}/tsconfig.types.json`)])
  const folder = await mkdtemp(join(tmpdir(), "homeostat-declarations-"))
  try {
    for (const [name, sources] of Object.entries(packages)) {
      for (const file of new Glob("**/*.d.ts").scanSync(join(root, name, "dist"))) {
        const source = join(sources, file.replace(/\.d\.ts$/, ".ts"))
        // Declarations of deleted modules may remain.
        if (!(await Bun.file(join(root, source)).exists())) continue
        await mkdir(dirname(join(folder, source)), { recursive: true })
        const [text, written] = await Promise.all([
          Bun.file(join(root, name, "dist", file)).text(),
          Bun.file(join(root, source)).text()
        ])
        await Bun.write(join(folder, source), withBases(text, written))
      }
    }
    await Bun.write(join(folder, "biome.json"), JSON.stringify(format))
    command(["biome", "format", "--write", `--config-path=${folder}`, "--log-level=error", folder])
    const files = Array.from(new Glob("**/*.ts").scanSync(folder)).sort()
    return new Map(
      await Promise.all(
        files.map(async (source) => {
          const [text, written] = await Promise.all([
            Bun.file(join(folder, source)).text(),
            Bun.file(join(root, source)).text()
          ])
          return [source, moduleOf(source, text, written)] as const
        })
      )
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const format = {
  formatter: { indentStyle: "space", indentWidth: 2, lineWidth: 100 },
  javascript: { formatter: { semicolons: "asNeeded", trailingCommas: "none" } },
  linter: { enabled: false },
  assist: { enabled: false }
}

const syntax: ParserOptions = { sourceType: "module", plugins: ["typescript"] }

type Statement = ReturnType<typeof parse>["program"]["body"][number]

/** A module from its declarations, and its source for what it says of itself. */
const moduleOf = (source: string, text: string, written: string): Module => {
  const { comments, program } = parse(text, syntax)
  const about = aboutOf(written)
  // The compiler keeps the comment of a module only where it keeps its first import.
  const first = comments?.find(({ start, value }) => start === 0 && plain(value) === about)
  const declarations = new Map<string, Declaration>()
  const imports = new Map<string, Import>()
  const exports: Array<Module["exports"][number]> = []

  /** The comment right above a statement. */
  const above = ({ leadingComments }: Pick<Statement, "leadingComments">): string => {
    const comment = leadingComments?.at(-1)
    return comment === undefined || comment === first || comment.type !== "CommentBlock" ? "" : plain(comment.value)
  }

  const declare = (
    name: string,
    range: { readonly start?: number | null | undefined; readonly end?: number | null | undefined },
    comment: string,
    isExported: boolean
  ) => {
    const before = declarations.get(name)
    const code = text.slice(range.start ?? 0, range.end ?? 0).replace(/^declare /, "")
    const whole = before === undefined ? code : `${before.text}\n${code}`
    declarations.set(name, {
      name,
      isExported: isExported || before?.isExported === true,
      comment: before === undefined || before.comment === "" ? comment : before.comment,
      text: whole,
      mentions: mentionsOf(whole)
    })
    if (isExported && before === undefined) exports.push({ name, local: name, comment: "" })
  }

  const visit = (statement: Statement, range: Statement, comment: string, isExported: boolean): void => {
    if (statement.type === "VariableDeclaration") {
      for (const { id } of statement.declarations) {
        if (id.type === "Identifier") declare(id.name, { start: statement.start, end: range.end }, comment, isExported)
      }
    } else if ("id" in statement && statement.id?.type === "Identifier") {
      declare(statement.id.name, { start: statement.start, end: range.end }, comment, isExported)
    }
  }

  const imported = (from: string, local: string, name: string): void => {
    const module = moduleNamed(source, from)
    if (module !== undefined) imports.set(local, { module, name })
  }

  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") {
      for (const specifier of statement.specifiers) {
        const { local } = specifier
        const name =
          specifier.type === "ImportSpecifier" && specifier.imported.type === "Identifier"
            ? specifier.imported.name
            : "*"
        imported(statement.source.value, local.name, name)
      }
    } else if (statement.type === "ExportNamedDeclaration") {
      if (statement.declaration) visit(statement.declaration, statement, above(statement), true)
      for (const specifier of statement.specifiers) {
        if (specifier.exported.type !== "Identifier") continue
        const { name } = specifier.exported
        const local =
          specifier.type === "ExportSpecifier" && specifier.local.type === "Identifier" ? specifier.local.name : name
        if (statement.source) {
          imported(statement.source.value, name, specifier.type === "ExportNamespaceSpecifier" ? "*" : local)
          exports.push({ name, local: name, comment: above(specifier) })
        } else exports.push({ name, local, comment: above(specifier) })
      }
    } else visit(statement, statement, above(statement), false)
  }
  return { source, comment: about, declarations, imports, exports }
}

/** The comment at the start of a module. */
const aboutOf = (written: string): string => plain(/^\/\*(\*.*?)\*\//s.exec(written)?.[1] ?? "")

/** A comment's text without its marks. */
const plain = (comment: string): string =>
  comment
    .replace(/^\*/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim()

/** The base classes in the text of a module: name and place. */
const basesOf = (
  text: string
): ReadonlyArray<{ readonly name: string; readonly start: number; readonly end: number }> =>
  parse(text, syntax).program.body.flatMap((statement) => {
    const declared = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    if (declared?.type !== "ClassDeclaration" || !declared.superClass || !declared.id) return []
    const end = (declared.superTypeArguments ?? declared.superClass).end
    return [{ name: declared.id.name, start: declared.superClass.start ?? 0, end: end ?? 0 }]
  })

/** The compiler gives many a class a base by a name of its own. It is put back to what the source says. */
const withBases = (text: string, written: string): string => {
  // Most modules have no such class, and parsing takes long.
  if (!text.includes("_base")) return text
  const sources = new Map(basesOf(written).map(({ end, name, start }) => [name, written.slice(start, end)]))
  return basesOf(text)
    .toReversed()
    .reduce((some, { end, name, start }) => {
      const source = sources.get(name)
      return source !== undefined && some.startsWith(`${name}_base`, start)
        ? some.slice(0, start) + source + some.slice(end)
        : some
    }, text)
}

const mentionsOf = (text: string): ReadonlyArray<string> => [
  ...new Set(text.replaceAll(/\/\*.*?\*\//gs, "").match(/\b[A-Z]\w*(?:\.[A-Za-z]\w*)?/g) ?? [])
]

/** The source of a module that another imports, if it is one of these packages'. */
const moduleNamed = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return join(dirname(from), specifier)
  const own = /^@homeostat\/(runtime|apiserver)(?:\/(.+))?$/.exec(specifier)
  if (own === null) return undefined
  return `${own[1] === "runtime" ? packages.runtime : packages["test/apiserver"]}/${own[2] ?? "index"}.ts`
}
