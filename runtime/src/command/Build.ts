/** The build of a program: its sources, its target and its compiler. */

/** Facts that the build script passes in, because the program cannot find them. */
export interface Build {
  /** The commit of the sources, with `-dirty` if they differ from it; `unknown` without a repository. */
  readonly commit: string
  /** The time of the commit in ISO 8601. The time of the build would make two builds of one commit differ. */
  readonly date?: string | undefined
  /** The target: `linux-x64-musl`. */
  readonly target: string
  /** The JavaScript runtime and its version: `bun 1.4.5`. */
  readonly runtime: string
  /** The options of the compiler. */
  readonly settings: ReadonlyArray<string>
}

/** The name and version of a program. */
export interface Built {
  readonly name: string
  readonly version: string
  /** Default: unknown, as for a program that runs from its sources. */
  readonly build?: Build | undefined
}

/** A commit in short: eight digits, and `-dirty` if the sources differed. */
export const shortCommit = (commit: string): string => commit.replace(/^([0-9a-f]{8})[0-9a-f]*/, "$1")

/**
 * The version of a build. One between two releases (`0.2.0-dev`) gets its commit as the metadata of Semantic Versioning:
 * `0.2.0-dev+1a2b3c4d`.
 */
export const versionOf = (version: string, commit = "unknown"): string =>
  version.includes("-") && commit !== "unknown" ? `${version}+${shortCommit(commit)}` : version

/** Go's name of the architecture, which Kubernetes uses. */
const architectures: { readonly [name: string]: string } = { x64: "amd64", ia32: "386" }

/**
 * The User-Agent, in the form of client-go: name, version, system, and the commit if it is known.
 * `homeostat/0.1.0 (linux/amd64) homeostat/1a2b3c4d`
 */
export const userAgent = ({ build, name, version }: Built): string => {
  const system = `${process.platform}/${architectures[process.arch] ?? process.arch}`
  const commit = build === undefined ? "" : ` ${name}/${shortCommit(build.commit)}`
  // The API server takes the text before the first slash as the field manager of writes without one.
  return `${name}/${version} (${system})${commit}`
}
