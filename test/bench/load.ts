/**
 * `bun test/bench/load.ts [--real] [WEBAPPS]`: how responsive a leader is during its first pass over converged WebApps.
 *
 * An API server in memory serves 30,000 of them, so this needs no cluster; `--real` makes 10,000 of them on etcd and kube-apiserver.
 * Prints one value a line, and fails beyond a limit. Nothing else may run on the machine meanwhile.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"

const { positionals, values } = parseArgs({ allowPositionals: true, options: { real: { type: "boolean" } } })
const count = Number(positionals[0] ?? (values.real === true ? 10_000 : 30_000))
const folder = mkdtempSync(join(tmpdir(), "homeostat-load-"))
const root = join(import.meta.dir, "../..")

/** A cluster with converged WebApps. */
interface Cluster {
  readonly kubeconfig: string
  /** Changes one WebApp. Resolves with the milliseconds until the manager has applied its Deployment. */
  readonly change: () => Promise<number>
}

const freePort = (): number => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() })
  const { port = 0 } = server
  server.stop(true)
  return port
}

/** A manager that leads, with what it reports. */
const manage = (kubeconfig: string) => {
  const [metrics, health] = [freePort(), freePort()]
  const files = { gaps: join(folder, "gaps.json"), log: join(folder, "log") }
  const child = Bun.spawn(
    [
      ...[process.execPath, "--conditions=homeostat-source", "--preload", join(import.meta.dir, "load/Gaps.ts")],
      ...[join(root, "controllers/main.ts"), "run", "--kubeconfig", kubeconfig, "--controllers", "webapp"],
      ...["--leader-elect", "--leader-elect-namespace", "default", "--leader-elect-lease-name", "load"],
      ...["--log-format", "json"],
      ...["--metrics-bind-address", `127.0.0.1:${metrics}`, "--health-probe-bind-address", `127.0.0.1:${health}`]
    ],
    { env: { ...process.env, LOAD_GAPS: files.gaps }, stdout: Bun.file(files.log), stderr: Bun.file(files.log) }
  )
  const page = async (): Promise<string> =>
    fetch(`http://127.0.0.1:${metrics}/metrics`).then(
      (answer) => answer.text(),
      () => ""
    )
  const sum = async (series: RegExp): Promise<number> =>
    [...(await page()).matchAll(series)].reduce((total, [, value]) => total + Number(value), 0)
  return {
    reconciled: () => sum(/^controller_runtime_reconcile_total\{.*\} (\d+)/gm),
    waiting: () => sum(/^workqueue_depth\{.*\} (\d+)/gm),
    isHealthy: () =>
      fetch(`http://127.0.0.1:${health}/healthz`).then(
        ({ ok }) => ok,
        () => false
      ),
    until: async (isReached: () => Promise<boolean>): Promise<void> => {
      while (!(await isReached())) {
        if (child.exitCode !== null)
          throw new Error(`the manager has ended: ${readFileSync(files.log, "utf8").slice(-2000)}`)
        await Bun.sleep(100)
      }
    },
    stop: async () => {
      child.kill("SIGTERM")
      await child.exited
      const logged = readFileSync(files.log, "utf8")
      const lines = logged.split("\n").filter((line) => line.startsWith("{"))
      const gaps = JSON.parse(readFileSync(files.gaps, "utf8")) as ReadonlyArray<{ at: number; millis: number }>
      return {
        lines: lines.map((line) => JSON.parse(line) as { readonly msg: string; readonly time: string }),
        gaps,
        usage: child.resourceUsage()
      }
    }
  }
}

const inMemory: Effect.Effect<Cluster, never, Scope.Scope> = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.spawn([process.execPath, join(import.meta.dir, "load/Server.ts"), String(count)], {
        stdout: "pipe",
        stderr: "inherit"
      })
    ),
    (server) => Effect.sync(() => server.kill())
  )
  const printed = yield* Effect.promise(() => server.stdout.getReader().read())
  const url = new TextDecoder().decode(printed.value).trim()
  const kubeconfig = join(folder, "kubeconfig")
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "load", cluster: { server: url } }],
    users: [{ name: "load", user: {} }],
    contexts: [{ name: "load", context: { cluster: "load", user: "load" } }],
    "current-context": "load"
  }
  writeFileSync(kubeconfig, JSON.stringify(document))
  return {
    kubeconfig,
    change: async () => {
      const answer = await fetch(`${url}change`, { method: "POST", signal: AbortSignal.timeout(60_000) })
      return ((await answer.json()) as { readonly millis: number }).millis
    }
  }
})

const real = Effect.gen(function* () {
  const cluster = yield* Envtest.start()
  yield* cluster.install(Crd.of(WebApp))
  const path = "/apis/apps.kubedojo.io/v1beta1/namespaces/default/webapps"
  const manager = manage(cluster.admin.kubeconfigPath)
  yield* Effect.forEach(
    Array.from({ length: count }, (_, number) => `app-${number}`),
    (name) =>
      cluster.request("POST", path, {
        body: {
          apiVersion: "apps.kubedojo.io/v1beta1",
          kind: "WebApp",
          metadata: { name },
          spec: { image: "registry.example.com/team/app:1.27.3", replicas: 2, port: 8080 }
        }
      }),
    { concurrency: 8, discard: true }
  )
  let before = -1
  yield* Effect.promise(() =>
    manager.until(async () => {
      const now = await manager.reconciled()
      const isOver = now >= count && now === before && (await manager.waiting()) === 0
      before = now
      if (!isOver) await Bun.sleep(2000)
      return isOver
    })
  )
  yield* Effect.promise(manager.stop)
  const name = `app-${Math.floor(count / 2)}`
  const deployment = `/apis/apps/v1/namespaces/default/deployments/${name}`
  const image = "registry.example.com/team/app:1.27.4"
  const get = cluster.request("GET", deployment)
  const change = Effect.gen(function* () {
    const began = performance.now()
    const body = { spec: { image } }
    yield* cluster.request("PATCH", `${path}/${name}`, { body, contentType: "application/merge-patch+json" })
    while (!(yield* get).body.includes(image)) yield* Effect.sleep("5 millis")
    return performance.now() - began
  })
  return { kubeconfig: cluster.admin.kubeconfigPath, change: () => Effect.runPromise(change) }
})

const measure = async ({ change, kubeconfig }: Cluster): Promise<boolean> => {
  const began = Date.now()
  const manager = manage(kubeconfig)
  const waits: Array<number> = []
  let servedAt = 0
  let isOver = false
  const probe = async (): Promise<void> => {
    while (!isOver) {
      const asked = performance.now()
      const isHealthy = await manager.isHealthy()
      if (isHealthy && waits.length === 0) servedAt = Date.now()
      if (isHealthy || waits.length > 0) waits.push(performance.now() - asked)
      await Bun.sleep(20)
    }
  }
  const probing = probe()
  await manager.until(async () => (await manager.reconciled()) >= count / 3)
  const changeMillis = await change()
  await manager.until(async () => (await manager.reconciled()) >= count)
  const seconds = (Date.now() - began) / 1000
  isOver = true
  await probing
  const { gaps, lines, usage } = await manager.stop()

  const startedAt = Date.parse(lines.find(({ msg }) => msg.includes("starts with"))?.time ?? "")
  const longest = (some: typeof gaps): number => Math.max(0, ...some.map(({ millis }) => millis))
  const sorted = waits.toSorted((one, other) => one - other)
  let isFine = true
  const row = (name: string, value: number, unit: string, limit?: number): void => {
    const isWithin = limit === undefined || value <= limit
    isFine &&= isWithin
    const verdict = limit === undefined ? "" : ` (at most ${limit}${isWithin ? "" : ": FAILED"})`
    process.stdout.write(`${name}: ${value.toFixed(unit === "s" ? 1 : 0)} ${unit}${verdict}\n`)
  }
  row("WebApps", count, "objects")
  row("first pass done after", seconds, "s")
  row("CPU of the manager", Number(usage?.cpuTime.total ?? 0) / 1e6, "s")
  row("most memory", (usage?.maxRSS ?? 0) / 1024 / 1024, "MiB")
  row("Lease lost", lines.filter(({ msg }) => msg.startsWith("No longer leading")).length, "times", 0)
  row("/healthz p99", sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN, "ms", 100)
  row("/healthz longest", sorted.at(-1) ?? Number.NaN, "ms", 500)
  row(
    "longest gap of a 10 ms timer while lists arrive",
    longest(gaps.filter(({ at }) => at >= servedAt && at < startedAt)),
    "ms",
    500
  )
  row("longest gap of a 10 ms timer after that", longest(gaps.filter(({ at }) => at >= startedAt)), "ms", 250)
  row("change to write in the middle of the pass", changeMillis, "ms", 1000)
  return isFine
}

const isFine = await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(values.real === true ? real : inMemory, (cluster) => Effect.promise(() => measure(cluster)))
  )
)
rmSync(folder, { recursive: true })
process.exit(isFine ? 0 : 1)
