/** Pages, comments and messages follow the rules of plain English in `Prose.ts`. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import * as Api from "../../../docs/generate/Api.ts"
import * as Prose from "./Prose.ts"

const root = join(import.meta.dir, "../../..")

const read = async (file: string): Promise<string> => await Bun.file(join(root, file)).text()

const files = (pattern: string): ReadonlyArray<string> =>
  [...new Glob(pattern).scanSync({ cwd: root, dot: false })]
    .filter((file) => !/(^|\/)(node_modules|dist|released)\//.test(file))
    .sort()

const pages = files("**/*.md")

const modules = files("{runtime,controllers,observability,deploy,docs}/**/*.ts").filter(
  (file) => !/\.(test|fixture)\.ts$/.test(file)
)

/** The modules of the testkit that have a page in the reference. */
const publicTestkit = Api.pages
  .flatMap(({ path }) => /^docs\/reference\/(testkit\/.*)\.md$/.exec(path)?.[1] ?? [])
  .flatMap((name) => files(`test/cluster/**/${name.slice("testkit/".length)}.ts`))

const programs = files("{test,controllers}/*.ts")
  .concat(files("test/{demo,apiserver,cluster}/**/*.ts"))
  .filter((file) => !/\.(test|fixture)\.ts$/.test(file))

/** The tests whose names follow the rules. */
const tests = files("{controllers,runtime,observability,test}/**/*.test.ts")

/** Messages of the API server, word for word. */
const recorded = /Continuing with the provided token|a wildcard DNS-1123 subdomain|was previously a storage version/

const hitsOf = async (
  paths: ReadonlyArray<string>,
  paragraphsOf: (text: string) => ReadonlyArray<string>,
  find = Prose.hits
): Promise<ReadonlyArray<string>> => {
  const all = await Promise.all(
    paths.map(async (path) =>
      paragraphsOf(await read(path))
        .flatMap(find)
        .map(({ advice, found }) => `${path}: ${found} (${advice})`)
    )
  )
  return all.flat()
}

describe("Plain English in", () => {
  test("pages", async () => {
    expect(pages.length).toBeGreaterThan(50)
    expect(await hitsOf(pages, Prose.ofPage)).toEqual([])
  })

  test("comments", async () => {
    expect(modules.length).toBeGreaterThan(150)
    expect(await hitsOf(modules, Prose.ofComments)).toEqual([])
  })

  test("messages, help and descriptions", async () => {
    expect(await hitsOf(modules, Prose.ofStrings)).toEqual([])
    const ofProgram = (text: string) => Prose.ofStrings(text).filter((each) => !recorded.test(each))
    expect(programs.length).toBeGreaterThan(200)
    expect(await hitsOf(programs, ofProgram)).toEqual([])
  })

  test("comments in examples and in the reference", async () => {
    expect(await hitsOf(pages, Prose.ofExamples)).toEqual([])
  })

  test("comments of the public testkit", async () => {
    expect(publicTestkit.length).toBeGreaterThan(6)
    expect(await hitsOf(publicTestkit, Prose.ofComments)).toEqual([])
  })

  test("comments of tests and of their programs", async () => {
    const all = files("test/**/*.ts").filter((file) => !/^test\/suites\/docs\/Prose/.test(file))
    expect(all.length).toBeGreaterThan(1000)
    expect(await hitsOf(all, Prose.ofComments)).toEqual([])
  })

  test("comments of manifests and scripts", async () => {
    const others = [...files("deploy/**/*.yaml"), ...files("**/*.sh"), ...files("deploy/**/Dockerfile")]
    expect(others.length).toBeGreaterThan(40)
    expect(await hitsOf(others, Prose.ofHashComments)).toEqual([])
  })

  test("names of tests", async () => {
    expect(tests.length).toBeGreaterThan(400)
    expect(await hitsOf(tests, Prose.ofTestNames, Prose.hitsOfName)).toEqual([])
  })

  test("names of recorded tests", async () => {
    const recordings = files("test/suites/**/recording.json")
    expect(recordings.length).toBeGreaterThan(10)
    const namesOf = (text: string) => Object.keys(JSON.parse(text).entries)
    expect(await hitsOf(recordings, namesOf, Prose.hitsOfName)).toEqual([])
  })

  test("names of tests that pages quote", async () => {
    expect(await hitsOf(["docs/generate/evidence.json"], Prose.ofStrings)).toEqual([])
  })
})

describe("The check finds", () => {
  const found = (text: string) => Prose.hits(text).map(({ advice }) => advice)

  for (const text of [
    "The manager is told of the change.",
    "This mends the status.",
    "The server lists anew.",
    "Nobody owns the object.",
    "Whoever reads the page.",
    "A retry is no change.",
    "There are no more objects.",
    "The object stays for ever.",
    "The cache remembers the answer.",
    "The program does what he wants.",
    "It works. Of several replicas one leads.",
    "Who only waits ends.",
    "What is missing is named."
  ]) {
    test(text, () => expect(found(text)).not.toEqual([]))
  }

  test("a sentence of 26 words, in which code counts as one word", () => {
    const words = (count: number) => `${Array.from({ length: count }, () => "word").join(" ")}.`
    expect(found(words(25))).toEqual([])
    expect(found(words(26))).toEqual(["26 words: write two sentences"])
    expect(found(`\`${words(30)}\` ${words(24)}`)).toEqual([])
  })

  for (const name of [
    "Of two managers the first leads",
    "What fails is retried",
    "is told of once",
    "reports the error, and says so"
  ]) {
    test(`the name of a test: ${name}`, () => expect(Prose.hitsOfName(name)).not.toEqual([]))
  }

  test("nothing in plain names of tests", () => {
    const source = `describe("MoverJob", () => {\n  test(\n    \`shortens ${"$"}{name} without collisions\`,\n    () => {})\n})\n`
    expect(Prose.ofTestNames(source)).toEqual(["MoverJob", "shortens X without collisions"])
    expect(Prose.ofTestNames(source).flatMap(Prose.hitsOfName)).toEqual([])
    expect(Prose.ofTestNames('test.each([["a", 1]])("The status of %s", (name) => {})')).toEqual(["The status of %s"])
    expect(Prose.ofTestNames('Backups.real("A claim is saved", (scene) => save(scene))')).toEqual(["A claim is saved"])
  })

  test("nothing in questions, in code and in ordinary sentences", () => {
    for (const text of ["What is missing?", "`told`", "The manager is no longer the leader.", "There is no trace."]) {
      expect([text, found(text)]).toEqual([text, []])
    }
  })
})

describe("The paragraphs of", () => {
  test("a page leave out code and contain cells, items and headings", () => {
    const page =
      "# Title\n\nOne\nline.\n\n- first\n- second\n\n```sh\nnot this\n```\n\n| a | b |\n| --- | --- |\n| c | d |\n"
    expect(Prose.ofPage(page)).toEqual(["Title", "One\nline.", "first", "second", "a", "b", "c", "d"])
  })

  test("examples are the comments of TypeScript", () => {
    expect(Prose.ofExamples("Text.\n\n```ts\n/** One. */\nconst a = 1\n```\n\n```sh\n# no\n```\n")).toEqual(["One."])
  })

  test("a manifest are its comments", () => {
    const texts = Prose.ofHashComments("# One\n# line.\na: b # not this\n  # Two.\n")
    expect(texts.map((text) => text.replaceAll(/\s+/g, " "))).toEqual(["One line.", "Two."])
  })

  test("a module are its comments and its strings of three words or more", () => {
    const source = `/**\n * First.\n *\n * Second.\n */\n// Third\n// line.\nconst a = "one two" + "one two three" + \`x ${"$"}{b} y z\`\n`
    expect(Prose.ofComments(source).map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
      "First.",
      "Second.",
      "Third line."
    ])
    expect(Prose.ofStrings(source)).toEqual(["one two three", "x X y z"])
  })
})
