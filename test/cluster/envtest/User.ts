/**
 * Somebody the API server knows, with all it takes to be them.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import * as Kubeconfig from "./Kubeconfig.ts"

/** A user of a cluster: certificates, keys and token as PEM and text, and a kubeconfig that holds the same. */
export interface User extends Kubeconfig.Access {
  readonly groups: ReadonlyArray<string>
  /** The kubeconfig (YAML). */
  readonly kubeconfig: string
  /** A file with it, there as long as the control plane's Scope is open. */
  readonly kubeconfigPath: string
}

/** Writes a user's kubeconfig into the folder, readable for this user only. `kubeconfig` replaces the one made here. */
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
