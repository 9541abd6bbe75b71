/**
 * Measures how responsive a leader is during its first pass over converged WebApps. The API server is in memory, without a cluster, or it
 * is kube-apiserver with etcd.
 * No other program may run on the machine meanwhile.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Dockerfile from "../suites/binary/Dockerfile.ts"
import type { Limited } from "./Table.ts"

const root = join(import.meta.dir, "../..")

/** A cluster with converged WebApps. */
interface Cluster {
  readonly kubeconfig: string
  /** Changes one WebApp. Resolves with the milliseconds until the manager has applied its Deployment. */
  readonly change: () => Promise<number>
}

/** The measured numbers. The last one is for the change in the middle of the pass. */
export const measures: ReadonlyArray<Limited> = [
  { field: "reconciled_s", label: "to all reconciled, s" },
  { field: "cpu_s", label: "CPU of the manager, s" },
  { field: "peak_rss_mib", label: "peak RSS, MiB" },
  { field: "lease_lost", label: "Lease lost, times", limit: 0 },
  { field: "healthz_p99_ms", label: "`/healthz` p99, ms", limit: 100 },
  { field: "healthz_max_ms", label: "`/healthz` max, ms", limit: 500 },
  { field: "lists_gap_ms", label: "longest gap of a 10 ms timer while lists arrive, ms", limit: 500 },
  { field: "gap_ms", label: "longest gap of a 10 ms timer after that, ms", limit: 250 },
  { field: "change_ms", label: "change to write in the middle of the pass, ms", limit: 1000 }
]

/** The environment variables that the image sets. */
const image = Object.fromEntries(Dockerfile.all("ENV").map((each) => each.split("=", 2)))

/** Starts a manager that leads, and reads its logs and measurements. */
const manage = (folder: string, kubeconfig: string, metrics: number, health: number) => {
  const files = { gaps: join(folder, "gaps.json"), log: join(folder, "log") }
  const child = Bun.spawn(
    [
      ...[process.execPath, "--conditions=homeostat-source", "--preload", join(import.meta.dir, "first-pass/Gaps.ts")],
      ...[join(root, "controllers/main.ts"), "run", "--kubeconfig", kubeconfig, "--controllers", "webapp"],
      ...["--leader-elect", "--leader-elect-resource-namespace", "default", "--leader-elect-resource-name", "load"],
      ...["--log-format", "json"],
      ...["--metrics-bind-address", `127.0.0.1:${metrics}`, "--health-probe-bind-address", `127.0.0.1:${health}`]
    ],
    {
      env: { ...process.env, ...image, LOAD_GAPS: files.gaps },
      stdout: Bun.file(files.log),
      stderr: Bun.file(files.log)
    }
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

type Manager = ReturnType<typeof manage>

const inMemory = (folder: string, count: number) =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.spawn([process.execPath, join(import.meta.dir, "first-pass/Server.ts"), String(count)], {
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
    const cluster: Cluster = {
      kubeconfig,
      change: async () => {
        const answer = await fetch(`${url}change`, { method: "POST", signal: AbortSignal.timeout(60_000) })
        return ((await answer.json()) as { readonly millis: number }).millis
      }
    }
    return cluster
  })

const real = (cluster: ControlPlane, start: (kubeconfig: string) => Manager, count: number) =>
  Effect.gen(function* () {
    yield* cluster.install(Crd.of(WebApp))
    const path = "/apis/apps.kubedojo.io/v1beta1/namespaces/default/webapps"
    const manager = start(cluster.admin.kubeconfigPath)
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
    // The image differs from the image of an earlier run.
    const image = `registry.example.com/team/app:${Date.now()}`
    const get = cluster.request("GET", deployment)
    const change = Effect.gen(function* () {
      const began = performance.now()
      const body = { spec: { image } }
      yield* cluster.request("PATCH", `${path}/${name}`, { body, contentType: "application/merge-patch+json" })
      while (!(yield* get).body.includes(image)) yield* Effect.sleep("5 millis")
      return performance.now() - began
    })
    const made: Cluster = { kubeconfig: cluster.admin.kubeconfigPath, change: () => Effect.runPromise(change) }
    return made
  })

const measure = async ({ change, kubeconfig }: Cluster, start: (kubeconfig: string) => Manager, count: number) => {
  const began = Date.now()
  const manager = start(kubeconfig)
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
  return {
    reconciled_s: seconds,
    cpu_s: Number(usage?.cpuTime.total ?? 0) / 1e6,
    peak_rss_mib: (usage?.maxRSS ?? 0) / 1024 / 1024,
    lease_lost: lines.filter(({ msg }) => msg.startsWith("No longer leading")).length,
    healthz_p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    healthz_max_ms: sorted.at(-1) ?? Number.NaN,
    lists_gap_ms: longest(gaps.filter(({ at }) => at >= servedAt && at < startedAt)),
    gap_ms: longest(gaps.filter(({ at }) => at >= startedAt)),
    change_ms: changeMillis
  }
}

/** Runs the measurement once: on the cluster, or on an API server in memory without a cluster. */
export const run = (count: number, cluster?: ControlPlane) =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    const [metrics, health] = [yield* Port.free, yield* Port.free]
    const start = (kubeconfig: string) => manage(folder, kubeconfig, metrics, health)
    const place = yield* cluster === undefined ? inMemory(folder, count) : real(cluster, start, count)
    return yield* Effect.promise(() => measure(place, start, count))
  })
