/** The driver (`driver/`), run for one scenario of one manager. */
import { appendFile } from "node:fs/promises"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

/** A manager to be measured. */
export interface Manager {
  readonly name: string
  /** Its command, with the driver's placeholders such as `{metrics}`. */
  readonly command: string
  /** Whether it elects no leader, and so cannot fail over. Default: it elects one. */
  readonly isAlone?: boolean
}

/** What the driver needs to know of the cluster, and where it leaves things. */
export interface Site {
  /** The driver's executable. */
  readonly driver: string
  readonly kubeconfig: string
  /** The folder with the process ids of etcd and kube-apiserver. */
  readonly state: string
  /** The folder of results and of the managers' logs. */
  readonly out: string
  /**
   * Makes kube-apiserver collect its garbage before each run. A first pass costs it two CPU seconds more in every second run without
   * that, and the managers take turns.
   */
  readonly collect: Effect.Effect<void>
}

/** What a scenario gave: numbers, and some labels. */
export interface Result {
  readonly [field: string]: unknown
}

/** A scenario did not come to its end; the message is the driver's. */
export class RunFailed extends Data.TaggedError("RunFailed")<{ readonly message: string }> {}

/** Runs a scenario. Its result, with the name of the scenario as we call it, is added to `results.jsonl` as well. */
export const run = (
  site: Site,
  scenario: string,
  manager: Manager,
  args: ReadonlyArray<string>
): Effect.Effect<Result, RunFailed> =>
  Effect.gen(function* () {
    yield* site.collect
    const common = ["-kubeconfig", site.kubeconfig, "-state", site.state, "-logs", site.out, "-timeout", "20m"]
    const chosen = ["-name", manager.name, "-manager", manager.command, ...args]
    const { stdout, stderr } = yield* Process.run(site.driver, [...common, ...chosen])
    const answer = yield* Effect.try({
      try: (): Result => ({ ...JSON.parse(stdout), scenario }),
      catch: () => new RunFailed({ message: stderr.trim() })
    })
    yield* Effect.promise(() => appendFile(`${site.out}/results.jsonl`, `${JSON.stringify(answer)}\n`))
    return typeof answer.error === "string" ? yield* new RunFailed({ message: answer.error }) : answer
  })
