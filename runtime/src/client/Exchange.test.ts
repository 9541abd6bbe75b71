import { expect, test } from "bun:test"
import * as Exchange from "./Exchange.ts"
import type { Request } from "./Request.ts"

const at = (second: number) => `2026-11-20T00:00:${String(second).padStart(2, "0")}Z`

/** Whether the ledger counts the version of an answer as its own. The answer has these entries, and comes at second 10. */
const isOwn = (
  entries: ReadonlyArray<readonly [manager: string, second: number | undefined, subresource?: string]>
) => {
  const managedFields = entries.map(([manager, second, subresource]) => ({
    manager,
    subresource,
    time: second === undefined ? undefined : at(second)
  }))
  const metadata = { name: "a", uid: "u", resourceVersion: "7", creationTimestamp: at(0), managedFields }
  const write = { fieldManager: "me", subresource: undefined }
  const headers = new Headers({ date: new Date(at(10)).toUTCString() })
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata }
  const age = Exchange.ageOf(object as never, write, { headers, body: "", status: 200 } as never)
  const ledger = new Exchange.Ledger()
  const request: Request = { method: "PATCH", path: "/api/v1/namespaces/default/configmaps/a" } as Request
  ledger.add({
    request,
    startedAt: 0,
    millis: 500,
    status: 200,
    error: undefined,
    resends: 0,
    auditId: undefined,
    span: undefined
  })
  ledger.wrote(request, { kind: "ConfigMap", uid: "u", verb: "patch", ...write, before: undefined, after: "7", age })
  return ledger.versions()?.has("7") ?? false
}

for (const [what, entries, expected] of [
  ["its own change of this second", [["me", 10]], true],
  [
    "its own change after one of another manager in the same second",
    [
      ["other", 10],
      ["me", 10]
    ],
    true
  ],
  [
    "its own change after an older one of another manager",
    [
      ["other", 3],
      ["me", 9]
    ],
    true
  ],
  ["its own change a while ago", [["me", 5]], false],
  [
    "a change of another manager in a later second",
    [
      ["me", 9],
      ["other", 10]
    ],
    false
  ],
  [
    "a change of another subresource in a later second",
    [
      ["me", 9],
      ["me", 10, "status"]
    ],
    false
  ],
  [
    "no times",
    [
      ["me", undefined],
      ["other", undefined]
    ],
    true
  ],
  ["a time only of another manager", [["other", 10]], true]
] as ReadonlyArray<[string, Parameters<typeof isOwn>[0], boolean]>) {
  test(`The answer to a patch without a known version, with ${what}, ${expected ? "is" : "is not"} a version of the patch`, () => {
    expect(isOwn(entries)).toBe(expected)
  })
}
