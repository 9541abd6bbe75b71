/** The output of a failed test. */
import { expect, test } from "bun:test"
import { join } from "node:path"

test("A failed expect shows the last attempts and warnings", async () => {
  const fixture = join(import.meta.dir, "Failing.fixture.ts")
  const failing = Bun.spawn([process.execPath, "test", fixture], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe"
  })
  const [output, errors] = await Promise.all([new Response(failing.stdout).text(), new Response(failing.stderr).text()])
  expect(await failing.exited).toBe(1)
  const lines = (output + errors).split("\n").map((line) => line.trim())
  const cause = "controller forgot applies configmaps and does not declare it: add ConfigMap to owns"
  expect(lines).toContain("Last attempts of Secret default/page (controller forgot):")
  expect(lines.some((line) => line.includes("failed permanently") && line.endsWith(cause))).toBe(true)
  expect(lines).toContain("Last warnings:")
  expect(lines).toContain("WARN a warning of the author")
  expect(lines).toContain(`ERROR Reconcile failed permanently: ${cause}`)
  expect(lines).toContain('Expected to contain: "page"')
}, 60_000)
