/** The files of `deploy/monitoring` are complete and query existing metrics. */
import { describe, expect, test } from "bun:test"
import { all } from "./Definitions.ts"
import * as Monitoring from "./Monitoring.ts"

/** The labels of every series that a manager can expose. */
const known = new Map<string, ReadonlyArray<string>>([
  ["up", []],
  ...all.flatMap(({ labels, name, type }) =>
    type === "histogram"
      ? ([
          [`${name}_bucket`, [...labels, "le"]],
          [`${name}_count`, labels],
          [`${name}_sum`, labels]
        ] as const)
      : ([[name, labels]] as const)
  )
])

/** The labels that Prometheus adds to the series of a ServiceMonitor. */
const ofTarget = ["job", "namespace", "pod", "instance", "service", "container", "endpoint"]

const asked = [
  ...Monitoring.queries,
  ...Monitoring.variables,
  ...Monitoring.annotations,
  ...Monitoring.alerts.map(({ alert, expr }) => ({ where: alert, expr }))
]

describe("A query of the dashboard or of an alert", () => {
  test("reads existing series", () => {
    const unknown = asked.flatMap((query) =>
      Monitoring.metricsOf(query).flatMap((name) => (known.has(name) ? [] : [`${query.where}: ${name}`]))
    )
    expect(unknown).toEqual([])
    expect(asked.filter((query) => Monitoring.metricsOf(query).length === 0)).toEqual([])
  })

  test("selects and groups by labels of these metrics", () => {
    const unknown = asked.flatMap((query) => {
      const labels = new Set([...ofTarget, ...Monitoring.metricsOf(query).flatMap((name) => known.get(name) ?? [])])
      return Monitoring.labelsOf(query).flatMap((label) => (labels.has(label) ? [] : [`${query.where}: ${label}`]))
    })
    expect(unknown).toEqual([])
  })
})

describe("The dashboard", () => {
  const { panels } = Monitoring

  test("has a place for each panel", () => {
    // A row that unfolds moves the rows below it.
    for (const part of [Monitoring.dashboard.panels, ...panels.flatMap((row) => (row.panels ? [row.panels] : []))]) {
      const places = part.flatMap(({ gridPos: { h, w, x, y } }) =>
        Array.from({ length: h * w }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
      )
      expect(new Set(places).size).toBe(places.length)
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  })

  test("describes each panel and names those that need Homeostat", () => {
    for (const { description = "", targets = [], title, type } of panels) {
      if (type === "row") continue
      expect([title, description.length > 10, targets.length > 0]).toEqual([title, true, true])
      const ours = targets.some(({ expr }) => expr.includes("homeostat_"))
      expect([title, /Homeostat|With tracing only/.test(description)]).toEqual([
        title,
        ours || description.includes("operators that register")
      ])
    }
  })

  test("begins with the objects, and has a table of them", () => {
    const [first] = panels
    expect(first?.targets?.[0]?.expr).toContain("homeostat_objects{")
    expect(first?.targets?.[0]?.expr).toContain('state="Failed"')
    const tables = panels.filter(({ type }) => type === "table")
    expect(tables.map(({ targets = [] }) => targets[0]?.expr.includes("homeostat_objects"))).toContain(true)
  })

  test("has an annotation for each change of the leader", () => {
    expect(Monitoring.annotations.flatMap(Monitoring.metricsOf)).toEqual(["leader_election_master_status"])
  })

  test("has folded rows for freshness, reconciles, the queue, requests, the cache, leadership, traces, Backups, webhooks, stops and conflicts, each with panels", () => {
    const rows = panels.flatMap(({ title, type }, index) => (type === "row" ? [{ title, index }] : []))
    expect(rows.map(({ title }) => title)).toEqual([
      "Freshness",
      "Reconciles",
      "Queue",
      "API requests",
      "Cache and watches",
      "Leadership and process",
      "Traces, events and hot loops",
      "Backups",
      "Webhooks",
      "Stops and conflicts"
    ])
    for (const { index } of rows) {
      expect(panels[index]?.collapsed).toBe(true)
      expect(panels[index]?.panels?.length).toBeGreaterThan(0)
    }
  })

  test("shows every metric of Homeostat", () => {
    const shown = new Set(
      Monitoring.queries.flatMap((query) =>
        Monitoring.metricsOf(query).map((name) => name.replace(/_(bucket|sum|count)$/, ""))
      )
    )
    const missing = all.map(({ name }) => name).filter((name) => name.startsWith("homeostat_") && !shown.has(name))
    expect(missing).toEqual([])
  })
})

describe("The ServiceMonitor", () => {
  test("keeps the labels of metrics that have names of target labels", () => {
    const ambiguous = all.flatMap(({ labels, name }) =>
      labels.some((label) => ofTarget.includes(label)) ? [name] : []
    )
    expect(ambiguous).toContain("homeostat_backup_ready")
    for (const { honorLabels } of Monitoring.monitor.spec.endpoints) expect(honorLabels).toBe(true)
  })

  test("keeps the labels job, pod and instance of the target, which are not labels of any metric", () => {
    const wrong = all.flatMap(({ labels, name }) =>
      labels.some((label) => /^(job|pod|instance)$/.test(label)) ? [name] : []
    )
    expect(wrong).toEqual([])
  })
})

describe("An alert", () => {
  test("has a severity, a summary, a description and a runbook", () => {
    for (const { alert, annotations, labels } of Monitoring.alerts) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning|info)$/)])
      for (const name of ["summary", "description", "runbook"]) {
        expect([alert, name, (annotations[name] ?? "").length > 20]).toEqual([alert, name, true])
      }
    }
    expect(new Set(Monitoring.alerts.map(({ alert }) => alert)).size).toBe(Monitoring.alerts.length)
  })

  test("selects the job of the ServiceMonitor", () => {
    const { kind, spec } = Monitoring.monitor
    expect(kind).toBe("ServiceMonitor")
    expect(spec.endpoints.map(({ path, port }) => [port, path])).toEqual([["metrics", "/metrics"]])
    const job = spec.selector.matchLabels[spec.jobLabel]
    for (const { alert, expr } of Monitoring.alerts) {
      const jobs = Array.from(expr.matchAll(/job="([^"]*)"/g), ([, name]) => name)
      // Each selector has the job, so that metrics of other operators do not fire these alerts.
      expect([alert, new Set(jobs)]).toEqual([alert, new Set([job])])
      const selectors = expr.match(
        /\b(?:homeostat|controller_runtime|workqueue|rest_client|leader_election|process)_\w+|\bup\b/g
      )
      expect([alert, jobs.length]).toEqual([alert, selectors?.length ?? 0])
    }
  })
})
