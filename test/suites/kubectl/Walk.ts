/** A session with kubectl that goes the same way on a kube-apiserver and on the embedded cluster, command by command. */
import { expect } from "bun:test"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import type { Result } from "@homeostat/testkit/envtest/Process"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import * as Normal from "./Normal.ts"
import { notes } from "./Notes.ts"
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

const take = (session: Session.Session, { line, until, watched }: Step): Effect.Effect<Result> =>
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

const shown = (session: Session.Session, { line }: Step, { exitCode, stderr, stdout }: Result): string =>
  [`$ ${line}`, stdout, stderr === "" ? "" : `(stderr) ${stderr}`, `(exit code ${exitCode})`]
    .map((text) => Normal.of(session, text).trimEnd())
    .filter((text) => text !== "" && text !== "(stderr)")
    .join("\n")

/** A namespace is complete when its controllers have been there. */
const settled = until("kubectl get cm kube-root-ca.crt -o name", /root/)

/** As far apart as two servers and two starts of controllers may be. */
const limitMillis = 200_000

/** A test: what kubectl writes and how it ends is the same on both, for each command. */
export const compare = ({ files = {}, name, steps }: Walk): void =>
  live(
    name,
    () =>
      Effect.gen(function* () {
        const open = (lane: "real" | "embedded") =>
          Effect.gen(function* () {
            const cluster = yield* Shared.controlPlane(Envtest.everything, lane)
            yield* cluster.install(Crd.of(WebApp), notes)
            return yield* Session.open(cluster, files)
          })
        const real = yield* open("real")
        const embedded = yield* open("embedded")
        const different: Array<readonly [embedded: string, real: string]> = []
        for (const each of [settled, ...steps]) {
          const step = typeof each === "string" ? { line: each } : each
          const on = (session: Session.Session) =>
            Effect.map(take(session, step), (result) => shown(session, step, result))
          const [ours, theirs] = yield* Effect.all([on(embedded), on(real)], { concurrency: 2 })
          if (ours !== theirs) different.push([ours, theirs])
        }
        expect(different.map(([ours]) => ours).join("\n\n")).toBe(different.map(([, theirs]) => theirs).join("\n\n"))
      }),
    limitMillis
  )
