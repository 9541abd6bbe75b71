/** Writes `docs/explored.md`. It takes some minutes: run it after a change of a shipped controller or its story. */
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

const sections = Effect.all([
  Explored.section("WebApp", Stories.webapp),
  Explored.section("Backup", Stories.backupStory),
  Explored.section("Restore", Stories.restoreStory),
  Effect.map(Kinds.webapp, (report) => Explored.specsOf("WebApp", report)),
  Effect.map(Kinds.backup, (report) => Explored.specsOf("Backup", report)),
  Effect.map(Kinds.restore, (report) => Explored.specsOf("Restore", report))
])

const parts = await Effect.runPromise(sections)
await Bun.write(
  join(import.meta.dir, "../../..", Explored.path),
  `${[introduction.trimEnd(), ...parts].join("\n\n")}\n`
)
