/**
 * A program made of controllers: its verbs, its flags, its exit codes.
 *
 * Every flag can be given as an environment variable too: `--log-level` is `HOMEOSTAT_LOG_LEVEL`. Exit codes: 0 for done and for a
 * clean shutdown, 1 for a failure, with one line on standard error that says what is wrong, 2 for wrong usage.
 */
import { hostname } from "node:os"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as BunContext from "@effect/platform-bun/BunContext"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { dump } from "js-yaml"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as Crds from "../manager/Crds.ts"
import * as Manager from "../manager/Manager.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as DurationText from "./DurationText.ts"
import * as Workers from "./Workers.ts"

/** A failure whose message is all that its reader needs: it is printed on one line, without a stack. */
export class UserError extends Data.TaggedError("UserError")<{
  readonly message: string
  /** 2 for what is wrong with the command line. */
  readonly exitCode: 1 | 2
}> {}

/** How lines look and which are made. */
export interface LogSettings {
  readonly format: "json" | "pretty"
  readonly level: LogLevel.LogLevel
  readonly colour: boolean
}

/** What a program is made of. */
export interface Program<R, E> {
  /** The name of the executable. */
  readonly name: string
  readonly version: string
  /** One line for `--help`. */
  readonly description: string
  readonly controllers: ReadonlyArray<Controller<R | Services>>
  /** What the controllers need beyond what the runtime provides; it may build on that. */
  readonly layer: Layer.Layer<R, E, Manager.Runtime>
  /** How it logs. */
  readonly logger: (settings: LogSettings) => Layer.Layer<never>
}

const variable = (flag: string): string => `HOMEOSTAT_${flag.toUpperCase().replaceAll("-", "_")}`

const usage = (message: string) => ValidationError.invalidValue(HelpDoc.p(message))

/** A text flag with its environment variable. */
const text = (flag: string, description: string): Options.Options<string> =>
  Options.text(flag).pipe(
    Options.withFallbackConfig(Config.string(variable(flag))),
    Options.withDescription(`${description} [${variable(flag)}]`)
  )

const parsed =
  <A>(flag: string, parse: (text: string) => Either.Either<A, string>) =>
  (option: Options.Options<string>): Options.Options<A> =>
    Options.mapEffect(option, (value) =>
      Either.match(parse(value), {
        onLeft: (problem) => Effect.fail(usage(`--${flag}: ${problem}`)),
        onRight: Effect.succeed
      })
    )

const duration = (flag: string, fallback: string, description: string): Options.Options<Duration.Duration> =>
  text(flag, description).pipe(Options.withDefault(fallback), parsed(flag, DurationText.parse))

const list = (flag: string, description: string): Options.Options<ReadonlyArray<string>> =>
  text(flag, description).pipe(
    Options.withDefault(""),
    Options.map((value) =>
      value
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "")
    )
  )

/** By the names that `--log-level` takes. */
const levels: { readonly [name: string]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error
}

const oneOf =
  <A>(choices: { readonly [name: string]: A }) =>
  (value: string): Either.Either<A, string> => {
    const choice = choices[value]
    return choice === undefined
      ? Either.left(`"${value}" is none of ${Object.keys(choices).join(", ")}`)
      : Either.right(choice)
  }

const flags = {
  kubeconfig: Options.optional(
    text("kubeconfig", "Path of a kubeconfig; before KUBECONFIG, the pod's service account, ~/.kube/config")
  ),
  context: Options.optional(text("context", "The context of the kubeconfig to use")),
  namespaces: list("namespace", "Only see objects of these namespaces, separated by commas; default all"),
  controllers: list("controllers", "Only run these controllers, separated by commas; default all"),
  selector: Options.optional(text("selector", "Only see objects of the controllers' own kinds with these labels")),
  workers: Options.optional(
    text("workers", "Objects reconciled at a time: 16, or webapp=16,backup=4").pipe(parsed("workers", Workers.parse))
  ),
  syncPeriod: duration("sync-period", "10h", "Reconcile every object this often, even if nothing changed"),
  gracePeriod: duration(
    "graceful-shutdown-timeout",
    "30s",
    "How long reconciles in progress may go on after SIGTERM before they are interrupted"
  ),
  installCrds: Options.boolean("install-crds").pipe(
    Options.withFallbackConfig(Config.boolean(variable("install-crds"))),
    Options.withDescription(`Apply the CustomResourceDefinitions before starting [${variable("install-crds")}]`),
    Options.withDefault(false)
  ),
  logFormat: Options.optional(
    text("log-format", "json or pretty; default pretty on a terminal").pipe(
      parsed("log-format", oneOf({ json: "json" as const, pretty: "pretty" as const }))
    )
  )
}

/** Those that were asked for by name; all without names. */
const choose = <R>(controllers: ReadonlyArray<Controller<R>>, names: ReadonlyArray<string>) => {
  const unknown = names.filter((name) => !controllers.some((controller) => controller.name === name))
  return unknown.length > 0
    ? Effect.fail(
        new UserError({
          exitCode: 2,
          message: `--controllers: there is no ${unknown.join(", ")}; this program has ${controllers.map(({ name }) => name).join(", ")}`
        })
      )
    : Effect.succeed(names.length === 0 ? controllers : controllers.filter(({ name }) => names.includes(name)))
}

const customKinds = (controllers: ReadonlyArray<Controller<unknown>>): ReadonlyArray<CustomResource.Any> =>
  controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource)

const run = <R, E>(program: Program<R, E>) =>
  Command.make("run", flags, (settings) =>
    Effect.gen(function* () {
      const terminal = process.stderr.isTTY === true
      const logs = program.logger({
        format: Option.getOrElse(settings.logFormat, () => (terminal ? "pretty" : "json")),
        level: yield* FiberRef.get(FiberRef.currentMinimumLogLevel),
        colour: terminal
      })
      return yield* Effect.gen(function* () {
        const controllers = yield* choose(program.controllers, settings.controllers)
        const cluster = yield* KubeConfig.load({
          kubeconfig: Option.getOrUndefined(settings.kubeconfig),
          context: Option.getOrUndefined(settings.context)
        })
        yield* Effect.logInfo(`${program.name} ${program.version} works on ${cluster.server}, from ${cluster.source}`)
        const services = Manager.layer({
          namespaces: settings.namespaces,
          instance: process.env.HOSTNAME ?? hostname(),
          userAgent: `${program.name}/${program.version}`
        }).pipe(Layer.provide(Transport.layer(cluster)))
        const context = yield* Layer.build(Layer.provideMerge(program.layer, services))
        yield* Effect.gen(function* () {
          if (settings.installCrds) yield* Crds.install(customKinds(controllers))
          yield* Manager.start(controllers, {
            workers: Option.getOrUndefined(settings.workers),
            labelSelector: Option.getOrUndefined(settings.selector),
            syncPeriod: settings.syncPeriod,
            gracePeriod: settings.gracePeriod
          })
        }).pipe(Effect.mapInputContext((scope: Context.Context<Scope.Scope>) => Context.merge(context, scope)))
        return yield* Effect.never
      }).pipe(
        Effect.scoped,
        Effect.onInterrupt(() => Effect.logInfo("Stopped")),
        Effect.provide(logs)
      )
    })
  ).pipe(Command.withDescription("Run the controllers until SIGTERM or SIGINT; a second signal ends at once"))

const crd = <R, E>(program: Program<R, E>) =>
  Command.make("crd", {}, () =>
    Console.log(
      customKinds(program.controllers)
        .map((kind) => dump(Crd.of(kind), { lineWidth: 120, noRefs: true }).trimEnd())
        .join("\n---\n")
    )
  ).pipe(Command.withDescription("Print the CustomResourceDefinitions, for kubectl apply -f -"))

const version = <R, E>(program: Program<R, E>) =>
  Command.make("version", {}, () => Console.log(`${program.name} ${program.version}`)).pipe(
    Command.withDescription("Print the version")
  )

/** What a command line ended with: its exit code, and the line to print if it failed. */
const verdict = (exit: Exit.Exit<unknown, unknown>): { readonly code: number; readonly line?: string } => {
  if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return { code: 0 }
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  // The command line has already said what it did not understand.
  if (ValidationError.isValidationError(failure)) return { code: 2 }
  if (failure instanceof UserError) return { code: failure.exitCode, line: failure.message }
  if (failure instanceof Error) return { code: 1, line: failure.message }
  return { code: 1, line: Cause.pretty(exit.cause) }
}

/** Runs the program on the process's command line. To be called once, by the file that is compiled. */
export const main = <R, E>(program: Program<R, E>): void => {
  const command = Command.make(program.name).pipe(
    Command.withDescription(program.description),
    Command.withSubcommands([run(program), crd(program), version(program)])
  )
  const cli = Command.run(command, { name: program.name, version: program.version })
  // The flag `--log-level` is the command-line library's own; it overrides what the environment says.
  const level = levels[process.env[variable("log-level")] ?? ""] ?? LogLevel.Info
  BunRuntime.runMain(cli(process.argv).pipe(Logger.withMinimumLogLevel(level), Effect.provide(BunContext.layer)), {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => {
      const { code, line } = verdict(exit)
      if (line !== undefined) process.stderr.write(`${program.name}: ${line}\n`)
      onExit(code)
    }
  })
}
