/** Imports between the folders of the runtime go one way, without cycles. */
import { expect, test } from "bun:test"
import { dirname, join, relative } from "node:path"
import { Glob } from "bun"
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
  "command"
]

interface Imports {
  readonly file: string
  readonly imports: ReadonlyArray<string>
}

// Without a parenthesis before the quote, which would be the key of a service.
const specifiers = /(?:^|\n)\s*(?:import|export)\b[^"'\n(]*(?:\n[^"'\n(]*)*?["']([^"'\n]+)["']/g

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

test("the testkit imports only resource, client, telemetry and webhook of the runtime, besides the harness of controllers", () => {
  const wrong = arrows.filter(
    ({ file, target }) =>
      file.startsWith("test/cluster/") &&
      !target.startsWith("test/cluster/") &&
      !["resource", "client", "telemetry", "webhook"].includes(folderOf(target) ?? "") &&
      !(
        ["test/cluster/Attempts.ts", "test/cluster/Harness.ts"].includes(file) &&
        /^runtime\/src\/(controller\/(Attempt|Controller)|manager\/(Manager|Rbac|why\/\w+)|command\/Kinds)\.ts$/.test(
          target
        )
      )
  )
  expect(show(wrong)).toEqual([])
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
