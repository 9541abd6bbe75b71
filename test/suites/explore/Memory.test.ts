/** The memory usage of an exploration does not grow with the number of its worlds. */
import { expect, test } from "bun:test"
import { join } from "node:path"

test("an exploration keeps at most 50 kB of each world", async () => {
  const fixture = join(import.meta.dir, "Memory.fixture.ts")
  const child = Bun.spawn([process.execPath, fixture], { stdout: "pipe", stderr: "inherit" })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  const { kept, schedules }: { readonly kept: number; readonly schedules: number } = JSON.parse(text)
  expect(schedules).toBe(150)
  expect(kept).toBeLessThan(50_000)
}, 300_000)
