/** Runs the driver (`driver/`) for one scenario of one manager. */
import { appendFile } from "node:fs/promises"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

/** A manager that the bench measures. */
export interface Manager {
  readonly name: string
  /** The command that starts it, with the driver's placeholders such as `{metrics}`. */
  readonly command: string
  /** True for a manager without leader election, which cannot fail over. Default: false. */
  readonly isAlone?: boolean
}

/** The cluster and the folders that the driver needs. */
export interface Site {
  /** The driver's executable. */
  readonly driver: string
  readonly kubeconfig: string
  /** The folder with the process ids of etcd and kube-apiserver. */
  readonly state: string
  /** The folder of results and of the managers' logs. */
  readonly out: string
  /**
   * Runs the garbage collector of kube-apiserver before each run. Without it, a first pass costs kube-apiserver two more CPU seconds in
   * every second run. The managers alternate, so this would favour one of them.
   */
  readonly collect: Effect.Effect<void>
}

/** The result of a scenario: numbers and some labels. */
export interface Result {
  readonly [field: string]: unknown
}

/** A scenario failed. The message is the driver's. */
export class RunFailed extends Data.TaggedError("RunFailed")<{ readonly message: string }> {}

/**
 * Runs a scenario and appends its result to `results.jsonl`, under the scenario's name in the bench.
 * Fails if the driver reports an error.
 */
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
