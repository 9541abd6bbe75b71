/** A preload of a measured program: answers each message of the guard with the CPU time and the heap of the process. */
import { heapStats } from "bun:jsc"

/** The CPU time and the memory that a process has used so far. */
export interface Usage {
  /** CPU time of all threads, in milliseconds. */
  readonly cpu: number
  /** The live objects of the heap and what they keep outside of it, in bytes, if the message asked for a collection. */
  readonly kept: number
  /** The capacity of the heap and what it keeps outside, in bytes. Without garbage collection, all that was ever allocated. */
  readonly allocated: number
}

process.on("message", (message) => {
  const { system, user } = process.cpuUsage()
  if (message === "collect") Bun.gc(true)
  const { heapCapacity, heapSize } = heapStats()
  const usage: Usage = { cpu: (system + user) / 1000, kept: heapSize, allocated: heapCapacity }
  process.send?.(usage)
})
