/**
 * Where the programs of a control plane are: real binaries, made by `assets/build`, found as controller-runtime's envtest
 * finds them. Nothing is looked for anywhere else, so that a test never runs against whatever happens to be installed.
 */
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { Config, Data, Effect, Option } from "effect"

/** A program that `assets/build` makes. */
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

/** A program that a test needs is not there; the message says which variable to set and how to get the program. */
export class MissingAsset extends Data.TaggedError("MissingAsset")<{
  readonly program: string
  /** The variable that names this program alone. */
  readonly variable: string
  /** Where it was looked for, when a variable was set at all. */
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

/** The folder of the recipe: `build`, and what the programs need besides themselves. */
export const folder = join(import.meta.dirname, "assets")

const recipe = join(folder, "build")

/** The variable that names one program: `TEST_ASSET_KUBE_APISERVER` for `kube-apiserver`. */
export const variableOf = (program: string): string => `TEST_ASSET_${program.toUpperCase().replaceAll("-", "_")}`

/**
 * The path of a program: the one that its own variable names, or the one in the folder `KUBEBUILDER_ASSETS`. A variable
 * that is set and wrong is an error, not a reason to look further.
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
  Config.string(name).pipe(
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
