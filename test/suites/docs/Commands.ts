/**
 * The commands of the documentation. Every block ```` ```sh ```` of a page has one of these forms:
 *
 * - ```` ```sh ````: the test runs it, in the order of the page
 * - ```` ```sh background ````: one command that runs until the page ends
 * - ```` ```sh elsewhere="FILE" ````: too long; FILE, a test or CI, runs the same commands
 * - ```` ```sh short="COMMAND" ````: too long; the test runs COMMAND, the same program with less work
 * - ```` ```sh container ````: needs a container runtime, which tests do not have
 */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { Glob } from "bun"
import * as Markdown from "./Markdown.ts"

export const root = join(import.meta.dir, "../../..")

export type Form =
  | { readonly form: "run" | "background" | "container" }
  | { readonly form: "elsewhere"; readonly file: string }
  | { readonly form: "short"; readonly command: string }

export type Commands = Form & {
  /** `docs/why.md:5` */
  readonly place: string
  readonly text: string
}

/** A page with its blocks of commands and of Kubernetes YAML, in order. */
export interface Page {
  readonly file: string
  readonly commands: ReadonlyArray<Commands>
  readonly blocks: ReadonlyArray<Commands | { readonly form: "apply"; readonly place: string; readonly text: string }>
  /** The reasons why blocks are invalid. */
  readonly wrong: ReadonlyArray<string>
}

/** The form of a block, or the reason why it is invalid. */
export const formOf = ({ attributes, text }: Pick<Markdown.Block, "attributes" | "text">): Form | string => {
  const entries = Object.entries(attributes)
  const [first] = entries
  if (first === undefined) return { form: "run" }
  const [name, value] = first
  if (entries.length > 1) return `several attributes: ${entries.map(([name]) => name).join(", ")}`
  if (name === "container" && value === "") return { form: "container" }
  if (name === "background" && value === "") {
    return linesOf(text).length === 1 ? { form: "background" } : "a background block must have one command"
  }
  if (name === "elsewhere" && value !== "") return { form: "elsewhere", file: value }
  if (name === "short" && value !== "") return { form: "short", command: value }
  return `unknown attribute: ${name}`
}

/** The commands of a block, one per line and without comments. */
export const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "")

const aliases = ["bash", "shell", "zsh", "console"]

export const read = (file: string, text: string): Page => {
  const blocks: Array<Page["blocks"][number]> = []
  const wrong: Array<string> = []
  for (const block of Markdown.blocks(text)) {
    const place = `${file}:${block.line}`
    if (aliases.includes(block.language)) wrong.push(`${place}: invalid language: ${block.language} (must be sh)`)
    if (block.language === "yaml" && block.attributes.title === undefined && /^apiVersion:/.test(block.text)) {
      blocks.push({ form: "apply", place, text: block.text })
    }
    if (block.language !== "sh") continue
    const form = formOf(block)
    if (typeof form === "string") wrong.push(`${place}: ${form}`)
    else blocks.push({ ...form, place, text: block.text })
  }
  return { file, blocks, commands: blocks.filter((block): block is Commands => block.form !== "apply"), wrong }
}

/** All pages except generated pages, the guide and the pages of `bun run new`. Those have their own tests. */
const files = Array.from(new Glob("**/*.md").scanSync(root))
  .filter((file) => !/(^|\/)(node_modules|dist)\/|^docs\/(guide|reference)\/|^controllers\//.test(file))
  .sort()

/** All pages with commands or YAML. */
export const pages: ReadonlyArray<Page> = (
  await Promise.all(files.map(async (file) => read(file, await Bun.file(join(root, file)).text())))
).filter(({ blocks, wrong }) => blocks.length + wrong.length > 0)

/** A command as tests write it: without variables, and with the current Bun. */
const spelt = (command: string): string =>
  command.replace(/^(?:[A-Z_]+=\S+ )+/, "").replace(/^npx --yes bun@[\d.]+/, "bun")

/** The file that a command runs, directly or through a script of package.json. */
const entryOf = (command: string, scripts: Readonly<Record<string, string>>): string | undefined => {
  const [, script = ""] = /^bun run (\S+)/.exec(command) ?? []
  return /bun (?:run )?(\S+\.ts)\b/.exec(`${command} ${scripts[script] ?? ""}`)?.[1]
}

/** The programs of the control plane that a line builds, if it builds one. */
const assetsOf = (command: string): ReadonlyArray<string> | undefined =>
  /^export KUBEBUILDER_ASSETS="\$\(test\/cluster\/envtest\/assets\/build ([a-z -]+) \| tail -1\)"$/
    .exec(command)?.[1]
    ?.split(" ")

/** A file with its relative imports. */
const textOf = async (file: string): Promise<string> => {
  const text = await Bun.file(join(root, file)).text()
  const imported = Array.from(text.matchAll(/from "(\.[^"]+\.ts)"/g), ([, path = ""]) =>
    Bun.file(join(root, dirname(file), path)).text()
  )
  return [text, ...(await Promise.all(imported))].join("\n")
}

/** The commands of a block that neither its file nor its short form runs. */
export const unproven = async (
  block: Commands,
  scripts: Readonly<Record<string, string>>
): Promise<ReadonlyArray<string>> => {
  if (block.form !== "elsewhere" && block.form !== "short") return []
  if (block.form === "elsewhere" && !existsSync(join(root, block.file))) return [`file not found: ${block.file}`]
  const ci = await Bun.file(join(root, ".ci/run")).text()
  const elsewhere = block.form === "elsewhere" ? await textOf(block.file) : ""
  return linesOf(block.text).filter((line) => {
    const assets = assetsOf(line)
    if (assets !== undefined) {
      const built = /^ *programs="([^"]+)"$/m.exec(ci)?.[1]?.split(" ") ?? []
      return !(
        ci.includes("test/cluster/envtest/assets/build $programs") && assets.every((name) => built.includes(name))
      )
    }
    const command = spelt(line)
    const entry = entryOf(command, scripts)
    if (block.form === "short") return entry === undefined || entry !== entryOf(block.command, scripts)
    // A test may start the file of the script or import its module: `test/soak.ts` is a command for `Soak.ts`.
    const name = entry?.split("/").at(-1)
    if (elsewhere.includes(command)) return false
    const words = command
      .split(" ")
      .slice(0, 3)
      .map((word) => JSON.stringify(word))
    const isStarted =
      elsewhere.includes(words.join(", ")) ||
      (name !== undefined && new RegExp(`[/"]${name.replace(".", "\\.")}"`, "i").test(elsewhere))
    const flags = command.split(" ").filter((word) => word.startsWith("--"))
    return !(isStarted && flags.every((flag) => elsewhere.includes(flag)))
  })
}
