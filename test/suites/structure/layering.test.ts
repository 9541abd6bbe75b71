/** The picture of design 1 stays true: imports go one way, and no file imports itself by way of others. */
import { expect, test } from "bun:test"
import { dirname, join, relative } from "node:path"
import { Glob } from "bun"
import { all, root } from "./Modules.ts"

/** From left to right: a room imports itself and what stands before it. */
const rooms = [
  "resource",
  "telemetry",
  "queue",
  "client",
  "cache",
  "events",
  "controller",
  "webhook",
  "manager",
  "command"
]

interface Imports {
  readonly file: string
  readonly imports: ReadonlyArray<string>
}

// Without a parenthesis before the quote: what follows one is no module, but the key of a service.
const specifiers = /(?:^|\n)\s*(?:import|export)\b[^"'\n(]*(?:\n[^"'\n(]*)*?["']([^"'\n]+)["']/g

/** Imports of types count: a type that points to the right is an arrow to the right. */
const importsOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(specifiers), ([, specifier]) => specifier ?? "")

/** Those of the controllers, by their manifests: there may be more of them tomorrow. */
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

/** A specifier as a path from the root, or nothing for what is not ours. */
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

const roomOf = (file: string): string | undefined => /^runtime\/src\/([^/]+)\//.exec(file)?.[1]

const arrows = modules.flatMap(({ file, imports }) => imports.map((target) => ({ file, target })))

const show = (wrong: ReadonlyArray<{ readonly file: string; readonly target: string }>) =>
  wrong.map(({ file, target }) => `${file} -> ${target}`)

test("the modules of the project and what they import are found", () => {
  expect(modules.length).toBeGreaterThan(30)
  expect(arrows.length).toBeGreaterThan(60)
})

test("a room of the runtime imports only rooms to its left", () => {
  const wrong = arrows.filter(({ file, target }) => {
    const from = roomOf(file)
    const to = roomOf(target)
    return from !== undefined && to !== undefined && rooms.indexOf(to) > rooms.indexOf(from)
  })
  expect(show(wrong)).toEqual([])
})

test("every folder of the runtime is a room of the picture", () => {
  const strange = modules.flatMap(({ file }) => {
    const room = roomOf(file)
    return room !== undefined && !rooms.includes(room) ? [file] : []
  })
  expect(strange).toEqual([])
})

test("the runtime knows no controller, no observability and no test", () => {
  const wrong = arrows.filter(({ file, target }) => file.startsWith("runtime/") && !target.startsWith("runtime/"))
  expect(show(wrong)).toEqual([])
})

test("no room below the manager imports the runtime's index", () => {
  const wrong = arrows.filter(({ file, target }) => file.startsWith("runtime/") && target === "runtime/src/index.ts")
  expect(show(wrong)).toEqual([])
})

test("the testkit imports nothing of the runtime but resource, client and the telemetry names they use", () => {
  const wrong = arrows.filter(
    ({ file, target }) =>
      file.startsWith("test/cluster/") &&
      !target.startsWith("test/cluster/") &&
      !["resource", "client", "telemetry"].includes(roomOf(target) ?? "")
  )
  expect(show(wrong)).toEqual([])
})

test("observability imports nothing but the runtime", () => {
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

test("no import goes round in a circle", () => {
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
