/**
 * The experiments of the guard. Each measurement starts a manager with an API server in memory. Both programs use the API server of the tree.
 */
import * as Program from "./Program.ts"
import type { Row } from "./Verdict.ts"

/**
 * Measures rows of a program, by their names. `isOpen` is true of a row that still needs a number. The guard measures both programs at the
 * same time, so that other load on the machine slows both down alike.
 */
export type Measure = (
  program: Program.Program,
  isOpen: (row: string) => boolean
) => Promise<{ readonly [row: string]: number }>

/** Rows that share their preparation. */
export interface Experiment {
  readonly rows: ReadonlyArray<Row>
  /** Prepares both programs. */
  readonly open: (context: Context) => Promise<Measure>
}

/** The programs and the servers of an experiment. */
export interface Context {
  /** The programs of the baseline and of the tree. */
  readonly programs: readonly [Program.Program, Program.Program]
  /** Starts an API server in memory. */
  readonly serve: () => Promise<Program.Server>
}

/** The WebApps of a first pass. */
const converged = 3000
/** The WebApps of a creation. */
const created = 150
/** The WebApps of a creation without garbage collection. Each needs almost one MB. */
const createdUncollected = 60

/** The heap of such a process has all that was ever allocated. */
const uncollected = { env: { BUN_JSC_useGC: "0" } }

/** The flags of one replica of several. */
const elected = {
  flags: ["--leader-elect", "--leader-elect-resource-name", "guard", "--leader-elect-resource-namespace", "default"]
}

/** Milliseconds that hold the same number of renewals of a Lease, one every two seconds. */
const window = 10_000

/** Returns a server of the program, where it has converged as many WebApps. */
const convergedServer = async (program: Program.Program, { serve }: Context): Promise<Program.Server> => {
  const server = await serve()
  await server.ask(`/converge?count=${converged}&replicas=1`)
  // The WebApps are converged for the program of the tree. That of the baseline may want to write to them first.
  const manager = Program.start(program, server)
  await manager.reconciled(converged)
  let revision = -1
  await manager.until(1000, async () => {
    const state = await server.ask("/state")
    const isSettled = state.wrong.length === 0 && state.revision === revision
    revision = state.revision
    return isSettled
  })
  await manager.stop()
  return server
}

/** Prepares something for each program, and returns what belongs to a program. */
const forEach = async <A>({ programs }: Context, make: (program: Program.Program) => Promise<A>) => {
  const [baseline, tree] = await Promise.all([make(programs[0]), make(programs[1])])
  return (program: Program.Program): A => (program === programs[0] ? baseline : tree)
}

/** Measures a manager from its start to the end of its first pass. It throws an Error if the manager writes. */
const firstPass = async (program: Program.Program, server: Program.Server, options?: Program.Options) => {
  const before = await server.ask("/state")
  const manager = Program.start(program, server, options)
  await manager.reconciled(converged)
  const { allocated, cpu } = await manager.usage()
  const { kept } = await manager.usage("collect")
  await manager.stop()
  const written = (await server.ask("/state")).revision - before.revision
  if (written !== 0) throw new Error(`the ${program.name} wrote ${written} times in a first pass (must be 0)`)
  return { allocated, cpu, kept }
}

/** Measures a manager of an empty cluster while WebApps are created, until all of them run. Returns the usage per WebApp. */
const creation = async (program: Program.Program, { serve }: Context, count: number, options?: Program.Options) => {
  const server = await serve()
  const manager = Program.start(program, server, options)
  await manager.ready()
  const before = await manager.usage()
  await server.ask(`/create?count=${count}&replicas=1`)
  await manager.until(200, async () => {
    const { webapps, wrong } = await server.ask("/state")
    return webapps === count && wrong.length === 0
  })
  // The last reconciles find nothing to do.
  await Bun.sleep(1000)
  const after = await manager.usage()
  await manager.stop()
  server.child.kill()
  return { cpu: (after.cpu - before.cpu) / count, allocated: (after.allocated - before.allocated) / count }
}

/** All experiments, the short ones first. */
export const all: ReadonlyArray<Experiment> = [
  {
    rows: [{ name: "size", what: "minified program, kB", lead: 1 }],
    open:
      async () =>
      async ({ root }) => ({ size: (await Program.bundledBytes(root)) / 1000 })
  },
  {
    // A pair takes a second, and its noise is larger than that of the longer rows.
    rows: [{ name: "start", what: "CPU from start to ready, ms", lead: 9, most: 41 }],
    open: async ({ serve }) => {
      const server = await serve()
      return async (program) => {
        const manager = Program.start(program, server)
        await manager.ready()
        const { cpu } = await manager.usage()
        await manager.stop()
        return { start: cpu }
      }
    }
  },
  {
    rows: [
      { name: "first-pass", what: `CPU of a first pass over ${converged} WebApps, ms`, lead: 5 },
      { name: "kept", what: "heap per WebApp after a first pass, kB", lead: 3 },
      { name: "allocated", what: "allocated per WebApp of a first pass, kB", lead: 3 }
    ],
    open: async (context) => {
      const serverOf = await forEach(context, (program) => convergedServer(program, context))
      const kilobytes = (bytes: number): number => bytes / converged / 1000
      return async (program, isOpen) => {
        const { cpu, kept } = await firstPass(program, serverOf(program))
        const measured = { "first-pass": cpu, kept: kilobytes(kept) }
        if (!isOpen("allocated")) return measured
        const { allocated } = await firstPass(program, serverOf(program), uncollected)
        return { ...measured, allocated: kilobytes(allocated) }
      }
    }
  },
  {
    rows: [
      { name: "creation", what: "CPU per created WebApp, ms", lead: 5 },
      { name: "created-bytes", what: "allocated per created WebApp, kB", lead: 5 }
    ],
    open: async (context) => async (program, isOpen) => {
      const { cpu } = await creation(program, context, created)
      if (!isOpen("created-bytes")) return { creation: cpu }
      const { allocated } = await creation(program, context, createdUncollected, uncollected)
      return { creation: cpu, "created-bytes": allocated / 1000 }
    }
  },
  {
    rows: [{ name: "idle", what: "CPU of a quiet second, ms", lead: 5 }],
    open: async (context) => {
      const managerOf = await forEach(context, async (program) => {
        const manager = Program.start(program, await context.serve(), elected)
        await manager.ready()
        return manager
      })
      // The work of the start ends.
      await Bun.sleep(5000)
      return async (program) => {
        const { cpu } = await managerOf(program).usage()
        await Bun.sleep(window)
        return { idle: ((await managerOf(program).usage()).cpu - cpu) / (window / 1000) }
      }
    }
  }
]
