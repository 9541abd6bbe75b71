/**
 * Runs kubectl against one cluster, without access to the user's home folder.
 */
import { join } from "node:path"
import { Effect } from "effect"
import * as Assets from "./Assets.ts"
import * as Process from "./Process.ts"

/** Runs kubectl with a kubeconfig. Every exit code is a result. `home` is the folder for its cache. */
export const run = (
  options: { readonly kubeconfigPath: string | undefined; readonly home: string },
  args: ReadonlyArray<string>,
  stdin?: string
): Effect.Effect<Process.Result, Assets.MissingAsset> =>
  Assets.find("kubectl").pipe(
    Effect.flatMap((kubectl) =>
      Process.run(kubectl, args, {
        stdin,
        env: {
          ...process.env,
          KUBECONFIG: options.kubeconfigPath,
          KUBECACHEDIR: join(options.home, "kubectl"),
          KUBERC: "off"
        }
      })
    )
  )
