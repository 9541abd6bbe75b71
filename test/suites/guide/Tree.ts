/**
 * The files of a working tree that are committed or would be. The module reads `.gitignore` itself, because a test machine may have no
 * git.
 */
import { copyFile, lstat, mkdir, readdir, readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Glob } from "bun"

/** Returns whether a `.gitignore` ignores a name. Throws for a line with a path or a negation. */
const ignoredBy = (text: string): ((name: string) => boolean) => {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
  const names = lines.map((line) => line.replace(/\/$/, ""))
  const strange = names.find((name) => /[/!]/.test(name))
  if (strange !== undefined) throw new Error(`a line of .gitignore: ${strange} (accepted: names and patterns of names)`)
  const globs = [".git", ...names].map((name) => new Glob(name))
  return (name) => globs.some((glob) => glob.match(name))
}

/** The sorted paths of the files in a folder with a `.gitignore`. */
export const files = async (root: string): Promise<ReadonlyArray<string>> => {
  const isIgnored = ignoredBy(await readFile(join(root, ".gitignore"), "utf8"))
  const below = async (folder: string): Promise<ReadonlyArray<string>> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true })
    const found = entries
      .filter(({ name }) => !isIgnored(name))
      .map((entry) => (entry.isDirectory() ? below(join(folder, entry.name)) : [join(folder, entry.name)]))
    return (await Promise.all(found)).flat()
  }
  return (await below("")).toSorted()
}

/** Copies the files of a tree with their modes. */
export const copy = async (from: string, to: string): Promise<void> => {
  for (const file of await files(from)) {
    await mkdir(dirname(join(to, file)), { recursive: true })
    await copyFile(join(from, file), join(to, file))
  }
}

/** One line per file, with its path, whether it is executable, and the SHA-256 of its content. */
export const state = async (root: string): Promise<string> => {
  const lines = (await files(root)).map(async (file) => {
    const { mode } = await lstat(join(root, file))
    const hash = new Bun.CryptoHasher("sha256").update(await readFile(join(root, file))).digest("hex")
    return `${hash} ${(mode & 0o100) === 0 ? "-" : "x"} ${file}`
  })
  return (await Promise.all(lines)).join("\n")
}
