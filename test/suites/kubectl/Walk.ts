/** Walks: sequences of kubectl commands in a session. */
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { Result } from "@homeostat/testkit/envtest/Process"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import { notes } from "./Notes.ts"
import * as Printed from "./Printed.ts"
import * as Session from "./Session.ts"

/** A line of shell in a walk. */
export interface Step {
  readonly line: string
  /** If set, the walk repeats the line until the output matches. */
  readonly until?: RegExp | undefined
  /** The expected output of a command that does not end. */
  readonly watched?: Session.Watched | undefined
}

export interface Walk {
  readonly name: string
  readonly files?: Session.Files | undefined
  readonly steps: ReadonlyArray<string | Step>
}

/** A command that the walk repeats until its output matches. */
export const until = (line: string, shows: RegExp): Step => ({ line, until: shows })

/** A command that lists the managed fields, sorted, because their order depends on their times. */
export const managersOf = (object: string): string =>
  `kubectl get ${object} -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.subresource} {.fieldsV1}{"\\n"}{end}' | sort`

/** A command that does not end. The walk stops it after its expected output. */
export const watching = (line: string, last: RegExp, meanwhile?: Session.Watched["meanwhile"]): Step => ({
  line,
  watched: { last, meanwhile }
})

const patienceMillis = 30_000

/** Fails unless the output matches. */
const shows = (session: Session.Session, line: string, wanted: RegExp, result: Result): Effect.Effect<Result> =>
  wanted.test(result.stdout)
    ? Effect.succeed(result)
    : Effect.die(
        new Error(`${line} did not write ${wanted} at ${session.cluster.url} but\n${result.stdout}${result.stderr}`)
      )

/** Runs a command to its end, or to its expected output. */
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

/** Waits until the controllers have completed the namespace. */
const settled = until("kubectl get cm kube-root-ca.crt -o name", /root/)

/** Runs a walk on a cluster, and returns the output and the exit code of each command. */
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
