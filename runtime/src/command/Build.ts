/** How a program was made: which sources, for what, by what. */

/** What its maker knows and the program can't find out. */
export interface Build {
  /** The commit of the sources; `-dirty` follows it where they differed from it; `unknown` where there was none to be asked. */
  readonly commit: string
  /** Of the commit and not of the build, so that the same sources give the same bytes; in ISO 8601. */
  readonly date?: string | undefined
  /** What it runs on: `linux-x64-musl`. */
  readonly target: string
  /** What it is run by, and its version: `bun 1.4.5`. */
  readonly runtime: string
  /** How it was compiled. */
  readonly settings: ReadonlyArray<string>
}

/** What it is about. */
export interface Built {
  readonly name: string
  readonly version: string
  /** Default: nothing is known, as of a program that is run from its sources. */
  readonly build?: Build | undefined
}

/** A commit as people write it: eight digits, and `-dirty` where it is. */
export const shortCommit = (commit: string): string => commit.replace(/^([0-9a-f]{8})[0-9a-f]*/, "$1")

/** As Go, and with it all of Kubernetes, calls an architecture. */
const architectures: { readonly [name: string]: string } = { x64: "amd64", ia32: "386" }

/**
 * How it names itself to a server, as client-go does: name, version, the system, and the commit where it is known.
 * `homeostat/0.1.0 (linux/amd64) homeostat/1a2b3c4d`
 */
export const userAgent = ({ build, name, version }: Built): string => {
  const system = `${process.platform}/${architectures[process.arch] ?? process.arch}`
  const commit = build === undefined ? "" : ` ${name}/${shortCommit(build.commit)}`
  // What stands before the first slash is the field manager of writes that name none.
  return `${name}/${version} (${system})${commit}`
}
