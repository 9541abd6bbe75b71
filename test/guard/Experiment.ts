/**
 * What the guard measures. Each measurement starts a manager with an API server in memory. Both programs use the API server of the tree.
 */
import * as Program from "./Program.ts"
import type { Row } from "./Verdict.ts"

/** Measures the rows of a program, in their order. */
export type Measure = (program: Program.Program) => Promise<ReadonlyArray<number>>

/** Rows that are measured in one process. */
export interface Experiment {
  readonly rows: ReadonlyArray<Row>
  /** True if both programs are measured at the same time, and not by turns. */
  readonly together?: true
  /** Prepares both programs. */
  readonly open: (context: Context) => Promise<Measure>
}

/** What an experiment needs. */
export interface Context {
  /** The programs of the baseline and of the tree. */
  readonly programs: readonly [Program.Program, Program.Program]
  /** Starts an API server in memory. */
  readonly serve: () => Promise<Program.Server>
}

/** The WebApps of a first pass. */
const converged = 3000
/** The WebApps of a creation. */
const created = 250
/** The WebApps of a creation without garbage collection. Each needs almost one MB. */
const createdUncollected = 60

/** The heap of such a process has all that was ever allocated. */
const uncollected = { env: { BUN_JSC_useGC: "0" } }

/** The flags of one replica of several. */
const elected = {
  flags: ["--leader-elect", "--leader-elect-resource-name", "guard", "--leader-elect-resource-namespace", "default"]
}

/** Milliseconds that hold the same number of renewals of a Lease, one every two seconds. */
const window = 6000

const kibibytes = (bytes: number, objects: number): number => bytes / objects / 1024

/** Returns the server of each program, where this program has converged as many WebApps. */
const convergedServers = async ({ programs, serve }: Context, count: number) => {
  const servers = new Map<Program.Program, Program.Server>()
  for (const program of programs) {
    const server = await serve()
    servers.set(program, server)
    await server.ask(`/converge?count=${count}&replicas=1`)
    // The WebApps are converged for the program of the tree. That of the baseline may want to write to them first.
    const manager = Program.start(program, server)
    await manager.reconciled(count)
    await manager.until(250, async () => (await server.ask("/state")).wrong.length === 0)
    await Bun.sleep(1000)
    await manager.stop()
  }
  return (program: Program.Program): Program.Server => {
    const server = servers.get(program)
    if (server === undefined) throw new Error(`no server of the ${program.name}`)
    return server
  }
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

/** Measures a manager of an empty cluster while WebApps are created, until all of them run. */
const creation = async (program: Program.Program, server: Program.Server, count: number, options?: Program.Options) => {
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
  return { cpu: (after.cpu - before.cpu) / count, allocated: after.allocated - before.allocated }
}

/** All experiments, the short ones first. */
export const all: ReadonlyArray<Experiment> = [
  {
    rows: [{ name: "size", what: "minified program, kB", lead: 1 }],
    open: async () => async (program) => [(await Program.bundledBytes(program.root)) / 1000]
  },
  {
    rows: [{ name: "start", what: "CPU from start to ready, ms", lead: 5 }],
    open: async ({ serve }) => {
      const server = await serve()
      return async (program) => {
        const times: Array<number> = []
        for (let turn = 0; turn < 3; turn++) {
          const manager = Program.start(program, server)
          await manager.ready()
          times.push((await manager.usage()).cpu)
          await manager.stop()
        }
        return [Math.min(...times)]
      }
    }
  },
  {
    rows: [
      { name: "first-pass", what: `CPU of a first pass over ${converged} WebApps, ms`, lead: 5 },
      { name: "kept", what: "heap per WebApp after a first pass, KiB", lead: 3 }
    ],
    open: async (context) => {
      const serverOf = await convergedServers(context, converged)
      return async (program) => {
        const { cpu, kept } = await firstPass(program, serverOf(program))
        return [cpu, kibibytes(kept, converged)]
      }
    }
  },
  {
    rows: [{ name: "allocated", what: "allocated per WebApp of a first pass, KiB", lead: 3 }],
    open: async (context) => {
      const serverOf = await convergedServers(context, converged)
      return async (program) => [
        kibibytes((await firstPass(program, serverOf(program), uncollected)).allocated, converged)
      ]
    }
  },
  {
    rows: [{ name: "created-bytes", what: "allocated per created WebApp, KiB", lead: 3 }],
    open:
      async ({ serve }) =>
      async (program) => {
        const server = await serve()
        const { allocated } = await creation(program, server, createdUncollected, uncollected)
        server.child.kill()
        return [kibibytes(allocated, createdUncollected)]
      }
  },
  {
    rows: [{ name: "creation", what: "CPU per created WebApp, ms", lead: 5 }],
    open:
      async ({ serve }) =>
      async (program) => {
        const server = await serve()
        const { cpu } = await creation(program, server, created)
        server.child.kill()
        return [cpu]
      }
  },
  {
    rows: [{ name: "idle", what: "CPU of a quiet second, ms", lead: 5 }],
    together: true,
    open: async ({ programs, serve }) => {
      const managers = programs.map(async (program) => {
        const manager = Program.start(program, await serve(), elected)
        await manager.ready()
        return [program, manager] as const
      })
      const managerOf = new Map(await Promise.all(managers))
      // The work of the start ends.
      await Bun.sleep(5000)
      return async (program) => {
        const cpu = async (): Promise<number> => (await managerOf.get(program)?.usage())?.cpu ?? Number.NaN
        const before = await cpu()
        await Bun.sleep(window)
        return [((await cpu()) - before) / (window / 1000)]
      }
    }
  }
]
