/** What the page of security says of the manager's rights is what it has. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Schema } from "effect"
import { loadAll } from "js-yaml"

const root = join(import.meta.dir, "../../..")

const Role = Schema.Struct({
  kind: Schema.String,
  rules: Schema.Array(Schema.Struct({ resources: Schema.Array(Schema.String), verbs: Schema.Array(Schema.String) }))
})

const isRole = Schema.is(Role)

describe("The table of rights in docs/security.md", () => {
  test("has each right of the generated ClusterRole, and no other", async () => {
    const granted = loadAll(await Bun.file(join(root, "deploy/rbac/cluster/manager.yaml")).text())
      .filter(isRole)
      .flatMap(({ rules }) => rules)
      .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)))
    expect(granted.length).toBeGreaterThan(20)
    const page = await Bun.file(join(root, "docs/security.md")).text()
    const said = Array.from(
      page.matchAll(/^\| (`[a-z/`, ]+`) +\| ([a-z, ]+?) +\|/gm),
      ([, resources = "", verbs = ""]) =>
        resources
          .replaceAll("`", "")
          .split(", ")
          .flatMap((resource) => verbs.split(", ").map((verb) => `${verb} ${resource}`))
    ).flat()
    expect(said.toSorted()).toEqual(granted.toSorted())
  })
})
