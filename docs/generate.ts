/** The second half of `bun run generate`: writes the pages of the docs that are made from code. */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { folder, pages } from "./generate/Pages.ts"

const root = join(import.meta.dir, "..")

// Pages of what is gone would stay.
await rm(join(root, folder), { recursive: true, force: true })
for (const { path, text } of pages) await Bun.write(join(root, path), text)
