/** The steps of the runbooks of the alerts: the commands to run, and the words that a user looks up. */
import * as Alerts from "./Alerts.ts"

/** A command in the runbook of an alert. */
export interface Step {
  readonly alert: string
  readonly command: string
}

/** The runbooks by alert. */
export const runbooks: ReadonlyArray<{ readonly alert: string; readonly text: string }> = Alerts.groups.flatMap(
  ({ rules }) =>
    rules.map(({ alert, annotations }) => ({ alert, text: Alerts.plain(annotations.runbook).replaceAll(/\s+/g, " ") }))
)

const programs = /^(homeostat|kubectl|restic) /

/** The commands, and the pages of the probe port as commands of curl. */
export const steps: ReadonlyArray<Step> = runbooks.flatMap(({ alert, text }) =>
  Array.from(text.matchAll(/`([^`]+)`/g), ([, code = ""]) => code).flatMap((code) =>
    programs.test(code)
      ? [{ alert, command: code }]
      : code.startsWith("/")
        ? [{ alert, command: `curl -sS 'http://localhost:8081${code}'` }]
        : []
  )
)

/** Each command once, with the alerts that have it. */
export const commands: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  Map.groupBy(steps, ({ command }) => command)
    .entries()
    .map(([command, those]) => [command, those.map(({ alert }) => alert)])
)

/** The words of the runbooks that match, each with the first alert that has it. */
export const words = (pattern: RegExp): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const { alert, text } of runbooks)
    for (const [word] of text.matchAll(pattern)) if (!found.has(word)) found.set(word, alert)
  return found
}
