/** A pool: a few processes that run the batches of all lanes. */

/** A batch to run. */
export interface Job<Lane extends string> {
  readonly lane: Lane
  /** How long it usually takes. */
  readonly seconds: number
  readonly run: () => Promise<unknown>
}

/** The number of processes that run at a time: of each lane, and of all lanes together. */
export interface Limits<Lane extends string> {
  readonly lanes: { readonly [lane in Lane]: number }
  readonly all: number
}

/**
 * Runs the longest job first. Where a lane has as many processes as it may have, the longest job of another lane is next. No job
 * starts after `isStopped` is true.
 */
export const run = async <Lane extends string>(
  jobs: ReadonlyArray<Job<Lane>>,
  limits: Limits<Lane>,
  isStopped: () => boolean
): Promise<void> => {
  const waiting = jobs.toSorted((one, other) => other.seconds - one.seconds)
  const running: Array<Lane> = []
  const isFree = (lane: Lane): boolean => running.filter((other) => other === lane).length < limits.lanes[lane]
  // A process that finds no job may end: the processes of the lanes at their limits go on with those lanes.
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
