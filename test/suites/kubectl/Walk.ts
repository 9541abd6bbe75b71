/** A walk: the commands of a session with kubectl, on a real cluster or on the embedded one. */
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { Result } from "@homeostat/testkit/envtest/Process"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import { notes } from "./Notes.ts"
import * as Printed from "./Printed.ts"
import * as Session from "./Session.ts"

/** One command: a line of shell, and when it is enough. */
export interface Step {
  readonly line: string
  /** Run again until it has written that: what controllers have yet to do is waited for. */
  readonly until?: RegExp | undefined
  /** Does not end by itself. */
  readonly watched?: Session.Watched | undefined
}

/** A session. */
export interface Walk {
  /** A sentence. */
  readonly name: string
  readonly files?: Session.Files | undefined
  readonly steps: ReadonlyArray<string | Step>
}

/** A command that is run again until it has written that. */
export const until = (line: string, shows: RegExp): Step => ({ line, until: shows })

/** Who manages which fields. Managers are listed by the second in which they wrote, so two walks may list them differently. */
export const managersOf = (object: string): string =>
  `kubectl get ${object} -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.subresource} {.fieldsV1}{"\\n"}{end}' | sort`

/** A command that goes on for ever, up to what it has to write. */
export const watching = (line: string, last: RegExp, meanwhile?: Session.Watched["meanwhile"]): Step => ({
  line,
  watched: { last, meanwhile }
})

const patienceMillis = 30_000

/** Says so when a command has never written what was waited for: two failures are not the same course. */
const shows = (session: Session.Session, line: string, wanted: RegExp, result: Result): Effect.Effect<Result> =>
  wanted.test(result.stdout)
    ? Effect.succeed(result)
    : Effect.dieMessage(
        `${line} has not written ${wanted} at ${session.cluster.url} but\n${result.stdout}${result.stderr}`
      )

/** Runs a command: what it writes, and how it ends. */
export const run = (session: Session.Session, { line, until, watched }: Step): Effect.Effect<Result> =>
  Effect.gen(function* () {
    if (watched !== undefined) return yield* shows(session, line, watched.last, yield* session.watch(line, watched))
    const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
    let result = yield* session.run(line)
    while (until !== undefined && !until.test(result.stdout) && (yield* Clock.currentTimeMillis) < deadline) {
      yield* Effect.sleep("100 millis")
      result = yield* session.run(line)
    }
    return until === undefined ? result : yield* shows(session, line, until, result)
  })

/** A namespace is complete when its controllers have been there. */
const settled = until("kubectl get cm kube-root-ca.crt -o name", /root/)

/** Takes a walk on a cluster: what kubectl writes for each command, and how it ends. */
export const take = (cluster: ControlPlane, { files = {}, steps }: Walk) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* cluster.install(Crd.of(WebApp), notes)
      const session = yield* Session.open(cluster, files)
      const printed = Printed.make(session, yield* Clock.currentTimeMillis)
      return yield* Effect.forEach([settled, ...steps], (each) => {
        const step = typeof each === "string" ? { line: each } : each
        return Effect.map(run(session, step), ({ exitCode, stderr, stdout }) =>
          [`$ ${step.line}`, stdout, stderr === "" ? "" : `(stderr) ${stderr}`, `(exit code ${exitCode})`]
            .map((text) => printed(text).trimEnd())
            .filter((text) => text !== "" && text !== "(stderr)")
            .join("\n")
        )
      })
    })
  )
