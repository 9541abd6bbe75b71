import { expect, test } from "bun:test"
import * as MoverReport from "./MoverReport.ts"
import * as Protocol from "./Protocol.ts"
import * as Report from "./Report.ts"

test("A report names the protocol of its mover", () => {
  const finished = new Report.Finished({ reason: "Succeeded", exitCode: 0, message: "" })
  expect(MoverReport.parse(Report.text(Report.make(), finished)).protocol).toBe(Protocol.number)
})

test("A report that exceeds the termination message keeps the volumes that lost files", () => {
  const before = { id: "ab".repeat(32), bytes: 100, files: 100 }
  const saved = { id: "cd".repeat(32), bytes: 100, added: 1, files: 100, before }
  const volumes = Array.from({ length: 100 }, (_, index): Report.Volume => ({ pvc: `data-${index}`, ...saved }))
  const lost: ReadonlyArray<Report.Volume> = [
    { pvc: "empty", empty: true, before },
    { pvc: "shrunk", ...saved, bytes: 1, files: 1 }
  ]
  const finished = new Report.Finished({ reason: "Succeeded", exitCode: 0, message: "" })
  const text = (all: ReadonlyArray<Report.Volume>) => Report.text({ ...Report.make(), volumes: [...all] }, finished)
  const parsed = MoverReport.parse(text([...volumes, ...lost]))
  expect(Buffer.byteLength(text([...volumes, ...lost]))).toBeLessThan(4096)
  expect(parsed.snapshots.slice(0, 3).map(({ pvc }) => pvc)).toEqual(["empty", "shrunk", "data-0"])
  expect(parsed.cut).toBe(true)
  // Otherwise in the order of their names.
  const few = [...volumes.slice(0, 2), ...lost]
  expect(MoverReport.parse(text(few)).snapshots.map(({ pvc }) => pvc)).toEqual(few.map(({ pvc }) => pvc))
})
