/** Writes the page about what was explored. It takes some minutes: run it after a change of a shipped controller or its story. */
import { join } from "node:path"
import { Effect } from "effect"
import * as Explored from "./Explored.ts"
import * as Stories from "./Stories.ts"

const introduction = `# What was explored

The tests play a story of each shipped controller. They repeat it with each fault at each of its requests and at each event of its watches.
After each repeat the cluster must be in the same state as without a fault, and a restarted manager must have nothing to write.
[Explore a controller](explore.md) describes the faults and the promises. The numbers in the tables are schedules.
\`bun test/suites/explore/generate.ts\` writes this page.
`

const sections = Effect.all([
  Explored.section("WebApp", Stories.webapp),
  Explored.section("Backup", Stories.backupStory),
  Explored.section("Restore", Stories.restoreStory)
])

const parts = await Effect.runPromise(sections)
await Bun.write(
  join(import.meta.dir, "../../..", Explored.path),
  `${[introduction.trimEnd(), ...parts].join("\n\n")}\n`
)
