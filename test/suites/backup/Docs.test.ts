/** The docs of Backups agree with the code, as far as a test can compare texts. */
import { describe, expect, test } from "bun:test"
import { dirname, join } from "node:path"
import * as Settings from "@homeostat/backup/Settings"
import { Glob } from "bun"

const root = join(import.meta.dir, "../../..")
const read = (path: string): Promise<string> => Bun.file(join(root, path)).text()

const folder = "controllers/backup"
const sources = await Promise.all(
  [...new Glob("**/*.ts").scanSync(join(root, folder))]
    .filter((file) => !/\.(test|fixture)\.ts$/.test(file))
    .toSorted()
    .map(async (file) => ({ file, text: await read(join(folder, file)) }))
)
const page = await read("docs/backup.md")

const distinct = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()

describe("docs/backup.md", () => {
  test("explains each reason of a condition or an Event that the controllers can give", () => {
    const reasons = distinct(
      sources.flatMap(({ text }) => [
        ...Array.from(text.matchAll(/\breason: "([A-Z]\w+)"/g), ([, reason = ""]) => reason),
        ...Array.from(text.matchAll(/\bended\("([A-Z]\w+)"\)/g), ([, reason = ""]) => reason),
        ...Array.from(
          text.matchAll(/\b(?:record|refuse|found)\([^)]*?"([A-Z][a-z]+[A-Z]\w+)"/g),
          ([, reason = ""]) => reason
        )
      ])
    )
    // The union in Reasons has more reasons than the calls name.
    const outcome = sources.find(({ file }) => file === "run/Reasons.ts")?.text ?? ""
    const union = Array.from(
      (/export type Reason =\n(.*?)\n\n/s.exec(outcome)?.[1] ?? "").matchAll(/"(\w+)"/g),
      ([, one = ""]) => one
    )
    expect(union.length).toBeGreaterThan(15)
    expect(reasons.length).toBeGreaterThan(30)
    const known = distinct([...reasons, ...union]).filter((reason) => !internal.has(reason))
    expect(known.filter((reason) => !page.includes(`\`${reason}\``))).toEqual([])
  })

  test("names each annotation and each setting", () => {
    const names = sources.find(({ file }) => file === "kinds/Names.ts")?.text ?? ""
    const annotations = ["run", "unlock", "skip-cleanup", "apply-retention"]
    for (const annotation of annotations) {
      expect(names).toContain(`/${annotation}\``)
      expect(page).toContain(`backup.example.com/${annotation}`)
    }
    for (const { variable } of Object.values(Settings.variables)) expect(page).toContain(variable)
  })

  test("has no broken links", async () => {
    for (const path of ["docs/backup.md", "docs/reference/backup.md"]) {
      const links = Array.from((await read(path)).matchAll(/\]\((?!https?:|#)([^)#]+)/g), ([, link = ""]) => link)
      expect(links.length).toBeGreaterThan(0)
      for (const link of links) {
        const target = join(root, dirname(path), link)
        expect([link, (await Bun.file(target).exists()) || [...new Glob("*").scanSync(target)].length > 0]).toEqual([
          link,
          true
        ])
      }
    }
  })
})

/** Reasons that appear in no condition and no Event. */
const internal: ReadonlySet<string> = new Set([
  "ContainerConfigError",
  "ContainerStatusUnknown",
  "OOMKilled",
  "Unschedulable"
])
