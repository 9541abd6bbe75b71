/** A preload: writes the gaps of a 10 ms timer beyond 50 ms to the file that LOAD_GAPS names, when the process ends. */
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
