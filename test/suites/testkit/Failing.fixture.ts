/** A test that fails because its controller does not declare the child. `FailureReport.test.ts` runs it. */
import { expect } from "bun:test"
import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const forgot = Controller.make("forgot", {
  for: BuiltIn.Secret,
  reconcile: (secret) =>
    Effect.gen(function* () {
      yield* Effect.logWarning("a warning of the author")
      yield* Owned.apply(secret, BuiltIn.ConfigMap, { metadata: { name: secret.metadata.name } })
      return Result.done
    })
})

Harness.of([forgot], { atRest: false })("each Secret has a page", () =>
  Effect.gen(function* () {
    const key = { namespace: "default", name: "page" }
    yield* Client.create(BuiltIn.Secret, { metadata: key })
    yield* TestClock.adjust("5 seconds")
    const { items } = yield* Client.list(BuiltIn.ConfigMap, { namespace: "default" })
    expect(items.map(({ metadata }) => metadata.name)).toContain("page")
  })
)
