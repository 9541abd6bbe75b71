import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import * as ReadOnly from "./ReadOnly.ts"

const cases: ReadonlyArray<
  readonly [
    what: string,
    request: Pick<Request, "method" | "path"> & { readonly body?: string },
    reads: boolean,
    withDryRuns: boolean
  ]
> = [
  ["a read", { method: "GET", path: "/api/v1/pods" }, true, true],
  ["a creation", { method: "POST", path: "/api/v1/namespaces/a/pods" }, false, false],
  ["a patch", { method: "PATCH", path: "/api/v1/namespaces/a/pods/b?fieldManager=x" }, false, false],
  ["a deletion", { method: "DELETE", path: "/api/v1/namespaces/a/pods/b" }, false, false],
  [
    "a deletion with a query that does not count",
    { method: "DELETE", path: "/api/v1/namespaces/a/pods/b?dryRun=All", body: "{}" },
    false,
    false
  ],
  [
    "a dry run of a patch",
    { method: "PATCH", path: "/api/v1/namespaces/a/pods/b?fieldManager=x&dryRun=All" },
    false,
    true
  ],
  [
    "a dry run of a deletion",
    { method: "DELETE", path: "/api/v1/namespaces/a/pods/b", body: '{"dryRun":["All"]}' },
    false,
    true
  ],
  ["another value of dryRun", { method: "PUT", path: "/api/v1/namespaces/a/pods/b?dryRun=None" }, false, false],
  [
    "a question about permissions",
    { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews" },
    true,
    true
  ],
  ["a new token", { method: "POST", path: "/api/v1/namespaces/a/serviceaccounts/b/token" }, false, false]
]

describe("A read-only transport sends", () => {
  for (const dryRuns of [false, true]) {
    for (const [what, request, reads, withDryRuns] of cases) {
      const isPassed = dryRuns ? withDryRuns : reads
      test(`${what}: ${isPassed ? "yes" : "no"}${dryRuns ? ", with dry runs" : ""}`, async () => {
        const sent: Array<string> = []
        const answer = { status: 200, headers: { get: () => null }, body: "" }
        const transport = ReadOnly.of(
          Transport.Transport.of({
            server: "test",
            send: ({ path }) => Effect.sync(() => void sent.push(path)).pipe(Effect.as(answer)),
            open: () => Effect.never
          }),
          { dryRuns }
        )
        const exit = await Effect.runPromiseExit(
          transport.send({ template: "", headers: {}, repeatable: true, ...request })
        )
        expect([Exit.isSuccess(exit), sent.length]).toEqual([isPassed, isPassed ? 1 : 0])
      })
    }
  }
})
