/** The policies have a rule for every write of the program, and the documentation describes every policy. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import { program } from "../../../controllers/main.ts"
import * as Lockdown from "../../../deploy/generate/Lockdown.ts"
import * as Shipped from "../Shipped.ts"

const kinds = Kinds.of(program)
const verbs: { readonly [verb: string]: string } = {
  create: "create",
  update: "update",
  patch: "update",
  delete: "delete"
}

test("deploy/generate/Lockdown.ts has a rule for each write that the roles allow", () => {
  const lease = { namespace: "home", name: program.name }
  const settings = { namespaces: [], lease, installCrds: true, metricsSecure: true }
  const granted = Permissions.all(program.controllers, settings).flatMap(({ group, resource, subresource, verb }) => {
    const operation = verbs[verb]
    const name = Permissions.pathOf({ resource: group === "" ? resource : `${resource}.${group}`, subresource })
    // Admission checks the permission on finalizers. The API server has no such subresource to write.
    return operation === undefined || /^auth/.test(group) || subresource === "finalizers"
      ? []
      : [`${operation} ${name}`]
  })
  expect(granted.length).toBeGreaterThan(15)
  const known = Lockdown.writesOf(kinds)
  const unknown = [...new Set(granted)].filter((write) => !known.includes(write))
  expect(unknown.map((write) => `${write} needs a rule in deploy/generate/Lockdown.ts`)).toEqual([])
})

test("docs/security.md describes each policy", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/security.md")).text()
  const policies = Object.keys(Lockdown.policiesOf(program.name, Kinds.of(Shipped)))
  const described = Array.from(page.matchAll(/^\| `homeostat-([a-z]+)` /gm), ([, name = ""]) => name)
  expect(described).toEqual(policies)
})
