/**
 * `bun run bench` compares Homeostat with the same controller on controller-runtime, alternately on one API server. It also measures
 * Homeostat alone against limits.
 *
 * `--in-memory` measures the first pass of Homeostat without a cluster. The bench prints a table of each part, and keeps the tables, the
 * results and the managers' logs in a folder. See docs/performance.md.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { Cause, Console, Effect, Exit, Fiber, Option, Result } from "effect"
import * as Dockerfile from "../suites/binary/Dockerfile.ts"
import * as Alone from "./Alone.ts"
import * as Campaign from "./Campaign.ts"
import type { Manager } from "./Driver.ts"
import * as Host from "./Host.ts"
import * as Options from "./Options.ts"
import * as Pages from "./Pages.ts"
import * as Programs from "./Programs.ts"
import * as Table from "./Table.ts"

/** Both managers use this Lease for leader election, because the driver reads it. */
const lease =
  "--leader-elect-resource-name=webapp-controller.apps.kubedojo.io --leader-elect-resource-namespace=default"
const flags = "--kubeconfig={kubeconfig} --metrics-bind-address={metrics} --health-probe-bind-address={health}"

/** Writes the process ids of the servers to the files from which the driver measures their CPU time. */
const writePids = (cluster: ControlPlane) =>
  Effect.forEach(
    [
      ["etcd", "etcd.pid"],
      ["kube-apiserver", "apiserver.pid"]
    ] as const,
    ([program, file]) =>
      Effect.flatMap(cluster.process(program), (server) =>
        Effect.promise(() => writeFile(join(cluster.directory, file), String(server.pid())))
      )
  )

/** A part of the report. `isFine` is false if a run failed or a number is above its limit. */
interface Part {
  readonly report: string
  readonly isFine: boolean
  /** The results of all managers, if every run has one. */
  readonly results?: Omit<Pages.Results, "host">
}

/**
 * The managers that the bench measures by default. If the manager on kube-rs cannot be built, the report has a line with the reason
 * instead.
 */
const peers = (homeostat: string) =>
  Effect.gen(function* () {
    const controllerRuntime = yield* Programs.controllerRuntime
    const kubeRs = yield* Effect.result(Programs.kubeRs)
    const managers: readonly [Manager, Manager] = [
      // The environment of the image, as in a cluster.
      { name: "homeostat", command: `env ${Dockerfile.all("ENV").join(" ")} ${homeostat} run ${flags} ${lease}` },
      { name: "controller-runtime", command: `${controllerRuntime} ${flags}` }
    ]
    return Result.isSuccess(kubeRs)
      ? {
          managers: [...managers, { name: "kube-rs", command: `${kubeRs.success} ${flags}`, isAlone: true }] as const,
          notes: []
        }
      : {
          managers,
          notes: [`The column of kube-rs is left out: ${kubeRs.failure.message.trim().split("\n").at(-1)}`, ""]
        }
  })

/** Compares Homeostat with the other managers. */
const compare = (chosen: Options.Options, homeostat: string, out: string) =>
  Effect.gen(function* () {
    const driver = yield* Programs.driver
    const { managers, notes } =
      chosen.managers === undefined ? yield* peers(homeostat) : { managers: chosen.managers, notes: [] }

    const cluster = yield* Envtest.start()
    yield* writePids(cluster)
    // The output is one YAML document or several. The API server validates the CRDs.
    const crds = [Bun.YAML.parse(yield* Programs.output([homeostat, "crd"]))].flat() as Array<CustomResourceDefinition>
    yield* cluster.install(...crds)

    const collect = Effect.ignore(cluster.request("GET", "/debug/pprof/heap?gc=1"))
    const site = { driver, out, kubeconfig: cluster.admin.kubeconfigPath, state: cluster.directory, collect }
    const outcomes = yield* Campaign.run({ ...chosen, site, managers })
    const { size } = chosen
    const [first, second, ...others] = managers
    const names: Table.Names = [first.name, second.name, ...others.map(({ name }) => name)]
    const report = [
      `${size.objects} converged WebApps with three children each; ${size.create} created at once.`,
      ...managers.map(({ name, command }) => `- ${name}: \`${command.replace(/^\S*\//, "")}\``),
      "",
      ...notes,
      Table.render(outcomes, names)
    ].join("\n")
    const isComplete = outcomes.every(({ failures }) => failures.length === 0)
    const above = Table.excessesOf(outcomes, first.name)
    const part: Part = {
      report,
      isFine: isComplete && (size.quick || above.length === 0),
      ...(isComplete && { results: { outcomes, managers: names, size } })
    }
    return part
  }).pipe(Effect.scoped)

/** Measures Homeostat alone, on its own API server or in memory. */
const alone = (chosen: Options.Options, out: string) =>
  Effect.gen(function* () {
    const { inMemory, repeats, size } = chosen
    const outcomes = inMemory
      ? yield* Alone.runInMemory({ out, repeats, size })
      : yield* Alone.run(yield* Envtest.start(), chosen.alone, { out, repeats, size })
    const isComplete = outcomes.every(({ failures }) => failures.length === 0)
    const hasPass = outcomes.some(({ scenario }) => scenario.name === "first-pass")
    const pass = hasPass ? `${size.objects} converged WebApps in the first pass.\n\n` : ""
    const part: Part = {
      report: `${pass}${Alone.render(outcomes)}`,
      // The numbers of a quick run are not compared with the limits.
      isFine: isComplete && (size.quick || Alone.excesses(outcomes).length === 0)
    }
    return part
  }).pipe(Effect.scoped)

/** Builds Homeostat and adds the parts that need it. Returns the description of the versions and the machine. */
const built = (chosen: Options.Options, out: string, parts: Array<Part>) =>
  Effect.gen(function* () {
    yield* Console.error("build")
    const homeostat = yield* Programs.homeostat
    if (chosen.alone.length > 0) parts.push(yield* alone(chosen, out))
    if (chosen.scenarios.length > 0) parts.push(yield* compare(chosen, homeostat, out))
    return yield* Host.describe(homeostat, chosen.scenarios.length > 0)
  })

const main = (chosen: Options.Options) =>
  Effect.gen(function* () {
    const { inMemory } = chosen
    // A missing program fails here, before the build, which takes minutes.
    if (!inMemory) yield* Effect.all([Assets.find("etcd"), Assets.find("kube-apiserver")])
    const out = join(chosen.out, new Date().toISOString().slice(0, 19).replaceAll(":", ""))
    yield* Effect.promise(() => mkdir(out, { recursive: true }))
    const parts: Array<Part> = []
    if (inMemory) parts.push(yield* alone(chosen, out))
    const host = inMemory ? yield* Host.source : yield* built(chosen, out, parts)
    const report = [host, ...parts.map((part) => part.report)].join("\n\n")
    yield* Effect.promise(() => writeFile(join(out, "table.md"), report))
    yield* Console.log(`\n${report}`)
    yield* Console.error(`Kept in ${out}`)
    const results = parts.find((part) => part.results !== undefined)?.results
    if (chosen.publish && results === undefined) yield* Console.error("Not published: a run failed")
    if (chosen.publish && results !== undefined) yield* Effect.promise(() => Pages.write({ ...results, host }))
    return parts.every(({ isFine }) => isFine)
  })

const run = async (): Promise<number> => {
  let chosen: Options.Options
  try {
    chosen = Options.parse(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n\n${Options.usage}\n`)
    return 2
  }
  if (chosen.help) {
    process.stdout.write(`${Options.usage}\n`)
    return 0
  }
  const fiber = Effect.runFork(main(chosen))
  const stop = () => fiber.interruptUnsafe()
  process.once("SIGINT", stop).once("SIGTERM", stop)
  const exit = await Effect.runPromise(Fiber.await(fiber))
  if (Exit.isSuccess(exit)) return exit.value ? 0 : 1
  const failure = Option.map(Cause.findErrorOption(exit.cause), ({ message }) => message)
  const ending = Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : Cause.pretty(exit.cause)
  process.stderr.write(`bench: ${Option.getOrElse(failure, () => ending)}\n`)
  return 1
}

process.exit(await run())
