/** Packed packages. */
import { join } from "node:path"
import { Transpiler } from "bun"

export interface Manifest {
  readonly name: string
  readonly dependencies: { readonly [name: string]: string }
  readonly peerDependencies: { readonly [name: string]: string }
  /** The targets of imports that begin with `#`. */
  readonly imports?: { readonly [specifier: string]: string }
}

export interface Tarball {
  readonly manifest: Manifest
  /** The text of the files by path, such as `src/index.ts`. */
  readonly files: ReadonlyMap<string, string>
}

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

/** Changes a file of a tarball. */
export const change = async (path: string, file: string, to: (text: string) => string): Promise<void> => {
  const files = Object.fromEntries(await new Bun.Archive(await Bun.file(path).arrayBuffer()).files())
  const name = `package/${file}`
  const text = await files[name]?.text()
  await Bun.write(path, await new Bun.Archive({ ...files, [name]: to(text ?? "") }, { compress: "gzip" }).bytes())
}

export const sources = ({ files }: Tarball): ReadonlyArray<string> =>
  [...files.keys()].filter((file) => file.endsWith(".ts") && !isDeclaration(file))

export const declarations = ({ files }: Tarball): ReadonlyArray<string> => [...files.keys()].filter(isDeclaration)

const isDeclaration = (file: string): boolean => file.endsWith(".d.ts")

/** The path of the declarations of a source. */
export const declarationOf = (source: string): string =>
  `dist/${source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")}`

/** The imports of a file: of a source only those at run time, of declarations also those of types. */
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

/** Imports outside of the package and its dependencies, as `file: import`. */
export const dangling = ({ files, manifest }: Tarball): ReadonlyArray<string> => {
  const known = new Set([...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies), "bun"])
  return [...files]
    .filter(([file]) => file.endsWith(".ts"))
    .flatMap(([file, text]) =>
      importsOf(file, text)
        .filter((written) => {
          const specifier = manifest.imports?.[written] ?? written
          if (/^(node|bun):/.test(specifier)) return false
          if (!specifier.startsWith(".")) return !known.has(nameOf(specifier))
          const target = join(file, "..", specifier)
          return !files.has(isDeclaration(file) ? target.replace(/\.ts$/, ".d.ts") : target)
        })
        .map((specifier) => `${file}: ${specifier}`)
    )
}
