/**
 * The commands of the documentation, and what is done with each: every block ```` ```sh ```` of a page is of one of these forms, so that
 * nobody types a command that no test has run.
 *
 * - ```` ```sh ````: run, in the order of the page
 * - ```` ```sh background ````: one command that goes on until the page ends, as in a second terminal
 * - ```` ```sh elsewhere="FILE" ````: too long to be run twice. FILE, a test or CI itself, runs just that
 * - ```` ```sh short="COMMAND" ````: too long; COMMAND is run in its place, the same program with less to do
 * - ```` ```sh container ````: needs a container runtime, which tests do not have
 */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { Glob } from "bun"
import * as Markdown from "./Markdown.ts"

/** The root of the repository. */
export const root = join(import.meta.dir, "../../..")

/** What is done with a block. */
export type Form =
  | { readonly form: "run" | "background" | "container" }
  | { readonly form: "elsewhere"; readonly file: string }
  | { readonly form: "short"; readonly command: string }

/** A block of commands. */
export type Commands = Form & {
  /** `docs/why.md:5` */
  readonly place: string
  readonly text: string
}

/** A page with the blocks that it has, in order. What is YAML of Kubernetes comes along: a reader would apply it. */
export interface Page {
  readonly file: string
  readonly commands: ReadonlyArray<Commands>
  readonly blocks: ReadonlyArray<Commands | { readonly form: "apply"; readonly place: string; readonly text: string }>
  /** Blocks that are none of these, each with the reason. */
  readonly wrong: ReadonlyArray<string>
}

/** What a block is, or why it is nothing. */
export const formOf = ({ attributes, text }: Pick<Markdown.Block, "attributes" | "text">): Form | string => {
  const entries = Object.entries(attributes)
  const [first] = entries
  if (first === undefined) return { form: "run" }
  const [name, value] = first
  if (entries.length > 1) return `several attributes: ${entries.map(([name]) => name).join(", ")}`
  if (name === "container" && value === "") return { form: "container" }
  if (name === "background" && value === "") {
    return linesOf(text).length === 1 ? { form: "background" } : "what runs in the background is one command"
  }
  if (name === "elsewhere" && value !== "") return { form: "elsewhere", file: value }
  if (name === "short" && value !== "") return { form: "short", command: value }
  return `no such attribute: ${name}`
}

/** The commands of a block, one to a line, without comments and without what only sets variables before them. */
export const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "")

/** Languages that are commands under another name. */
const aliases = ["bash", "shell", "zsh", "console"]

/** Reads a page. */
export const read = (file: string, text: string): Page => {
  const blocks: Array<Page["blocks"][number]> = []
  const wrong: Array<string> = []
  for (const block of Markdown.blocks(text)) {
    const place = `${file}:${block.line}`
    if (aliases.includes(block.language)) wrong.push(`${place}: commands are \`sh\`, not \`${block.language}\``)
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

/**
 * The pages: all but the guide, which is followed by a test of its own, what is generated from the code, and those of controllers
 * that `bun run new` has made, which has its own test too.
 */
const files = Array.from(new Glob("**/*.md").scanSync(root))
  .filter((file) => !/(^|\/)(node_modules|dist)\/|^docs\/(guide|reference)\/|^controllers\//.test(file))
  .sort()

/** All pages that have something to be typed or applied. */
export const pages: ReadonlyArray<Page> = (
  await Promise.all(files.map(async (file) => read(file, await Bun.file(join(root, file)).text())))
).filter(({ blocks, wrong }) => blocks.length + wrong.length > 0)

/** A command as tests spell it: with the Bun at hand, and without what it is told by variables. */
const spelt = (command: string): string =>
  command.replace(/^(?:[A-Z_]+=\S+ )+/, "").replace(/^npx --yes bun@[\d.]+/, "bun")

/** The file that a command runs: of a script of package.json, the one that it comes to. */
const entryOf = (command: string, scripts: Readonly<Record<string, string>>): string | undefined => {
  const [, script = ""] = /^bun run (\S+)/.exec(command) ?? []
  return /bun (?:run )?(\S+\.ts)\b/.exec(`${command} ${scripts[script] ?? ""}`)?.[1]
}

/** The programs that a line builds a control plane of; absent if it does not. */
const assetsOf = (command: string): ReadonlyArray<string> | undefined =>
  /^export KUBEBUILDER_ASSETS="\$\(test\/cluster\/envtest\/assets\/build ([a-z -]+) \| tail -1\)"$/
    .exec(command)?.[1]
    ?.split(" ")

/** A file and what it imports from beside it: where a test says what it runs. */
const textOf = async (file: string): Promise<string> => {
  const text = await Bun.file(join(root, file)).text()
  const imported = Array.from(text.matchAll(/from "(\.[^"]+\.ts)"/g), ([, path = ""]) =>
    Bun.file(join(root, dirname(file), path)).text()
  )
  return [text, ...(await Promise.all(imported))].join("\n")
}

/** Which commands of a block nothing shows to be run by what it names. */
export const unproven = async (
  block: Commands,
  scripts: Readonly<Record<string, string>>
): Promise<ReadonlyArray<string>> => {
  if (block.form !== "elsewhere" && block.form !== "short") return []
  if (block.form === "elsewhere" && !existsSync(join(root, block.file))) return [`there is no ${block.file}`]
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
    // A test may start the script's file itself, or what that is about: `test/soak.ts` is a command around `Soak.ts`.
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
