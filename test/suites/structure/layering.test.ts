/** Imports between the folders of the runtime, and of the API server, go one way, without cycles. */
import { expect, test } from "bun:test"
import { basename, dirname, join, relative } from "node:path"
import { Glob, Transpiler } from "bun"
import { all, root } from "./Modules.ts"

/** A folder imports itself and earlier folders. */
const folders = [
  "resource",
  "telemetry",
  "queue",
  "client",
  "cache",
  "events",
  "controller",
  "webhook",
  "manager",
  "plan",
  "replay",
  "command"
]

/** The same for the API server. */
const serverFolders = ["model", "storage", "fields", "access", "kinds", "codec", "webhook", "admission", "rest", "http"]

interface Imports {
  readonly file: string
  readonly imports: ReadonlyArray<string>
}

// Does not match a parenthesis before the quote, which would be the key of a service.
const specifiers = /(?:^|\n)\s*(?:import|export)\b[^"'\n(]*(?:\n[^"'\n(]*)*?["']([^"'\n]+)["']/g

// The same without the constants that `specifiers` finds too.
const statements = /^(?:import (?:[^"\n]* from )?|\} from |export [^"=\n]* from )"([^"\n]+)"/gm

/** Imports of types count. */
const importsOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(specifiers), ([, specifier]) => specifier ?? "")

/** The controllers by their manifests. */
const controllers = await Promise.all(
  [...new Glob("controllers/*/package.json").scanSync(root)].map(async (path) => {
    const { name, exports } = await Bun.file(join(root, path)).json()
    return { name: String(name), folder: dirname(path), main: join(dirname(path), String(exports["."])) }
  })
)

const packages: { readonly [name: string]: string } = {
  "@homeostat/runtime": "runtime/src",
  "@homeostat/observability": "observability/src",
  "@homeostat/apiserver": "test/apiserver",
  "@homeostat/testkit": "test/cluster",
  ...Object.fromEntries(controllers.map(({ folder, name }) => [name, folder]))
}

const mains: { readonly [name: string]: string } = {
  "@homeostat/runtime": "runtime/src/index.ts",
  "@homeostat/observability": "observability/src/index.ts",
  ...Object.fromEntries(controllers.map(({ main, name }) => [name, main]))
}

/** The path of a specifier from the root, undefined for other packages. */
const locate = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return relative(root, join(root, dirname(from), specifier))
  const name = Object.keys(packages).find(
    (candidate) => specifier === candidate || specifier.startsWith(`${candidate}/`)
  )
  if (name === undefined) return undefined
  return specifier === name ? mains[name] : `${packages[name]}${specifier.slice(name.length)}.ts`
}

const modules: ReadonlyArray<Imports> = all.map(({ file, text }) => ({
  file,
  imports: importsOf(text).flatMap((specifier) => {
    const target = locate(file, specifier)
    return target === undefined ? [] : [target]
  })
}))

const folderOf = (file: string): string | undefined => /^runtime\/src\/([^/]+)\//.exec(file)?.[1]

const serverFolderOf = (file: string): string | undefined => /^test\/apiserver\/([^/]+)\//.exec(file)?.[1]

const arrows = modules.flatMap(({ file, imports }) => imports.map((target) => ({ file, target })))

const show = (wrong: ReadonlyArray<{ readonly file: string; readonly target: string }>) =>
  wrong.map(({ file, target }) => `${file} -> ${target}`)

test("the tests find modules and imports", () => {
  expect(modules.length).toBeGreaterThan(30)
  expect(arrows.length).toBeGreaterThan(60)
})

test("a folder of the runtime imports only earlier folders", () => {
  const wrong = arrows.filter(({ file, target }) => {
    const from = folderOf(file)
    const to = folderOf(target)
    return from !== undefined && to !== undefined && folders.indexOf(to) > folders.indexOf(from)
  })
  expect(show(wrong)).toEqual([])
})

test("every folder of the runtime is in the list", () => {
  const others = modules.flatMap(({ file }) => {
    const folder = folderOf(file)
    return folder !== undefined && !folders.includes(folder) ? [file] : []
  })
  expect(others).toEqual([])
})

test("the runtime does not import controllers, observability and tests", () => {
  const wrong = arrows.filter(({ file, target }) => file.startsWith("runtime/") && !target.startsWith("runtime/"))
  expect(show(wrong)).toEqual([])
})

test("the runtime does not import its index", () => {
  const wrong = arrows.filter(({ file, target }) => file.startsWith("runtime/") && target === "runtime/src/index.ts")
  expect(show(wrong)).toEqual([])
})

test("the testkit imports the API server, and only resource, client, telemetry and webhook of the runtime, besides the modules that run controllers", () => {
  const wrong = arrows.filter(
    ({ file, target }) =>
      file.startsWith("test/cluster/") &&
      !/^test\/(apiserver|cluster)\//.test(target) &&
      !["resource", "client", "telemetry", "webhook"].includes(folderOf(target) ?? "") &&
      !(
        /^test\/cluster\/(Attempts|Explore|Harness|explore\/\w+)\.ts$/.test(file) &&
        /^runtime\/src\/(controller\/(Attempt|Controller|Reconciliation)|manager\/(LeaderElection|Manager|Rbac|why\/\w+)|command\/Kinds)\.ts$/.test(
          target
        )
      )
  )
  expect(show(wrong)).toEqual([])
})

const server = all.filter(({ file }) => file.startsWith("test/apiserver/"))

test("a folder of the API server imports only earlier folders", () => {
  const wrong = arrows.filter(({ file, target }) => {
    const from = serverFolderOf(file)
    const to = serverFolderOf(target)
    return from !== undefined && to !== undefined && serverFolders.indexOf(to) > serverFolders.indexOf(from)
  })
  expect(show(wrong)).toEqual([])
})

test("every module of the API server is in a folder of the list", () => {
  expect(server.length).toBeGreaterThan(200)
  const others = server.filter(({ file }) => !serverFolders.includes(serverFolderOf(file) ?? ""))
  expect(others.map(({ file }) => file)).toEqual([])
})

test("the API server imports itself, its dependencies and modules of Node", async () => {
  const { dependencies, peerDependencies } = await Bun.file(join(root, "test/apiserver/package.json")).json()
  const known = Object.keys({ ...dependencies, ...peerDependencies })
  const wrong = server.flatMap(({ file, text }) =>
    Array.from(text.matchAll(statements), ([, specifier]) => specifier ?? "")
      .filter((specifier) =>
        specifier.startsWith(".")
          ? !(locate(file, specifier) ?? "").startsWith("test/apiserver/")
          : !specifier.startsWith("node:") && !known.some((name) => `${specifier}/`.startsWith(`${name}/`))
      )
      .map((specifier) => `${file}: ${specifier}`)
  )
  expect(wrong).toEqual([])
  const found = server.flatMap(({ text }) => Array.from(text.matchAll(statements), ([, specifier]) => specifier))
  expect(found.length).toBeGreaterThan(1000)
})

test("the API server does not need Bun", () => {
  const wrong = server.filter(({ text }) =>
    /\bBun\b|\bimport\.meta\.(dir|file|path|main)\b/.test(new Transpiler({ loader: "ts" }).transformSync(text))
  )
  expect(wrong.map(({ file }) => file)).toEqual([])
})

test("two modules of the API server do not have the same name", () => {
  // A plural is the same name.
  const files = Map.groupBy(server, ({ file }) =>
    basename(file)
      .toLowerCase()
      .replace(/s?\.ts$/, "")
  )
  const twice = [...files.values()].filter(({ length }) => length > 1)
  expect(twice.map((same) => same.map(({ file }) => file))).toEqual([])
})

/** Words for which Kubernetes has its own: validate, subresource, prepareForUpdate, generation, position. */
const replaced =
  /\b(?:const|function\*?|interface|type|class|readonly) (?:\w*[mM]istakes?|below|grow|settled?|stay|[pP]lace|Own|Asked|idle|[wW]orld)\b/g

test("the API server uses the words of Kubernetes", () => {
  const found = server.flatMap(({ file, text }) => (text.match(replaced) ?? []).map((word) => `${file}: ${word}`))
  expect(found).toEqual([])
})

test("observability imports only the runtime", () => {
  const wrong = arrows.filter(
    ({ file, target }) => file.startsWith("observability/") && !/^(observability|runtime)\//.test(target)
  )
  expect(show(wrong)).toEqual([])
})

test("controllers do not import each other; only main.ts composes them", () => {
  const wrong = arrows.filter(({ file, target }) => {
    const from = /^controllers\/([^/]+)\//.exec(file)?.[1]
    const to = /^controllers\/([^/]+)\//.exec(target)?.[1]
    return from !== undefined && to !== undefined && from !== to
  })
  expect(show(wrong)).toEqual([])
})

test("imports have no cycles", () => {
  const graph = new Map(modules.map(({ file, imports }) => [file, imports]))
  const finished = new Set<string>()
  const circles: Array<string> = []
  const visit = (file: string, path: ReadonlyArray<string>): void => {
    const start = path.indexOf(file)
    if (start >= 0) {
      circles.push([...path.slice(start), file].join(" -> "))
      return
    }
    if (finished.has(file)) return
    for (const target of graph.get(file) ?? []) visit(target, [...path, file])
    finished.add(file)
  }
  for (const { file } of modules) visit(file, [])
  expect(circles).toEqual([])
})
