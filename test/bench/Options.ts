/** The flags of `bun run bench`. */
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import * as Alone from "./Alone.ts"
import type { Manager } from "./Driver.ts"
import * as Pages from "./Pages.ts"
import * as Scenario from "./Scenario.ts"

/** The parsed flags. */
export interface Options {
  readonly help: boolean
  /** Measure only the first pass of Homeostat alone, on an API server in memory. */
  readonly inMemory: boolean
  /** Write the table into the pages. */
  readonly publish: boolean
  /** The managers to measure instead of Homeostat and controller-runtime. */
  readonly managers: readonly [Manager, Manager] | undefined
  readonly scenarios: ReadonlyArray<Scenario.Scenario>
  /** The scenarios of Homeostat alone. */
  readonly alone: ReadonlyArray<Alone.Scenario>
  /** The number of runs, instead of the scenarios' own numbers. */
  readonly repeats: number | undefined
  readonly size: Scenario.Size
  /** The most that other programs may use of the processors in a run that counts, in cores on average. */
  readonly foreignCores: number
  /** The folder in which each campaign gets its own folder. */
  readonly out: string
}

/** The names of all scenarios. Those with several managers come first. */
const names = [...Scenario.all, ...Alone.all].map(({ name }) => name)

/** The names of the scenarios of a short campaign. */
const short = Scenario.all.flatMap(({ name, shortRepeats }) => (shortRepeats === undefined ? [] : [name]))

/** The help text. */
export const usage = `bun run bench [flags], with KUBEBUILDER_ASSETS naming etcd and kube-apiserver
bun run bench --in-memory [--objects N] [--repeats N] [--out FOLDER], which needs nothing but Bun

  --scenarios NAME,…       Of ${names.slice(0, Scenario.all.length).join(", ")},
                           and, of Homeostat alone and without Go, ${names.slice(Scenario.all.length).join(", ")}; default all
  --repeats N              Runs of each scenario for each manager; default the scenario's own
  --short                  Only ${short.join(", ")},
                           with fewer and shorter runs: about half an hour with all managers
  --publish                Write the table into README.md and docs/performance.md
  --in-memory              Measure only the first pass of Homeostat, on an API server in memory
  --objects N              Converged WebApps, each with three children; default 10000, and 30000 in memory
  --create N               WebApps that are created at once; default 5000, and 2000 with --short
  --update-rate N          Updates of WebApps a second in churn; default 1000
  --update-seconds N       How long churn sends them; default 60
  --quick                  Small and short: whether everything works, in some minutes. Its numbers say nothing
  --foreign-cores N        Throw a run away when other programs used more of a core; default 0.1
  --manager NAME=COMMAND   What to measure instead, given twice: the first is divided by the second
  --out FOLDER             Where each campaign leaves a folder with table, results and logs; default dist/bench

COMMAND is split at blanks; {kubeconfig}, {metrics}, {health} stand for the file and the addresses.`

/** Parses the flags. Throws an error with one line for invalid flags. */
export const parse = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenarios: { type: "string" },
      repeats: { type: "string" },
      objects: { type: "string" },
      create: { type: "string" },
      "update-rate": { type: "string" },
      "update-seconds": { type: "string" },
      short: { type: "boolean", default: false },
      publish: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      "in-memory": { type: "boolean", default: false },
      "foreign-cores": { type: "string" },
      manager: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: join(import.meta.dir, "../../dist/bench") },
      help: { type: "boolean", default: false }
    }
  })
  const number = (
    flag: "repeats" | "objects" | "create" | "update-rate" | "update-seconds" | "foreign-cores"
  ): number | undefined => {
    const text = values[flag]
    if (text === undefined) return undefined
    const value = Number(text)
    if (!(value > 0) || (flag !== "foreign-cores" && !Number.isInteger(value))) {
      throw new Error(`--${flag} ${text}: a number above 0 is needed`)
    }
    return value
  }
  const chosen = values.scenarios?.split(",") ?? (values.short ? short : names)
  const unknown = chosen.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--scenarios: there is no ${unknown}`)
  const managers = values.manager.map((text): Manager => {
    const at = text.indexOf("=")
    if (at < 1) throw new Error(`--manager ${text}: NAME=COMMAND is needed`)
    return { name: text.slice(0, at), command: text.slice(at + 1) }
  })
  const [first, second] = managers
  if (managers.length !== 0 && (managers.length !== 2 || first?.name === second?.name)) {
    throw new Error("--manager: two of them are compared, under two names")
  }
  const { "in-memory": inMemory, publish, quick } = values
  if (inMemory && (values.scenarios !== undefined || managers.length > 0)) {
    throw new Error("--in-memory: cannot be used with --scenarios or --manager")
  }
  if (publish && (inMemory || quick || managers.length > 0)) {
    throw new Error("--publish: cannot be used with --in-memory, --quick or --manager")
  }
  const lacking = Pages.rows.find(({ scenario }) => !chosen.includes(scenario))
  if (publish && lacking !== undefined)
    throw new Error(`--publish: the pages also need the scenario ${lacking.scenario}`)
  return {
    help: values.help,
    inMemory,
    publish,
    managers: first === undefined || second === undefined ? undefined : ([first, second] as const),
    scenarios: Scenario.all
      .filter(({ name }) => chosen.includes(name))
      .map((each) => (values.short ? { ...each, repeats: each.shortRepeats ?? 1 } : each)),
    alone: Alone.all.filter(({ name }) => chosen.includes(name)),
    repeats: number("repeats") ?? (quick ? 1 : undefined),
    size: {
      objects: number("objects") ?? (quick ? 200 : inMemory ? 30_000 : 10_000),
      create: number("create") ?? (quick ? 100 : values.short ? 2000 : 5000),
      updates: {
        perSecond: number("update-rate") ?? (quick ? 20 : 1000),
        seconds: number("update-seconds") ?? (quick ? 3 : 60)
      },
      short: values.short,
      quick
    },
    foreignCores: number("foreign-cores") ?? (quick ? Number.POSITIVE_INFINITY : 0.1),
    out: resolve(values.out)
  }
}
