/** Costs of a manager that do not depend on the machine. Each limit is close to today's count. */
import { expect, test } from "bun:test"
import { join } from "node:path"

const limits = {
  start: { operations: 3920, forks: 76, requests: 13, parsed: 12, written: 5, bytes: 20_700_000 },
  // Each attempt runs on a fiber of its own.
  creation: { operations: 1205, forks: 9.5, requests: 6.3, parsed: 20.7, written: 215, bytes: 6_200_000 },
  noop: { attempts: 1, operations: 50, forks: 1, requests: 0, parsed: 0, written: 3, bytes: 57_000 }
}

test("a manager stays within its limits of operations, fibers, requests, JSON texts and allocated bytes", async () => {
  const counting = Bun.spawn([process.execPath, join(import.meta.dir, "Cost.ts")], {
    env: { ...process.env, BUN_JSC_useGC: "0", BUN_JSC_useJIT: "0" },
    stdout: "pipe",
    stderr: "pipe"
  })
  const [output, errors] = await Promise.all([
    new Response(counting.stdout).text(),
    new Response(counting.stderr).text()
  ])
  expect({ code: await counting.exited, errors }).toEqual({ code: 0, errors: "" })
  const found: { readonly [what: string]: { readonly [name: string]: number } } = JSON.parse(output)
  expect(found.noop?.attempts).toBe(1)
  const over = Object.entries(limits).flatMap(([what, most]) =>
    Object.entries(most).flatMap(([name, limit]) => {
      const count = found[what]?.[name] ?? Number.NaN
      return count <= limit ? [] : [`${what}: ${name} ${count} (at most ${limit})`]
    })
  )
  expect(over).toEqual([])
}, 120_000)
