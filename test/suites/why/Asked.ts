/** A manager with open ports, and HTTP queries of its `/why`. */
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import type { Verdict } from "@homeostat/runtime/manager/why/Answer"
import type { Page } from "@homeostat/runtime/manager/why/Page"
import type { Explanation } from "@homeostat/runtime/manager/why/Why"
import type { User } from "@homeostat/testkit/envtest/User"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Served from "../manager/Served.ts"
import type * as Chore from "../runtime/Chore.ts"

/** A manager that answers `/why`. */
export interface Asked {
  readonly served: Served.Served
  /** The answer of a controller about a Chore. */
  readonly why: (name: string, query?: string) => Effect.Effect<Explanation>
  /** The same answer as text. */
  readonly text: (name: string, query?: string) => Effect.Effect<string>
  /** Waits for an answer with this verdict, and returns it. */
  readonly until: (name: string, verdict: Verdict) => Effect.Effect<Explanation, Managed.NotSo>
}

/** Starts controllers for the namespace of a test. */
export const start = (
  { cluster, namespace }: Chore.Place,
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  {
    namespaces = [namespace],
    user = cluster.admin,
    ...settings
  }: Manager.Settings & { readonly namespaces?: ReadonlyArray<string>; readonly user?: User } = {}
) =>
  Effect.gen(function* () {
    const served = yield* Served.open
    // The manager does not wait for work that a test blocks.
    yield* served.start(user, controllers, { namespaces, gracePeriod: 0, ...settings })
    const text = (name: string, query = "") =>
      Effect.map(served.probe(`/why?kind=chore&namespace=${namespace}&name=${name}${query}`), ({ body }) => body)
    const why = (name: string, query = "") =>
      Effect.flatMap(text(name, `&output=json${query}`), (body) => {
        // The page's own type, because the tests check its content.
        const [answer] = (JSON.parse(body) as Page).answers
        return answer === undefined ? Effect.die(new Error(`no answer: ${body}`)) : Effect.succeed(answer)
      })
    const asked: Asked = {
      served,
      why,
      text,
      until: (name, verdict) =>
        Managed.eventually(`that ${name} is ${verdict}`, why(name), (answer) => answer.verdict === verdict)
    }
    return asked
  })

/** A text without the parts that differ between runs: times, ages, versions and ids. */
export const timeless = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|\d\d:\d\d:\d\dZ/g, "TIME")
    .replaceAll(/\bjust now\b|\b\d+(ms|s|m|h|d)(\d+(s|m|h))?( ago)?\b/g, "AGE")
    .replaceAll(/resourceVersion \d+/g, "resourceVersion N")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
