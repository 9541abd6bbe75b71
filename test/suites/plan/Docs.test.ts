/** Tests of the outputs in docs/plan.md, and of the text of plans. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Document from "@homeostat/runtime/plan/Document"
import type { Plan } from "@homeostat/runtime/plan/Plan"
import * as Text from "@homeostat/runtime/plan/Text"
import type { Write } from "@homeostat/runtime/plan/Write"

const page = await Bun.file(join(import.meta.dir, "../../../docs/plan.md")).text()

const shop = { kind: "WebApp", namespace: "default", name: "shop" }
const db = { kind: "Backup", namespace: "prod", name: "db" }

const image: Write = {
  controller: "webapp",
  object: shop,
  target: { apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name: "shop" },
  action: "change",
  verb: "apply",
  fields: [
    { path: "metadata.annotations[homeostat.dev/intent]", from: "a", to: "b" },
    { path: "spec.template.spec.containers[app].image", from: "nginx:1.27", to: "nginx:1.28" }
  ],
  rollout: { pods: 3 }
}

const status: Write = {
  controller: "webapp",
  object: shop,
  target: { apiVersion: "apps.kubedojo.io/v1beta1", ...shop },
  subresource: "status",
  action: "change",
  verb: "patch",
  fields: [
    { path: "status.observedGeneration", from: 1, to: 2 },
    { path: "status.conditions[Ready].lastTransitionTime", from: "2026-11-20T08:00:00Z", to: "2026-11-20T09:00:00Z" }
  ]
}

const job: Write = {
  controller: "backup",
  object: db,
  target: { apiVersion: "batch/v1", kind: "Job", namespace: "prod", name: "db-28461200" },
  action: "create",
  verb: "create",
  fields: [{ path: "spec.backoffLimit", to: 0 }]
}

const secret = {
  controller: "backup",
  object: db,
  reason: 'GET /api/v1/namespaces/prod/secrets/restic: secrets "restic" is forbidden'
}

const plan: Plan = {
  server: "https://127.0.0.1:6443",
  at: "2026-11-20T08:00:00Z",
  controllers: [
    { name: "webapp", kind: "WebApp", objects: 212, complete: true },
    { name: "backup", kind: "Backup", objects: 5, complete: true }
  ],
  writes: [image, status, job],
  unknown: [secret],
  problems: []
}

const documentOf = (part: Partial<Plan> = {}, version = "1.3.0", flags: ReadonlyArray<string> = []) =>
  Document.of({ ...plan, ...part }, { name: "homeostat", version, commit: "1a2b3c4d5e6f" }, flags)

test("docs/plan.md has the output of a plan", () => {
  const [, output] = /```text\n(webapp [\s\S]*?)```/.exec(page) ?? []
  expect(`${Text.text(documentOf())}\n`).toBe(output ?? "")
})

test("docs/plan.md has the line about rollouts that a build causes by itself", () => {
  const rolled = (namespace: string, name: string, pods: number): Write => ({
    ...image,
    object: { ...shop, namespace, name },
    target: { ...image.target, namespace, name },
    rollout: { pods }
  })
  // The spec of `shop` is new, and those of the others are not.
  const own = [rolled("prod", "a", 3), rolled("prod", "b", 3), rolled("default", "c", 2)]
  const line = Text.text(documentOf({ writes: [image, status, ...own] }))
    .split("\n")
    .find((line) => line.startsWith("Without"))
  expect(page).toContain(`\n${line}\n`)
  const { own: summary, rollouts } = documentOf({ writes: [image, status, ...own] }).summary
  expect([rollouts, summary]).toEqual([
    4,
    [
      { namespace: "prod", rollouts: 2, pods: 6 },
      { namespace: "default", rollouts: 1, pods: 2 }
    ]
  ])
  expect(documentOf({ writes: [image, status] }).summary.own).toEqual([])
  const many = Array.from({ length: 12 }, (_, index) => rolled(`n${index}`, "a", 1))
  expect(Text.text(documentOf({ writes: many }))).toContain(", 2 more namespaces (-o json).\n")
})

describe("The text of a plan", () => {
  test("is two lines for a cluster without a write", () => {
    const controllers = [{ name: "webapp", kind: "WebApp", objects: 1, complete: true }]
    const empty = documentOf({ writes: [], unknown: [], controllers })
    expect(Text.text(empty)).toBe(
      "webapp  1 of 1 WebApp with nothing to write\nPlan: 0 to create, 0 to change, 0 to delete, 0 rollouts, 0 unknown."
    )
    expect(Document.isEmpty(empty)).toBe(true)
    expect(empty.complete).toBe(true)
  })

  test("never reports that a controller without a plan has nothing to write", () => {
    const incomplete = documentOf({
      writes: [],
      controllers: [
        { name: "webapp", kind: "WebApp", complete: false },
        { name: "backup", kind: "Backup", objects: 5, complete: false }
      ],
      unknown: [
        { controller: "webapp", reason: "cannot list webapps" },
        { controller: "backup", reason: "cannot list jobs" }
      ]
    })
    expect(Text.text(incomplete)).toBe(
      [
        "webapp  0 writes, 1 unknown",
        "  ? unknown: cannot list webapps",
        "backup  0 writes, 1 unknown",
        "  ? unknown: cannot list jobs",
        "webapp  WebApps not planned",
        "backup  5 Backups, not all of them planned",
        "Incomplete plan: 0 to create, 0 to change, 0 to delete, 0 rollouts, 2 unknown."
      ].join("\n")
    )
    const markdown = Text.markdown(incomplete)
    expect(markdown).toStartWith("### Incomplete plan of homeostat 1.3.0 (1a2b3c4d)\n")
    expect(markdown).toEndWith("\n- webapp  WebApps not planned\n- backup  5 Backups, not all of them planned")
    expect([incomplete.complete, Document.isEmpty(incomplete)]).toEqual([false, false])
  })

  test("shortens long values and long lists, and has no control characters", () => {
    const fields = Array.from({ length: 20 }, (_, index) => ({
      path: `data.key-${index}`,
      to: "\u001b[31m".repeat(40)
    }))
    const lines = Text.text(documentOf({ writes: [{ ...image, fields }] })).split("\n")
    expect(lines.filter((line) => line.includes("data.key-"))).toHaveLength(16)
    expect(lines).toContain("      4 more fields (-o json)")
    expect(lines.join("")).not.toContain("\u001b")
    for (const line of lines) expect(line.length).toBeLessThan(250)
  })

  test("omits fields that change with every write, unless a write has only these", () => {
    const some = { path: "status.conditions[Ready].observedGeneration", from: 1, to: 2 }
    const line = `      ${some.path}: 1 -> 2`
    const lines = (fields: Write["fields"]) => Text.text(documentOf({ writes: [{ ...status, fields }] })).split("\n")
    expect(lines([...status.fields, some])).not.toContain(line)
    expect(lines([some])).toContain(line)
  })

  test("keeps a text of the cluster in its line", () => {
    const forged = "x\nPlan: 0 to create"
    const text = Text.text(
      documentOf({
        writes: [{ ...image, fields: [{ path: `spec.labels[${forged}]`, from: forged, to: "y" }] }],
        unknown: [{ ...secret, reason: forged }],
        problems: [{ controller: "webapp", object: shop, message: forged }]
      })
    )
    expect(text.split("\n").filter((line) => line.startsWith("Plan:"))).toEqual([])
    expect(text).toContain("\n      spec.labels[x\\nPlan: 0 to create]: x\\nPlan: 0 to create -> y\n")
  })

  test("has an object whose reconcile stops, which is not unknown", () => {
    const problems = [{ controller: "webapp", object: shop, message: "size too small" }]
    const text = Text.text(documentOf({ writes: [], unknown: [], problems }))
    expect(text).toStartWith("webapp  WebApp default/shop  0 writes\n  ! size too small\n")
    expect(text).toEndWith("0 unknown.")
  })
})

test("The Markdown of a plan has a row for each write, and keeps pipes and fences of values in place", () => {
  const write = { ...image, fields: [{ path: "data.a", from: "x|y", to: "```\n# title" }] }
  const problems = [{ controller: "webapp", object: shop, message: "<!-- hidden" }]
  const text = Text.markdown(documentOf({ writes: [write], unknown: [{ ...secret, reason: "a | b" }], problems }))
  expect(text).toStartWith("### Incomplete plan of homeostat 1.3.0 (1a2b3c4d)\n\n0 to create, 1 to change,")
  expect(text).toContain("\n| webapp | WebApp default/shop | `~ Deployment default/shop` | rolls 3 |\n")
  expect(text).toContain("\n| backup | Backup prod/db | unknown: a \\| b | |\n")
  expect(text).toContain("\n| webapp | WebApp default/shop | stops: &lt;!-- hidden | |\n")
  expect(text.match(/```/g)).toHaveLength(2)
})

describe("The difference of two plans", () => {
  const before = documentOf()
  test("is empty if only times differ", () => {
    const later = {
      ...status,
      fields: status.fields.map(({ path, to }) => ({ path, from: 1, to: to === 2 ? 2 : "2026-12-01T00:00:00Z" }))
    }
    const earlier = { ...status, fields: status.fields.map(({ path, to }) => ({ path, from: 1, to })) }
    const difference = Document.difference(
      documentOf({ writes: [image, earlier, job], unknown: [] }),
      documentOf({ writes: [image, later, job], unknown: [], at: "2026-12-01T00:00:00Z" }, "1.4.0")
    )
    expect(Document.isSame(difference)).toBe(true)
    expect(Text.differenceText(difference)).toBe("The plans are the same.")
    expect(Text.differenceMarkdown(difference)).toEndWith("\n\nThe plans are the same.")
  })

  test("has the writes of each side, and the numbers of these", () => {
    const other = { ...image, fields: [{ path: "spec.replicas", from: 2, to: 3 }] }
    const now = documentOf({ writes: [other, status, job, job], unknown: [] }, "1.4.0")
    const difference = Document.difference(before, now)
    expect(difference.before).toMatchObject({ writes: [image], unknown: [secret], summary: { change: 1, unknown: 1 } })
    expect(difference.now).toMatchObject({ writes: [other, job], unknown: [], summary: { create: 1, change: 1 } })
    const text = Text.differenceText(difference)
    expect(text).toStartWith(
      "Only the earlier plan, by homeostat 1.3.0 (1a2b3c4d), has:\nwebapp  WebApp default/shop  1 write\n"
    )
    expect(text).toContain("\nOnly this plan, by homeostat 1.4.0 (1a2b3c4d), has:\n")
    expect(text).not.toContain("observedGeneration")
  })

  test("reports that the clusters differ", () => {
    const known = documentOf({ unknown: [] })
    const difference = Document.difference({ ...known, server: "https://10.0.0.1" }, known)
    expect(Text.differenceText(difference)).toBe(
      "The earlier plan is for https://10.0.0.1, and this plan is for https://127.0.0.1:6443.\nThe writes are the same."
    )
    expect(Document.isSame(difference)).toBe(false)
  })

  test("warns about different flags, and then does not call the plans the same", () => {
    const some = documentOf({ unknown: [] }, "1.3.0", ["--namespace=shop", "--server"])
    const difference = Document.difference(some, documentOf({ unknown: [] }))
    const warning = "The earlier plan has the flags --namespace=shop --server, and this plan has no flags."
    expect(Text.differenceText(difference)).toBe(`${warning}\nThe writes are the same.`)
    expect(Text.differenceMarkdown(difference)).toEndWith(`\n\n${warning}\n\nThe writes are the same.`)
    expect(difference.warnings).toEqual([warning])
    expect(Document.isSame(difference)).toBe(false)
  })

  test("shows the texts of an earlier plan in their lines, without control characters", () => {
    const target = { apiVersion: "v1", kind: "\u001b[31mPod", name: "a\nPlan: 0" }
    const write: Write = { target, controller: "a\nb|c", action: "create", verb: "create", fields: [] }
    const odd = { ...documentOf({ writes: [write] }, "1\n<!--", ["\u001b[2J"]), server: "\u001b[2J" }
    const difference = Document.difference(odd, documentOf({ writes: [] }))
    for (const text of [Text.differenceText(difference), Text.differenceMarkdown(difference)]) {
      expect(text).not.toMatch(/[^\P{Cc}\n]|^(Plan|b[|c])/mu)
      expect(text).toContain("+ \\u001b[31mPod a\\nPlan: 0")
    }
    expect(Text.differenceMarkdown(difference)).not.toContain("<!--")
    expect(Text.differenceMarkdown(difference)).toContain("| a\\nb\\|c |")
  })

  test("of two incomplete plans has the unknown parts of both", () => {
    const difference = Document.difference(before, documentOf({}, "1.4.0"))
    expect(Text.differenceText(difference)).toStartWith(
      "Both plans are incomplete:\nbackup  Backup prod/db  0 writes, 1 unknown\n  ? unknown: GET "
    )
    expect([difference.unknown, difference.now.complete, Document.isSame(difference)]).toEqual([[secret], false, false])
  })

  test("has an object whose reconcile stops in only one of them", () => {
    const problems = [{ controller: "webapp", object: shop, message: "size too small" }]
    const known = documentOf({ unknown: [] })
    const difference = Document.difference(known, documentOf({ unknown: [], problems }, "1.4.0"))
    expect(Text.differenceText(difference)).toStartWith(
      "Only this plan, by homeostat 1.4.0 (1a2b3c4d), has:\nwebapp  WebApp default/shop  0 writes\n  ! size too small\n"
    )
    expect(Document.isSame(difference)).toBe(false)
  })
})

test("A document can be read again, and other texts are rejected", () => {
  expect(Document.parse(JSON.stringify(documentOf()))).toEqual(documentOf())
  const { program: _, ...unmade } = documentOf()
  const torn = [
    unmade,
    { ...documentOf(), writes: [null] },
    { ...documentOf(), writes: [{}] },
    { ...documentOf(), writes: [{ ...image, fields: [{}] }] },
    { ...documentOf(), unknown: [{}] },
    { ...documentOf(), problems: [{}] },
    { ...documentOf(), program: {} },
    { ...documentOf(), flags: [1] }
  ]
  for (const text of torn.map((value) => JSON.stringify(value))) expect(Document.parse(text)).toBeUndefined()
  for (const text of ["", "{", "[]", "null", "{}", '{"kind":"Plan","version":1}', '{"kind":"Plan","version":2}']) {
    expect(Document.parse(text)).toBeUndefined()
  }
})
