/** Folders with the contents of volumes, and a comparison of two folders: contents, modes, times, links, and holes in files. */
import { createCipheriv, createHash } from "node:crypto"
import {
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { join } from "node:path"

/** Bytes that do not compress. The same seed yields the same bytes. */
export const noise = (bytes: number, seed: string): Uint8Array => {
  const key = createHash("sha256").update(seed).digest()
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes))
}

/** Writes a file of noise, which may be large. */
export const writeNoise = (path: string, megabytes: number, seed: string): void => {
  const file = openSync(path, "w")
  const cipher = createCipheriv("aes-256-ctr", createHash("sha256").update(seed).digest(), Buffer.alloc(16))
  const zeros = Buffer.alloc(1 << 20)
  for (let index = 0; index < megabytes; index += 1) writeSync(file, cipher.update(zeros))
  closeSync(file)
}

/** The apparent size of the sparse file of `write`, in bytes. */
export const sparseSize = 64 << 20

/** Fills a folder with all common kinds of files. */
export const write = (folder: string): void => {
  const put = (name: string, content: string | Uint8Array, mode = 0o644): void =>
    writeFileSync(join(folder, name), content, { mode })
  mkdirSync(join(folder, "deep/er/and deeper"), { recursive: true, mode: 0o750 })
  mkdirSync(join(folder, "no files"))
  put("plain", "hello\n")
  put("empty", "")
  put("runs.sh", "#!/bin/sh\n", 0o755)
  put("for nobody else", "secret\n", 0o600)
  put("noise", noise(3_000_000, "noise"))
  put("deep/er/and deeper/file", "x".repeat(100_000))
  for (const name of [
    "größe 日本 🌱",
    "line\nbreak",
    `quote"s and 'more'`,
    "back\\slash",
    "-dash",
    "#hash",
    "$HOME",
    "*[?]"
  ]) {
    put(name, name)
  }
  linkSync(join(folder, "noise"), join(folder, "deep/noise again"))
  symlinkSync("plain", join(folder, "link"))
  symlinkSync("nowhere/at all", join(folder, "dangling"))
  const sparse = openSync(join(folder, "sparse"), "w")
  ftruncateSync(sparse, sparseSize)
  writeSync(sparse, "in the middle", sparseSize / 2)
  closeSync(sparse)
  // Old modification times, different for each file.
  let time = 1_000_000_000.25
  for (const path of paths(folder).toReversed()) {
    time += 1000
    const full = join(folder, path)
    if (lstatSync(full).isSymbolicLink()) lutimesSync(full, time, time)
    else utimesSync(full, time, time)
  }
}

/** All paths in a folder, each folder before its contents. */
export const paths = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true })
    .sort(({ name: one }, { name: other }) => (one < other ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory()
        ? [entry.name, ...paths(join(folder, entry.name)).map((path) => join(entry.name, path))]
        : [entry.name]
    )

/** The properties of a file that must be equal. */
export interface Entry {
  readonly mode: string
  /** The modification time in nanoseconds. */
  readonly modified: bigint
  /** The hash of the content, or the target of a link. */
  readonly content: string
  /** The first path of the same file, for hard links. */
  readonly same: string
  /** Whether the file uses far less space than its length. */
  readonly sparse: boolean
}

/** The entries of a folder by path, without `lost+found`. */
export const read = (folder: string): { readonly [path: string]: Entry } => {
  const first = new Map<bigint, string>()
  const entries: Record<string, Entry> = {}
  for (const path of paths(folder)) {
    if (path.split("/", 1)[0] === "lost+found") continue
    const full = join(folder, path)
    const { blocks, ino, mode, mtimeNs, nlink, size } = lstatSync(full, { bigint: true })
    const kind = lstatSync(full)
    const same = nlink > 1n && !kind.isDirectory() ? (first.get(ino) ?? path) : path
    first.set(ino, same)
    entries[path] = {
      mode: mode.toString(8),
      modified: mtimeNs,
      content: kind.isSymbolicLink()
        ? readlinkSync(full)
        : kind.isFile()
          ? createHash("sha256").update(readFileSync(full)).digest("hex")
          : "",
      same,
      sparse: kind.isFile() && size > 1_000_000n && blocks * 512n * 4n < size
    }
  }
  return entries
}
