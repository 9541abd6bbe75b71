import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import * as Shipped from "../Shipped.ts"

const root = join(import.meta.dir, "../../..")

describe("The table of permissions in docs/security.md", () => {
  test("has exactly the permissions of the shipped controllers", async () => {
    const settings = { namespaces: [], lease: undefined, installCrds: false, metricsSecure: true }
    const granted = Permissions.all(Shipped.controllers, settings).map(
      (each) => `${each.verb} ${Permissions.pathOf(each)}`
    )
    expect(granted.length).toBeGreaterThan(20)
    const page = await Bun.file(join(root, "docs/security.md")).text()
    const documented = Array.from(
      page.matchAll(/^\| (`[a-z/`, ]+`) +\| ([a-z, ]+?) +\|/gm),
      ([, resources = "", verbs = ""]) =>
        resources
          .replaceAll("`", "")
          .split(", ")
          .flatMap((resource) => verbs.split(", ").map((verb) => `${verb} ${resource}`))
    ).flat()
    expect(documented.toSorted()).toEqual(granted.toSorted())
  })
})
