/** A batch: test files that one process of `bun test` runs one after the other. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A test, by its file and its full name. */
export interface Test {
  readonly file: string
  readonly name: string
}

/** The results of a batch. */
export interface Report {
  readonly passed: ReadonlyArray<Test>
  /** The tests that failed, and those that the file skips. */
  readonly failed: ReadonlyArray<Test>
  /** An error outside of the tests, because the process died or a file did not load. */
  readonly error: string | undefined
  /** The seconds that each file took. */
  readonly seconds: ReadonlyMap<string, number>
  /** The CPU seconds of the batch and of its child processes. */
  readonly cpuSeconds: number
  /** Everything that `bun test` printed to standard error. */
  readonly output: string
}

/** The time limit of a batch. It also ends a file that hangs while it loads. */
const limitMillis = 20 * 60_000

const children = new Set<Bun.Subprocess>()

/** Stops all batches that are running. */
export const stop = (): void => {
  for (const child of children) child.kill("SIGTERM")
}

/** Runs a batch. `environment` is added to the environment of this process. */
export const run = async (
  folder: string,
  files: ReadonlyArray<string>,
  environment: { readonly [name: string]: string }
): Promise<Report> => {
  const directory = mkdtempSync(join(tmpdir(), "homeostat-test-"))
  const results = join(directory, "results.xml")
  try {
    const child = Bun.spawn(
      [
        ...[process.execPath, "test", "--timeout", "300000", "--reporter=junit", `--reporter-outfile=${results}`],
        ...files.map((file) => `./${file}`)
      ],
      {
        cwd: folder,
        // The child ends when this pipe ends. That happens even if SIGKILL ends this process (see the preloaded hook).
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
        timeout: limitMillis,
        killSignal: "SIGKILL",
        env: { ...process.env, FORCE_COLOR: "0", HOMEOSTAT_TEST_INPUT: "pipe", ...environment }
      }
    )
    children.add(child)
    const [output, , code] = await Promise.all([child.stderr.text(), pass(child.stdout), child.exited])
    children.delete(child)
    const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
    return { ...read(resultsIn(results), files, code), cpuSeconds, output }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Prints the standard output of tests, such as seeds and counts. */
const pass = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
  const text = await new Response(stream).text()
  process.stdout.write(text.replace(/^bun test v.*\n/, ""))
}

const resultsIn = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** Reads the JUnit report of a batch with this exit code. A process that died has no report. */
export const read = (
  xml: string,
  files: ReadonlyArray<string>,
  code: number
): Omit<Report, "cpuSeconds" | "output"> => {
  const passed: Array<Test> = []
  const failed: Array<Test> = []
  const seconds = new Map<string, number>()
  for (const [, attributes = "", content = ""] of xml.matchAll(testcase)) {
    const { classname = "", file = "", name = "" } = attributesOf(attributes)
    const groups = classname === "" ? [] : classname.split(" > ").reverse()
    const full = [...groups, name].join(" > ")
    if (content.includes("<skipped")) failed.push({ file, name: `${full} (skipped)` })
    else (content.includes("<failure") ? failed : passed).push({ file, name: full })
  }
  for (const [, attributes = ""] of xml.matchAll(suite)) {
    const { file = "", name, time } = attributesOf(attributes)
    if (name === file) seconds.set(file, Number(time))
  }
  const lacking = files.filter((file) => !seconds.has(file))
  const error =
    xml === ""
      ? `the process ended early, with exit code ${code}`
      : lacking.length > 0
        ? `no test has run in ${lacking.join(", ")}`
        : code !== 0 && failed.length === 0
          ? `exit code ${code}, though no test failed`
          : undefined
  return { passed, failed, error, seconds }
}

/** Returns the name of each failed test with the last 40 lines that it wrote to standard error. */
export const excerpts = ({ output }: Pick<Report, "output">): ReadonlyArray<string> => {
  const found: Array<string> = []
  let lines: Array<string> = []
  for (const line of output.split("\n")) {
    if (line !== "") lines.push(line)
    if (line.startsWith("(fail) ")) found.push(lines.slice(-40).join("\n  "))
    if (/^\((?:fail|pass)\) /.test(line)) lines = []
  }
  return found
}

const suite = /<testsuite ((?:[^">]|"[^"]*")*)>/g
const testcase = /<testcase ((?:[^">]|"[^"]*")*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g

const attributesOf = (text: string): { readonly [name: string]: string } =>
  Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, plain(value)]))

const characters: { readonly [entity: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const plain = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, entity) =>
    decimal !== undefined
      ? String.fromCodePoint(Number(decimal))
      : hex !== undefined
        ? String.fromCodePoint(Number.parseInt(hex, 16))
        : (characters[entity] ?? whole)
  )
