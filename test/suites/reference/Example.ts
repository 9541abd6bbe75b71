/**
 * The examples of the reference as files. An example with imports is a program or a test. Any other example is the body of an
 * `Effect.gen` in a reconcile of `site`, an object of the kind `Site`. A line `EXPRESSION // => VALUE` expects that value.
 */
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Documented, functions } from "../../../docs/generate/Api.ts"

const root = join(import.meta.dir, "../../..")

export type Form = "body" | "program" | "test"

export interface Example {
  /** The documented function, such as `Owned.apply`. */
  readonly name: string
  readonly form: Form
  readonly file: string
  readonly text: string
}

const modules: { readonly [module: string]: RegExp } = {
  "@homeostat/observability": /^(Logs|MetricsText|OpenMetrics|Traces)$/,
  "bun:test": /^expect$/,
  effect: /^(Clock|Duration|Effect|Layer|LogLevel|Logger|Option|Schedule|Schema)$/,
  "@homeostat/testkit/Eventually": /^(eventually|stays)$/,
  "./Site.ts": /^Site$/
}

/** The imports of the names that a body uses. Every other capitalised name before a dot is a module of the runtime. */
const importsOf = (body: string): string => {
  const names = new Set(body.match(/\b(?:[A-Z]\w*(?=[.(,)])|Site|expect|eventually|stays)\b/g))
  const moduleOf = (name: string) =>
    Object.entries(modules).find(([, pattern]) => pattern.test(name))?.[0] ?? "@homeostat/runtime"
  const known = [...names].filter((name) => moduleOf(name) !== "@homeostat/runtime" || runtime.has(name))
  const imports = known.map((name) => `import { ${name} } from "${moduleOf(name)}"`)
  const others = {
    EffectResult: 'import { Result as EffectResult } from "effect"',
    Faults: 'import * as Faults from "@homeostat/testkit/Faults"'
  }
  return [...imports, ...Object.entries(others).flatMap(([name, line]) => (names.has(name) ? [line] : []))].join("\n")
}

const runtime = new Set(Object.keys(await import("@homeostat/runtime")))

const expectations = (code: string): string =>
  code.replaceAll(
    /^(.*?) \/\/ => (.*)$/gm,
    (_, expression: string, value: string) => `expect(${expression}).toEqual(${value})`
  )

const bodyOf = (code: string): string => {
  const body = expectations(code)
  const declared = /\bcontroller\b/.test(body) && !/const controller\b/.test(body)
  return [
    importsOf(`${body} Effect.gen(Controller.make(Result.done`),
    declared
      ? 'const controller = Controller.make("site", { for: Site, reconcile: () => Effect.succeed(Result.done) })'
      : "",
    /\bcluster\./.test(body) ? "const cluster = { faults: Faults.make() }" : "",
    declared && !/\bSite\b/.test(body) ? 'import { Site } from "./Site.ts"' : "",
    'import type { Site as SiteOf } from "./Site.ts"',
    "/** The example. */",
    "export default (site: SiteOf): Effect.Effect<unknown, unknown, Controller.Services | Controller.Provided> =>",
    `Effect.gen(function* () {\n${body}})`
  ].join("\n")
}

const of = ({ example = "", name }: Documented): Example => {
  const form = !/^import /m.test(example) ? "body" : example.includes("Program.main(") ? "program" : "test"
  const file = `${name}.${form === "test" ? "test" : "example"}.ts`
  return { name, form, file, text: form === "body" ? bodyOf(example) : example }
}

/** The examples of all functions. */
export const all: ReadonlyArray<Example> = functions.filter(({ example }) => example !== undefined).map(of)

/** Examples that need a real control plane. */
export const real: ReadonlyArray<Example> = all.filter(({ name }) =>
  ["Envtest.start", "Explore.onReal", "Shared.real"].includes(name)
)

/** Writes examples and their kind to a new folder, and returns its path. */
export const write = (examples: ReadonlyArray<Example>): string => {
  mkdirSync(join(root, "dist"), { recursive: true })
  const folder = mkdtempSync(join(root, "dist", "examples-"))
  copyFileSync(join(import.meta.dir, "Site.ts"), join(folder, "Site.ts"))
  for (const { file, text } of examples) writeFileSync(join(folder, file), text)
  const settings = {
    extends: "../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ["*.ts"],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  return folder
}

/** Runs Bun in a folder of examples. */
export const run = (folder: string, ...words: ReadonlyArray<string>) => {
  const { exitCode, stderr, stdout } = Bun.spawnSync([process.execPath, ...words], { cwd: folder, stdin: "ignore" })
  return { exitCode, output: `${stdout}${stderr}` }
}

/** The examples of a form that need no real control plane. */
export const tested = (form: Form): ReadonlyArray<Example> =>
  all.filter((example) => example.form === form && !real.includes(example))
