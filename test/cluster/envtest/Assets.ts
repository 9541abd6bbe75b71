/**
 * Finds the programs of a control plane, as controller-runtime's envtest does. `assets/build` builds them.
 * No other place is searched, so a test never runs against a program that happens to be installed.
 */
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { Config, Data, Effect, Option } from "effect"

/** A program that `assets/build` builds. */
export type Program =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubectl"
  | "kwok"
  | "restic"
  | "rest-server"
  | "jaeger-all-in-one"
  | "promtool"
  | "openmetrics-check"

/** A program is missing. The message names the variable to set and how to get the program. */
export class MissingAsset extends Data.TaggedError("MissingAsset")<{
  readonly program: string
  /** The variable for this program. */
  readonly variable: string
  /** The path that was searched; undefined if no variable is set. */
  readonly path: string | undefined
}> {
  override get message(): string {
    const looked = this.path === undefined ? "" : `: no executable at ${this.path}`
    return (
      `${this.program} is missing${looked}; set KUBEBUILDER_ASSETS="$(${recipe} all | tail -1)", ` +
      `or ${this.variable} to the program itself`
    )
  }
}

/** The folder with the recipe `build`, and with the other files that the programs need. */
export const folder = join(import.meta.dirname, "assets")

const recipe = join(folder, "build")

/** The variable for a program: `TEST_ASSET_KUBE_APISERVER` for `kube-apiserver`. */
export const variableOf = (program: string): string => `TEST_ASSET_${program.toUpperCase().replaceAll("-", "_")}`

/**
 * Returns the path of a program: from its own variable, or else from the folder `KUBEBUILDER_ASSETS`.
 * Fails if the variable names a path that is not executable. It does not search further in that case.
 */
export const find = (program: Program): Effect.Effect<string, MissingAsset> =>
  Effect.gen(function* () {
    const variable = variableOf(program)
    const own = yield* setting(variable)
    const shared = yield* setting("KUBEBUILDER_ASSETS")
    const path = own ?? (shared === undefined ? undefined : join(shared, program))
    if (path !== undefined && (yield* isExecutable(path))) return path
    return yield* new MissingAsset({ program, variable, path })
  })

const setting = (name: string): Effect.Effect<string | undefined> =>
  Config.String(name).pipe(
    Effect.option,
    Effect.map((value) => Option.getOrUndefined(Option.filter(value, (text) => text !== "")))
  )

const isExecutable = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(path, constants.X_OK).then(
      () => true,
      () => false
    )
  )
