/** A preload that records the gaps of a 10 ms timer. At the end of the process, it writes gaps over 50 ms to the file LOAD_GAPS. */
import { writeFileSync } from "node:fs"

const file = process.env.LOAD_GAPS
const gaps: Array<{ readonly at: number; readonly millis: number }> = []
let last = performance.now()
setInterval(() => {
  const now = performance.now()
  if (now - last > 50) gaps.push({ at: performance.timeOrigin + last, millis: now - last })
  last = now
}, 10).unref()
process.on("exit", () => {
  if (file !== undefined) writeFileSync(file, JSON.stringify(gaps))
})
