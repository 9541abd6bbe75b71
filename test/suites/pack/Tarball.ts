/** A packed package: its manifest, its files, and what they import. */
import { join } from "node:path"
import { Transpiler } from "bun"

/** What of a `package.json` counts for whoever installs it. */
export interface Manifest {
  readonly name: string
  readonly dependencies: { readonly [name: string]: string }
  readonly peerDependencies: { readonly [name: string]: string }
}

/** A package as it is packed. */
export interface Tarball {
  readonly manifest: Manifest
  /** Its files by path, `src/index.ts`, as text. */
  readonly files: ReadonlyMap<string, string>
}

/** The package in a file. */
export const read = async (path: string): Promise<Tarball> => {
  const entries = await Promise.all(
    Array.from(
      await new Bun.Archive(await Bun.file(path).arrayBuffer()).files(),
      async ([name, file]) => [name, await file.text()] as const
    )
  )
  const files = new Map(entries.map(([name, text]) => [name.replace(/^package\//, ""), text]))
  return { manifest: JSON.parse(files.get("package.json") ?? "{}"), files }
}

/** Its sources, for Bun. */
export const sources = ({ files }: Tarball): ReadonlyArray<string> =>
  [...files.keys()].filter((file) => file.endsWith(".ts") && !isDeclaration(file))

/** Its declarations, for TypeScript. */
export const declarations = ({ files }: Tarball): ReadonlyArray<string> => [...files.keys()].filter(isDeclaration)

const isDeclaration = (file: string): boolean => file.endsWith(".d.ts")

/** Where the declarations of a source are. */
export const declarationOf = (source: string): string =>
  `dist/${source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")}`

/** What a file imports: of a source what is there when it runs, of declarations every type. */
const importsOf = (file: string, text: string): ReadonlyArray<string> =>
  isDeclaration(file)
    ? Array.from(text.matchAll(/^(?:import|export) (?:.* from )?"([^"]+)"|import\("([^"]+)"\)/gm), ([, one, other]) =>
        String(one ?? other)
      )
    : new Transpiler({ loader: "ts" }).scanImports(text).map(({ path }) => path)

const nameOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** Imports that lead nowhere in a project that has the package and what it asks for, as `file: import`. */
export const dangling = ({ files, manifest }: Tarball): ReadonlyArray<string> => {
  const known = new Set([...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies), "bun"])
  return [...files]
    .filter(([file]) => file.endsWith(".ts"))
    .flatMap(([file, text]) =>
      importsOf(file, text)
        .filter((specifier) => {
          if (/^(node|bun):/.test(specifier)) return false
          if (!specifier.startsWith(".")) return !known.has(nameOf(specifier))
          const target = join(file, "..", specifier)
          return !files.has(isDeclaration(file) ? target.replace(/\.ts$/, ".d.ts") : target)
        })
        .map((specifier) => `${file}: ${specifier}`)
    )
}
