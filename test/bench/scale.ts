/**
 * `bun test/bench/scale.ts [--objects N] [--rounds N] [--unrelated N] [--replicas N] NAME=PROGRAM…`: measures programs with many WebApps, by turns.
 *
 * Each program has an API server in memory of its own. The times are CPU times of the manager, so that other programs on the machine hardly
 * change them.
 */
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Dockerfile from "../suites/binary/Dockerfile.ts"
import * as Served from "./scale/Served.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    objects: { type: "string", default: "10000" },
    rounds: { type: "string", default: "3" },
    replicas: { type: "string", default: "1" },
    touches: { type: "string", default: "2000" },
    changes: { type: "string", default: "200" },
    unrelated: { type: "string", default: "0" },
    skip: { type: "string", default: "" },
    faults: { type: "boolean", default: false }
  }
})
const count = Number(values.objects)
const skipped = new Set(values.skip.split(","))

/** The environment variables that the image sets. */
const image = Object.fromEntries(Dockerfile.all("ENV").map((each) => each.split("=", 2)))

const print = (line: string): void => {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

const startManager = (program: string, kubeconfig: string, log: string) => {
  const [metrics, health] = [Served.freePort(), Served.freePort()]
  const child = Bun.spawn(
    [
      ...[...program.split(" "), "run", "--kubeconfig", kubeconfig, "--controllers", "webapp", "--log-format", "json"],
      ...["--metrics-bind-address", `127.0.0.1:${metrics}`, "--health-probe-bind-address", `127.0.0.1:${health}`]
    ],
    { env: { ...process.env, ...image }, stdout: Bun.file(log), stderr: Bun.file(log) }
  )
  const page = () =>
    fetch(`http://127.0.0.1:${metrics}/metrics`).then(
      (answer) => answer.text(),
      () => ""
    )
  const sum = (text: string, series: RegExp): number =>
    [...text.matchAll(series)].reduce((total, [, value]) => total + Number(value), 0)
  const stat = () => readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  const status = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024
  return {
    child,
    /** CPU seconds, user and system. */
    cpu: () => (Number(stat()[11]) + Number(stat()[12])) / 100,
    rss: () => status("VmRSS"),
    peak: () => status("VmHWM"),
    counts: async () => {
      const text = await page()
      return {
        reconciled: sum(text, /^controller_runtime_reconcile_total\{.*\} (\d+)/gm),
        depth: sum(text, /^workqueue_depth\{.*\} (\d+)/gm),
        active: sum(text, /^controller_runtime_active_workers\{.*\} (\d+)/gm)
      }
    },
    stop: async () => {
      child.kill("SIGTERM")
      await child.exited
    }
  }
}

type Manager = ReturnType<typeof startManager>

/** Waits until at least this many reconciles have run, and nothing is left to do. It asks seldom, because each answer costs the manager CPU. */
const settled = async (manager: Manager, least: number, isDone: () => Promise<boolean> = async () => true) => {
  for (;;) {
    await Bun.sleep(1500)
    if (manager.child.exitCode !== null) throw new Error("the manager has ended")
    const { active, depth, reconciled } = await manager.counts()
    if (reconciled >= least && depth === 0 && active === 0 && (await isDone())) return reconciled
  }
}

const measures: Array<{ readonly name: string; readonly [measure: string]: string | number }> = []

const places: Array<{
  readonly name: string
  readonly folder: string
  readonly program: string
  readonly server: Awaited<ReturnType<typeof Served.start>>
}> = []
for (const positional of positionals) {
  const [name = "", program = "", tree = join(import.meta.dir, "../..")] = positional.split("=")
  const folder = mkdtempSync(join(tmpdir(), `scale-${name}-`))
  places.push({ name, folder, program, server: await Served.start(folder, tree) })
}
process.on("exit", () => {
  for (const { server } of places) server.child.kill()
})

for (const { name, server } of places) {
  await server.ask(`/converge?count=${count}&replicas=${values.replicas}`)
  if (Number(values.unrelated) > 0) await server.ask(`/unrelated?count=${values.unrelated}&bytes=10000`)
  print(`${name} has ${count} WebApps`)
}

if (values.faults) {
  const changes = Number(values.changes)
  for (const { folder, name, program, server } of places) {
    const wrong = async () => (await server.ask("/state")).wrong.length
    // The first pass finds changes to write, and is killed in their middle. A tenth of the requests is refused.
    await server.ask(`/image?tag=first&count=${changes}`)
    await server.ask("/fail?rate=0.1")
    const killed = startManager(program, server.kubeconfig, join(folder, "killed.log"))
    while ((await wrong()) > changes / 2) await Bun.sleep(200)
    killed.child.kill("SIGKILL")
    await killed.child.exited
    print(`${name} was killed with ${await wrong()} of ${changes} changes left`)
    const manager = startManager(program, server.kubeconfig, join(folder, "after.log"))
    const done = async () => (await wrong()) === 0
    await settled(manager, count, done)
    print(`${name} has no WebApp left after the kill`)
    // All watches expire at once, while other WebApps change.
    await server.ask("/relist")
    await server.ask(`/image?tag=second&count=${changes}`)
    await settled(manager, 0, done)
    const { expired } = await server.ask("/state")
    const { refused } = await server.ask("/fail?rate=0")
    print(`${name} has no WebApp left after ${expired.length} expired watches; ${refused} requests were refused`)
    // At rest, another manager has nothing to write.
    await manager.stop()
    const { revision } = await server.ask("/state")
    const last = startManager(program, server.kubeconfig, join(folder, "last.log"))
    await settled(last, count)
    await last.stop()
    print(`${name} wrote ${(await server.ask("/state")).revision - revision} times at rest (must be 0)`)
  }
  process.exit(0)
}

for (let round = 1; round <= Number(values.rounds); round++) {
  for (const { folder, name, program, server } of places) {
    const before = (await server.ask("/state")).revision
    const manager = startManager(program, server.kubeconfig, join(folder, `round-${round}.log`))
    let reconciled = await settled(manager, count)
    const cold = manager.cpu()
    const coldPeak = manager.peak()
    const written = (await server.ask("/state")).revision - before
    await Bun.sleep(4000)
    const rss = manager.rss()
    const step = async (path: string, changes: number) => {
      const began = manager.cpu()
      const from = reconciled
      await server.ask(`${path}&count=${changes}`)
      reconciled = await settled(manager, from + changes, async () => (await server.ask("/state")).wrong.length === 0)
      return { cpu: manager.cpu() - began, reconciles: reconciled - from }
    }
    const touch = skipped.has("touch") ? undefined : await step(`/touch?at=${round}`, Number(values.touches))
    const image = skipped.has("image")
      ? undefined
      : await step(`/image?tag=${round}-${Date.now()}`, Number(values.changes))
    const began = manager.cpu()
    const churn =
      Number(values.unrelated) === 0 ? undefined : await server.ask("/churn?rate=1000&seconds=10&bytes=10000")
    const churned = manager.cpu() - began
    const peak = manager.peak()
    await manager.stop()
    const measured = {
      name,
      cold,
      written,
      coldPeak,
      rss,
      ...(touch && { touch: touch.cpu, touched: touch.reconciles }),
      ...(image && { image: image.cpu, imaged: image.reconciles }),
      ...(churn && { churn: churned, churned: churn.sent }),
      peak
    }
    measures.push(measured)
    print(JSON.stringify(measured))
  }
}

const median = (numbers: ReadonlyArray<number>): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
const [first] = places
for (const { name } of places) {
  const of = (which: string, measure: string) =>
    median(measures.filter((each) => each.name === which).map((each) => Number(each[measure])))
  for (const measure of ["cold", "rss", "coldPeak", "touch", "image", "churn", "peak"]) {
    const value = of(name, measure)
    print(`${name} ${measure} ${value.toFixed(2)} ratio ${(value / of(first?.name ?? "", measure)).toFixed(2)}`)
  }
}
process.exit(0)
