/** The pages of the packages' modules: what each is about, and all that it exports, with the comments of the sources. */
import { relative } from "node:path"
import { type Declaration, type Module, modules, packages } from "./Declarations.ts"
import type { Page } from "./Page.ts"

/** A module that has a page. */
interface Entry {
  readonly source: string
  /** How it is called by who imports it. */
  readonly name: string
  /** The import from the package's index, if it is there. */
  readonly index: string | undefined
  /** The import by a path of its own, if it has one. */
  readonly path: string | undefined
  readonly page: string
}

/** The modules of the testkit that are for authors of controllers. It has no index: each is imported by its path. */
const ofTestkit = [
  "Harness",
  "EmbeddedCluster",
  "Eventually",
  "Faults",
  "Explore",
  "Test",
  "Shared",
  "kubelet/SimulatedPods",
  "envtest/Envtest"
]

/** Whether a comment says that a module or an export is only for the packages of this repository. */
const isInternal = (comment: string): boolean => /^@internal\b/m.test(comment)

const known = await modules()

const moduleAt = (source: string): Module => {
  const module = known.get(source)
  if (module === undefined) throw new Error(`no declarations found: ${source}`)
  return module
}

const lastOf = (path: string): string => path.split("/").at(-1) ?? path

const entriesOfIndex = (folder: "runtime" | "observability"): ReadonlyArray<Entry> => {
  const index = moduleAt(`${packages[folder]}/index.ts`)
  return index.exports.flatMap(({ name }) => {
    const { module = "" } = index.imports.get(name) ?? {}
    if (isInternal(moduleAt(module).comment)) return []
    const path = module.slice(packages[folder].length + 1, -".ts".length)
    const entry: Entry = {
      source: module,
      name,
      index: `import { ${name} } from "@homeostat/${folder}"`,
      path: folder === "runtime" ? `@homeostat/runtime/${path}` : undefined,
      page: `docs/reference/${folder}/${name}.md`
    }
    return [entry]
  })
}

const entries: { readonly [folder: string]: ReadonlyArray<Entry> } = {
  runtime: entriesOfIndex("runtime"),
  observability: entriesOfIndex("observability"),
  testkit: ofTestkit.map((path) => ({
    source: `test/cluster/${path}.ts`,
    name: lastOf(path),
    index: undefined,
    path: `@homeostat/testkit/${path}`,
    page: `docs/reference/testkit/${lastOf(path)}.md`
  }))
}

const pageOf = new Map(Object.values(entries).flatMap((some) => some.map((entry) => [entry.source, entry] as const)))

/** A thing in a module. */
interface Found {
  readonly module: Module
  readonly declaration: Declaration
}

/** The declaration of a name, through imports; undefined if it is not of these packages. */
const find = (module: Module, name: string): Found | undefined => {
  const [head = "", member] = name.split(".")
  const declaration = member === undefined ? module.declarations.get(head) : undefined
  if (declaration !== undefined) return { module, declaration }
  const alias = module.exports.find((one) => one.name === head && one.local !== head)
  if (alias !== undefined && member === undefined) return find(module, alias.local)
  const from = module.imports.get(head)
  const target = from === undefined ? undefined : known.get(from.module)
  if (from === undefined || target === undefined) return undefined
  if (from.name === "*") return member === undefined ? undefined : find(target, member)
  return find(target, from.name)
}

const link = (from: Entry, to: string): string => relative(from.page.replace(/\/[^/]+$/, ""), to)

/** A comment as Markdown: what it refers to is a link where there is something to link to. */
const markdown = (comment: string, module: Module, entry: Entry): string => {
  const [text = "", ...tags] = comment.split(/^(?=@(?:param|typeParam|returns|throws|example)\b)/m)
  const isExample = (tag: string): boolean => tag.startsWith("@example")
  const linked = (some: string): string =>
    some.replaceAll(/\{@link ([\w.]+)(?:\s*\|\s*([^}]*))?\}/g, (_, name: string, label?: string) => {
      const shown = `\`${label?.trim() || name}\``
      const found = find(module, name)
      if (found === undefined) return shown
      const { declaration, module: of } = found
      const page = pageOf.get(of.source)
      if (page === undefined || !declaration.isExported || isInternal(declaration.comment)) return shown
      return `[${shown}](${page === entry ? "" : link(entry, page.page)}#${declaration.name.toLowerCase()})`
    })
  const listed = tags
    .filter((tag) => !isExample(tag))
    .map((tag) => {
      const [, kind = "", rest = ""] = /^@(\w+)\s+(.*)$/s.exec(tag.trim()) ?? []
      const body = rest.replaceAll(/\s*\n\s*/g, " ")
      const named = /^(\w+)\s+-?\s*(.*)$/s.exec(body)
      return kind === "param" || kind === "typeParam"
        ? `- \`${named?.[1] ?? ""}\`: ${linked(named?.[2] ?? "")}`
        : `- ${kind}: ${linked(body)}`
    })
  return [linked(text.trim()), listed.join("\n")].filter((part) => part !== "").join("\n\n")
}

const exampleOf = (comment: string): string | undefined => /^@example\n```ts\n(.*?)^```$/ms.exec(comment)?.[1]

const code = (text: string): string => `\`\`\`ts\n${text}\n\`\`\``

/** How far types that are mentioned, and have no page, are followed. */
const depth = 2

/** The declarations that others mention and that no page has, in the order in which they are met. */
const mentioned = (start: ReadonlyArray<Found>): ReadonlyArray<Found> => {
  const seen = new Set(start.map(({ declaration }) => declaration))
  const result: Array<Found> = []
  let level = start
  for (let step = 0; step < depth; step++) {
    const next: Array<Found> = []
    for (const { declaration, module } of level) {
      for (const name of declaration.mentions) {
        const found = find(module, name)
        if (found === undefined || seen.has(found.declaration)) continue
        seen.add(found.declaration)
        if (pageOf.has(found.module.source) && found.declaration.isExported) continue
        next.push(found)
      }
    }
    result.push(...next)
    level = next
  }
  return result
}

/** The first sentence of what a module says it is about. */
const summary = (comment: string): string =>
  (comment.split("\n\n")[0] ?? "")
    .replaceAll("\n", " ")
    .replaceAll(/\{@link ([\w.]+)\}/g, "`$1`")
    .replace(/:$/, ".")
    .replace(/(?<=[^.]\.) .*$/, "")

const section = (heading: string, comment: string, found: Found, entry: Entry): string => {
  const example = exampleOf(comment)
  return [
    heading,
    markdown(comment, found.module, entry),
    code(found.declaration.text),
    example === undefined ? "" : `Example:\n\n${code(example.trimEnd())}`
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

const pathOf = (source: string): string =>
  source.replace(/^(runtime|observability)\/src\/|^test\/(cluster\/|(?=apiserver\/))/, "")

/** An export of a module, with its comment. */
interface Exported {
  readonly name: string
  readonly found: Found
  readonly comment: string
}

/** The exports of a module that are not internal. */
const exportedBy = (module: Module): ReadonlyArray<Exported> =>
  module.exports.flatMap(({ comment: above, local, name }) => {
    const found = find(module, local)
    const comment = above === "" ? (found?.declaration.comment ?? "") : above
    return found === undefined || isInternal(comment) ? [] : [{ name, found, comment }]
  })

const render = (entry: Entry): Page => {
  const module = moduleAt(entry.source)
  const exported = exportedBy(module)
  const others = mentioned(exported.map(({ found }) => found))
  const ways = [entry.index, entry.path === undefined ? undefined : `import * as ${entry.name} from "${entry.path}"`]
  const parts = [
    `# ${entry.name}`,
    `<!-- Made from ${entry.source} by \`bun run generate\`. A test fails if the two differ. -->`,
    code(ways.filter((way) => way !== undefined).join("\n")),
    markdown(module.comment, module, entry),
    ...exported.map(({ comment, found, name }) => section(`## ${name}`, comment, found, entry)),
    ...(others.length === 0 ? [] : ["## Types that these mention"]),
    ...others.map((found) =>
      section(
        `### ${found.declaration.name} (\`${pathOf(found.module.source)}\`)`,
        found.declaration.comment,
        found,
        entry
      )
    )
  ]
  return { path: entry.page, text: `${parts.filter((part) => part !== "").join("\n\n")}\n` }
}

/** A page for each module. */
export const pages: ReadonlyArray<Page> = Object.values(entries).flat().map(render)

const entryOf = (entry: Entry): string =>
  `- [${entry.name}](${entry.page.slice("docs/reference/".length)}): ${summary(moduleAt(entry.source).comment)}`

/** The modules by task. A module that no task names is advanced. */
const tasks: { readonly [task: string]: ReadonlyArray<string> } = {
  "Define a kind": ["CustomResource", "Field", "Crd", "BuiltIn", "Resource", "KubernetesObject"],
  "Write a controller": [
    "Controller",
    "Result",
    "TerminalError",
    "Trigger",
    "Predicate",
    "Finalizer",
    "Access",
    "Backoff"
  ],
  "Read and own objects": ["Cache", "Outside", "Owned", "Readiness", "Transform"],
  "Status and Events": ["Status", "Condition", "Time", "EventRecorder"],
  "Talk to the API server": ["Client", "Patch", "ApiError"],
  "Run a program": ["Program", "Manager", "LeaderElection", "Cluster", "KubeConfig", "Metric", "Metrics"],
  Observe: ["Logs", "MetricsText", "OpenMetrics", "Traces"],
  Test: ["Harness", "Eventually", "Faults", "EmbeddedCluster", "SimulatedPods", "Test", "Shared", "Envtest"]
}

const all = Object.values(entries).flat()

/** A function of a public module, such as `Owned.apply`. */
export interface Documented {
  readonly name: string
  /** The code of its `@example`; absent if it has none. */
  readonly example: string | undefined
}

/** The functions of all public modules, and every other export with an example. */
export const functions: ReadonlyArray<Documented> = all.flatMap((entry) =>
  exportedBy(moduleAt(entry.source)).flatMap(({ comment, found, name }) => {
    const example = exampleOf(comment)
    const isFunction = /^(?:const \w+: .*=>|function )/s.test(found.declaration.text)
    const whole = entry.name === name ? name : `${entry.name}.${name}`
    return isFunction || example !== undefined ? [{ name: whole, example }] : []
  })
)

/** The lists of modules for the page of contents. */
export const contents: string = [
  ...Object.entries(tasks).map(
    ([task, names]) => [task, names.flatMap((name) => all.filter((entry) => entry.name === name))] as const
  ),
  ["Advanced", all.filter(({ name }) => !Object.values(tasks).flat().includes(name))] as const
]
  .map(([task, some]) => `## ${task}\n\n${some.map(entryOf).join("\n")}`)
  .join("\n\n")
