/** Folders as volumes have them, and whether two are the same: contents, modes, times, links, and holes in files. */
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

/** Bytes that cannot be compressed, the same for the same seed. */
export const noise = (bytes: number, seed: string): Uint8Array => {
  const key = createHash("sha256").update(seed).digest()
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes))
}

/** A file of noise that may be large. */
export const writeNoise = (path: string, megabytes: number, seed: string): void => {
  const file = openSync(path, "w")
  const cipher = createCipheriv("aes-256-ctr", createHash("sha256").update(seed).digest(), Buffer.alloc(16))
  const zeros = Buffer.alloc(1 << 20)
  for (let index = 0; index < megabytes; index += 1) writeSync(file, cipher.update(zeros))
  closeSync(file)
}

/** How large the sparse file of `write` seems to be. */
export const sparseSize = 64 << 20

/** Fills a folder with all that a file system can have, within reason. */
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
  // Long ago, and each at another time.
  let time = 1_000_000_000.25
  for (const path of paths(folder).toReversed()) {
    time += 1000
    const full = join(folder, path)
    if (lstatSync(full).isSymbolicLink()) lutimesSync(full, time, time)
    else utimesSync(full, time, time)
  }
}

/** Everything in a folder, by its path in it, folders before what is in them. */
export const paths = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true })
    .sort(({ name: one }, { name: other }) => (one < other ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory()
        ? [entry.name, ...paths(join(folder, entry.name)).map((path) => join(entry.name, path))]
        : [entry.name]
    )

/** What is to be equal, of one file. */
export interface Entry {
  readonly mode: string
  /** Nanoseconds. */
  readonly modified: bigint
  /** A hash of the content, or where a link leads to. */
  readonly content: string
  /** The first of the paths that are this very file. */
  readonly same: string
  /** It takes far less room than it is long. */
  readonly sparse: boolean
}

/** What a folder has, `lost+found` apart. */
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
