/** Writes `docs/explored.md` with two processes. It takes a minute: run it after a change of a shipped controller or its story. */
import { join } from "node:path"
import { Effect } from "effect"
import * as Explored from "./Explored.ts"
import * as Kinds from "./Kinds.ts"
import * as Stories from "./Stories.ts"

const introduction = `# What was explored

The tests play a story of each shipped controller. They repeat it with each fault at each of its requests and at each event of its watches.
After each repeat the cluster must be in the same state as without a fault, and a restarted manager must have nothing to write.
[Explore a controller](explore.md) describes the faults and the promises. The numbers in the tables are schedules.
The sections about specs are of \`Explore.states\`: a new object with a generated spec keeps the promises, and a later spec leads to the same
state as in a new object.
\`bun test/suites/explore/generate.ts\` writes this page.
`

const sections = {
  WebApp: Explored.section("WebApp", Stories.webapp),
  Backup: Explored.section("Backup", Stories.backupStory),
  Restore: Explored.section("Restore", Stories.restoreStory),
  "Specs of WebApp": Effect.map(Kinds.webapp(), (report) => Explored.specsOf("WebApp", report)),
  "Specs of Backup": Effect.map(Kinds.backup(), (report) => Explored.specsOf("Backup", report)),
  "Specs of Restore": Effect.map(Kinds.restore(), (report) => Explored.specsOf("Restore", report))
}
type Title = keyof typeof sections

/** The sections of each process. Similar stories share a process, because the second one runs code that is compiled already. */
const shares: ReadonlyArray<ReadonlyArray<Title>> = [
  ["WebApp"],
  ["Backup", "Restore"],
  ["Specs of WebApp"],
  ["Specs of Backup", "Specs of Restore"]
]

const joined = (texts: ReadonlyArray<string>): string => texts.join("\n\n")

const inProcess = (titles: ReadonlyArray<Title>) =>
  Effect.promise(async () => {
    const child = Bun.spawn([process.execPath, import.meta.path, ...titles], { stdout: "pipe", stderr: "inherit" })
    const text = await new Response(child.stdout).text()
    if ((await child.exited) !== 0) throw new Error(`the process for section ${titles.join(", ")} failed`)
    return text
  })

const isTitle = (name: string): name is Title => Object.hasOwn(sections, name)
const wanted = process.argv.slice(2).filter(isTitle)
if (wanted.length > 0) {
  const texts = await Effect.runPromise(Effect.forEach(wanted, (title) => sections[title]))
  process.stdout.write(joined(texts))
} else {
  const parts = await Effect.runPromise(Effect.forEach(shares, inProcess, { concurrency: 2 }))
  const page = joined([introduction.trimEnd(), ...parts])
  await Bun.write(join(import.meta.dir, "../../..", Explored.path), `${page}\n`)
}
