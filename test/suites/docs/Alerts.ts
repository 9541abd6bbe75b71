/**
 * `docs/alerts.md`, generated from the rules. Run as a program, this file prints the page:
 * `bun test/suites/docs/Alerts.ts > docs/alerts.md`.
 */
import { join } from "node:path"
import { Schema } from "effect"
import { load } from "js-yaml"

const root = join(import.meta.dir, "../../..")

export const path = "docs/alerts.md"

export const command = `bun test/suites/docs/Alerts.ts > ${path}`

const Rules = Schema.Struct({
  spec: Schema.Struct({
    groups: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        rules: Schema.Array(
          Schema.Struct({
            alert: Schema.String,
            for: Schema.optional(Schema.String),
            labels: Schema.Struct({ severity: Schema.String }),
            annotations: Schema.Struct({
              summary: Schema.String,
              description: Schema.String,
              runbook: Schema.String
            })
          })
        )
      })
    )
  })
})

const text = await Bun.file(join(root, "deploy/monitoring/prometheusrule.yaml")).text()

/** The groups of alerts, in the order of the file. */
export const groups = Schema.decodeUnknownSync(Rules)(load(text)).spec.groups

const words: Readonly<Record<string, string>> = {
  "": "NUMBER",
  humanize: "NUMBER",
  humanizeDuration: "DURATION",
  humanizePercentage: "PERCENTAGE"
}

/** Replaces each template by the name of its value in capitals. */
export const plain = (template: string): string =>
  template
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => label.toUpperCase())
    .replaceAll(
      /\{\{ \$value(?: \| (\w+))? \}\}/g,
      (_, filter: string | undefined) => words[filter ?? ""] ?? `${filter}`
    )
    .trim()

const titleOf = (group: string): string => {
  const name = group.split(".").at(-1) ?? group
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

export const page = `# Alerts

The alerts of [\`prometheusrule.yaml\`](../deploy/monitoring/prometheusrule.yaml): the meaning of each, and its fix. Thresholds are starting
points. _critical_: act now; _warning_: act today; _info_: act when you have time. \`${command}\` generates this page
from the rules, and a test compares the two. Another test makes each alert fire.
${groups
  .map(
    ({ name, rules }) =>
      `\n## ${titleOf(name)}\n${rules
        .map(
          ({ alert, annotations, labels, for: lasting }) =>
            `\n### ${alert}\n\n_${labels.severity}${lasting === undefined ? "" : `, after ${lasting}`}_: ${plain(annotations.summary)}.\n\n${plain(annotations.description)}\n\n**To do:** ${plain(annotations.runbook)}\n`
        )
        .join("")}`
  )
  .join("")}`

if (import.meta.main) process.stdout.write(page)
