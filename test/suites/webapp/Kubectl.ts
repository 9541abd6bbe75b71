/** Runs kubectl in a scene. Only the real lane has kubectl. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Data, Effect } from "effect"

/** The exit code of kubectl was not 0. */
export class KubectlFailed extends Data.TaggedError("KubectlFailed")<{
  readonly args: ReadonlyArray<string>
  readonly stderr: string
}> {
  override get message(): string {
    return `kubectl ${this.args.join(" ")}: ${this.stderr.trim()}`
  }
}

/** Runs kubectl in the namespace, and returns its trimmed output. Fails with KubectlFailed. An object as `stdin` is sent as JSON. */
export const run = (
  { cluster, namespace }: { readonly cluster: ControlPlane; readonly namespace: string },
  args: ReadonlyArray<string>,
  stdin?: unknown
): Effect.Effect<string, KubectlFailed | Effect.Error<ReturnType<ControlPlane["kubectl"]>>> =>
  cluster
    .kubectl([...args, `--namespace=${namespace}`], {
      stdin: stdin === undefined || typeof stdin === "string" ? stdin : JSON.stringify(stdin)
    })
    .pipe(
      Effect.flatMap(({ exitCode, stderr, stdout }) =>
        exitCode === 0 ? Effect.succeed(stdout.trim()) : new KubectlFailed({ args, stderr })
      )
    )
