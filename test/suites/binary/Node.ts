/** The Node.js that npm packages need. The machine's own version can be older. */
import { Effect } from "effect"

const found = Effect.promise(async () => {
  const npx = Bun.spawn(["npx", "--yes", "node@22", "-p", "process.execPath"], { stdout: "pipe", stderr: "pipe" })
  const [path, reason] = await Promise.all([new Response(npx.stdout).text(), new Response(npx.stderr).text()])
  if ((await npx.exited) !== 0) throw new Error(`cannot install Node 22: ${reason}`)
  return path.trim()
})

/** The path of Node.js 22, which npm installs. */
export const path: Effect.Effect<string> = Effect.runSync(Effect.cached(found))
