/** The files of `deploy/monitoring`, and the queries in them. */
import { join } from "node:path"

export const folder = join(import.meta.dir, "../../../deploy/monitoring")

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  /** Whether a row is folded. Grafana then keeps its panels in the row. */
  readonly collapsed?: boolean
  readonly panels?: ReadonlyArray<Panel>
  readonly targets?: ReadonlyArray<{ readonly expr: string; readonly refId: string; readonly legendFormat: string }>
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: ReadonlyArray<Panel>
  readonly annotations: { readonly list: ReadonlyArray<{ readonly name: string; readonly expr: string }> }
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly query: unknown }> }
}

export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly [label: string]: string }
  readonly annotations: { readonly [annotation: string]: string }
}

export interface Manifest<S> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: { readonly [label: string]: string } }
  readonly spec: S
}

/** The groups of a Prometheus rule file. */
export interface Groups {
  readonly groups: ReadonlyArray<{ readonly name: string; readonly rules: ReadonlyArray<Alert> }>
}

const text = (file: string): Promise<string> => Bun.file(join(folder, file)).text()

// The tests verify that the files have these types.
export const dashboard = JSON.parse(await text("dashboard.json")) as Dashboard

export const rules = Bun.YAML.parse(await text("prometheusrule.yaml")) as Manifest<Groups>

export const monitor = Bun.YAML.parse(await text("servicemonitor.yaml")) as Manifest<{
  readonly jobLabel: string
  readonly selector: { readonly matchLabels: { readonly [label: string]: string } }
  readonly endpoints: ReadonlyArray<{ readonly port: string; readonly path: string; readonly honorLabels?: boolean }>
}>

export const alerts: ReadonlyArray<Alert> = rules.spec.groups.flatMap(({ rules }) => rules)

/** A query, and the panel, variable or alert that has it. */
export interface Query {
  readonly where: string
  readonly expr: string
}

/** Replaces Grafana's variables: all values, and a range of five minutes. */
const chosen = (expr: string): string => expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*")

/** All panels of the dashboard, each row before its own. */
export const panels: ReadonlyArray<Panel> = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])

/** The queries of the dashboard's panels. */
export const queries: ReadonlyArray<Query> = panels.flatMap(({ targets = [], title }) =>
  targets.map(({ expr, refId }) => ({ where: `${title} ${refId}`, expr: chosen(expr) }))
)

/** The queries of the dashboard's annotations. */
export const annotations: ReadonlyArray<Query> = dashboard.annotations.list.map(({ expr, name }) => ({
  where: `annotation ${name}`,
  expr: chosen(expr)
}))

/** The queries of the dashboard's variables. */
export const variables: ReadonlyArray<Query> = dashboard.templating.list.flatMap(({ name, query }) => {
  const text = typeof query === "object" && query !== null && "query" in query ? String(query.query) : ""
  const [, expr, label] = /^label_values\((.*), (\w+)\)$/.exec(text) ?? []
  return expr === undefined ? [] : [{ where: `variable ${name}`, expr: `count by (${label}) (${chosen(expr)})` }]
})

/** The names of the series that a query reads. */
export const metricsOf = ({ expr }: Query): ReadonlyArray<string> => [
  ...new Set(
    expr
      .replaceAll(/"(\\.|[^"\\])*"/g, '""')
      .match(/\b(?:homeostat|controller_runtime|workqueue|rest_client|leader_election|process)_\w+|\bup\b/g)
  )
]

/** The labels in the selectors and groupings of a query. */
export const labelsOf = ({ expr }: Query): ReadonlyArray<string> => {
  const plain = expr.replaceAll(/"(\\.|[^"\\])*"/g, '""')
  const chosen = Array.from(plain.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*""/g), ([, label = ""]) => label)
  const grouped = Array.from(plain.matchAll(/\bby \(([^)]*)\)/g), ([, list = ""]) => list.split(/\s*,\s*/)).flat()
  return [...new Set([...chosen, ...grouped])]
}
