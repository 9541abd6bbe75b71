import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Alerts from "./Alerts.ts"

const root = join(import.meta.dir, "../../..")

describe("The page of alerts", () => {
  test(`is up to date with the rules (\`${Alerts.command}\`)`, async () => {
    expect(await Bun.file(join(root, Alerts.path)).text()).toBe(Alerts.page)
  })

  test("has a section without templates for each alert", () => {
    const alerts = Alerts.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
    expect(alerts.length).toBeGreaterThan(20)
    expect(Array.from(Alerts.page.matchAll(/^### (.*)$/gm), ([, heading]) => heading)).toEqual(alerts)
    expect(Alerts.page).not.toContain("{{")
  })
})
