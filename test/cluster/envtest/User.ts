/**
 * Users of an API server, with their credentials.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import * as Kubeconfig from "./Kubeconfig.ts"

/** A user of a cluster: PEM certificates and keys, a token as text, and a kubeconfig with the same data. */
export interface User extends Kubeconfig.Access {
  readonly groups: ReadonlyArray<string>
  /** The kubeconfig (YAML). */
  readonly kubeconfig: string
  /** The path of a file with the kubeconfig. It exists until the end of the control plane's Scope. */
  readonly kubeconfigPath: string
}

/**
 * Writes a user's kubeconfig into the folder, with file mode 0600.
 * `kubeconfig` replaces the generated kubeconfig.
 */
export const make = (
  folder: string,
  access: Kubeconfig.Access,
  groups: ReadonlyArray<string>,
  kubeconfig = Kubeconfig.render(access)
): Effect.Effect<User> =>
  Effect.gen(function* () {
    const kubeconfigPath = join(folder, `${crypto.randomUUID()}.kubeconfig`)
    yield* Effect.promise(() => writeFile(kubeconfigPath, kubeconfig, { mode: 0o600 }))
    return { ...access, groups, kubeconfig, kubeconfigPath }
  })
