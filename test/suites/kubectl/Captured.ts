/** Runs the walks with kubectl through the proxy, and records its requests and the responses. */

import type { Json } from "@homeostat/apiserver/model/Json"
import * as ControlPlane from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as User from "@homeostat/testkit/envtest/User"
import { Data, Effect } from "effect"
import * as Comparable from "../comparison/Comparable.ts"
import * as Dialogue from "../comparison/Dialogue.ts"
import * as Dialogues from "../comparison/Dialogues.ts"
import type { Entry, Recorded } from "../comparison/Recording.ts"
import * as Recording from "../comparison/Recording.ts"
import * as Requests from "./Requests.ts"
import * as Session from "./Session.ts"
import * as Tap from "./Tap.ts"
import * as Walk from "./Walk.ts"

/** The error for a command that waits for controllers and does not end within one minute. */
class Endless extends Data.TaggedError("Endless")<{ readonly line: string }> {
  override get message(): string {
    return `timed out after 1 minute: ${this.line}`
  }
}

/** Requests that the suite `openapi` compares, and requests whose response contains addresses of the server. */
const elsewhere = /^\/(?:openapi|version|readyz|api$|apis$|api\/v1$|apis\/[^/]+(?:\/[^/]+)?$)/

/** Objects that are older than the walk, so that their times and uids differ. */
const older = /^\/api\/v1\/namespaces\/[^/]+$|^\/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions/

const isCompared = ({ answer, request }: Tap.Exchange): boolean => {
  const [path = ""] = request.path.split("?")
  return !elsewhere.test(path) && !(answer.status === 200 && older.test(path))
}

interface Taken {
  readonly asked: Requests.Asked
  readonly entry: Entry
}

/** Runs a walk on a control plane without controllers. A walk that crosses the boundary of a second starts again. */
export const take = (plane: ControlPlane.ControlPlane, walk: Walk.Walk) =>
  Effect.retry(Effect.scoped(once(plane, walk)), {
    while: (error) => "_tag" in error && error._tag === "Straddled",
    times: 10
  })

const once = (plane: ControlPlane.ControlPlane, walk: Walk.Walk) =>
  Effect.gen(function* () {
    const tap = yield* Tap.start(plane.admin)
    const directory = yield* Directory.make
    const admin = yield* User.make(directory, { server: tap.url, ca: undefined, user: "admin" }, [])
    const parts = { admin, addUser: plane.addUser, processes: [], auditLogPath: undefined, directory }
    const session = yield* Session.open(ControlPlane.make(parts), walk.files ?? {})
    yield* tap.taken
    const exchanges = yield* Effect.forEach(walk.steps, (each) => {
      const step = typeof each === "string" ? { line: each } : each
      return Walk.run(session, step).pipe(
        Effect.timeoutOrElse({ duration: "1 minute", orElse: () => Effect.fail(new Endless({ line: step.line })) }),
        Effect.andThen(tap.taken)
      )
    })
    return yield* recorded(walk, session.namespace, exchanges.flat().filter(isCompared))
  })

const recorded = (walk: Walk.Walk, namespace: string, exchanges: ReadonlyArray<Tap.Exchange>) =>
  Effect.gen(function* () {
    const began = exchanges[0]?.now ?? 0
    const comparer = Comparable.make(namespace, began)
    const requests: Array<Json> = []
    const answers: Array<Json> = []
    for (const { answer, now, request } of exchanges) {
      requests.push(comparer.request(request))
      const at = answer.at ?? (answer.status >= 300 ? now : undefined)
      if (at === undefined) return yield* new Dialogue.Straddled({ dialogue: walk.name })
      const body = Dialogue.withoutRevision(request.path, answer.body)
      answers.push([Math.floor(at / 1000) - Math.floor(began / 1000), comparer.answer({ ...answer, body }, undefined)])
    }
    const asked = { commands: Requests.digest(walk), requests }
    return { asked, entry: { asked: Recording.digest(requests), answers } } satisfies Taken
  })

/** Records all walks, one after the other. `record` also writes the requests. */
export const requests: Recorded = {
  name: "kubectl/requests",
  record: (plane) =>
    Effect.gen(function* () {
      yield* plane.install(...Requests.definitions)
      const taken = yield* Effect.forEach(Requests.withoutControllers, (walk) =>
        Effect.map(take(plane, walk), (one) => [walk.name, one] as const)
      )
      const catalogue = new Map(taken.map(([name, { asked }]) => [name, asked]))
      Requests.write(catalogue)
      return new Map([
        ...Dialogues.definitionsOf(Requests.suiteOf(catalogue)),
        ...taken.map(([name, { entry }]): readonly [string, Entry] => [name, entry])
      ])
    })
}
