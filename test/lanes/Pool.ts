/** A pool: a few processes that run the batches of all lanes. */

/** A batch to run. */
export interface Job<Lane extends string> {
  readonly lane: Lane
  /** The usual seconds of the job. */
  readonly seconds: number
  readonly run: () => Promise<unknown>
}

/** The number of parallel processes: for each lane, and for all lanes together. */
export interface Limits<Lane extends string> {
  readonly lanes: { readonly [lane in Lane]: number }
  readonly all: number
}

/**
 * Runs the longest job first. If a lane has its maximum of processes, the longest job of another lane is next. No job starts after
 * `isStopped` returns true.
 */
export const run = async <Lane extends string>(
  jobs: ReadonlyArray<Job<Lane>>,
  limits: Limits<Lane>,
  isStopped: () => boolean
): Promise<void> => {
  const waiting = jobs.toSorted((one, other) => other.seconds - one.seconds)
  const running: Array<Lane> = []
  const isFree = (lane: Lane): boolean => running.filter((other) => other === lane).length < limits.lanes[lane]
  // A process without a job may end, because the processes of the lanes at their limits continue with these lanes.
  const work = async (): Promise<void> => {
    while (!isStopped()) {
      const index = waiting.findIndex(({ lane }) => isFree(lane))
      const [job] = index < 0 ? [] : waiting.splice(index, 1)
      if (job === undefined) return
      running.push(job.lane)
      await job.run()
      running.splice(running.indexOf(job.lane), 1)
    }
  }
  await Promise.all(Array.from({ length: limits.all }, work))
}
