/**
 * A program made of controllers: its verbs, its flags, its exit codes.
 *
 * Exit codes: 0 for done and for a clean shutdown, 1 for a failure, 2 for wrong usage; the latter two with one line on standard
 * error that says what is wrong.
 */
import { hostname } from "node:os"
import type { FileSystem } from "@effect/platform/FileSystem"
import * as BunContext from "@effect/platform-bun/BunContext"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { dump } from "js-yaml"
import * as LabelSelector from "../cache/LabelSelector.ts"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as Crds from "../manager/Crds.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import * as Manager from "../manager/Manager.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Flag from "./Flag.ts"
import * as Verb from "./Verb.ts"
import * as Workers from "./Workers.ts"

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

/** By the names that `--log-level` takes. */
const levels: { readonly [name: string]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error
}

const formats: { readonly [name: string]: LogSettings["format"] } = { json: "json", pretty: "pretty" }

const namespaceOf = (name: string): Either.Either<string, string> =>
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
    ? Either.right(name)
    : Either.left(`"${name}" is no name of a namespace: lower-case letters, digits and dashes, at most 63`)

const selectorOf = (text: string): Either.Either<string, string> =>
  LabelSelector.parse(text) === undefined
    ? Either.left(`"${text}" is no label selector: write it like app=web,tier in (a,b)`)
    : Either.right(text)

const flagsOf = (names: ReadonlyArray<string>) => ({
  kubeconfig: Flag.parsed("kubeconfig", {
    placeholder: "FILE",
    description: "A kubeconfig; default KUBECONFIG, else the pod's service account, else ~/.kube/config",
    parse: (kubeconfig, origin) => Either.right({ kubeconfig, origin }),
    otherwise: {}
  }),
  context: Flag.text("context", {
    placeholder: "NAME",
    description: "The context of the kubeconfig; default its current one"
  }),
  namespaces: Flag.list("namespace", {
    placeholder: "NAME",
    description: "Only see objects of this namespace, or of several (repeated, or with commas); default all",
    check: namespaceOf
  }),
  controllers: Flag.list("controllers", {
    placeholder: "NAME,…",
    description: `Only run these controllers, of ${names.join(", ")}; default all`,
    check: (name) => (names.includes(name) ? Either.right(name) : Either.left(unknownController(name, names)))
  }),
  selector: Flag.parsed("selector", {
    placeholder: "LABELS",
    description: "Only see objects with these labels, of the kinds that are reconciled",
    parse: selectorOf,
    otherwise: undefined
  }),
  workers: Flag.parsed("workers", {
    placeholder: "N",
    description: `Objects reconciled at a time, for all controllers or by name (${names[0]}=16); default the controller's own`,
    parse: (text) =>
      Either.filterOrLeft(
        Workers.parse(text),
        (workers) => typeof workers === "number" || Object.keys(workers).every((name) => names.includes(name)),
        () => unknownController(text, names)
      ),
    otherwise: undefined
  }),
  syncPeriod: Flag.duration("sync-period", {
    description: "Reconcile every object this often, even if nothing changed",
    otherwise: "10h",
    // Less would keep every worker busy with nothing.
    atLeast: "1s"
  }),
  gracePeriod: Flag.duration("graceful-shutdown-timeout", {
    description: "How long reconciles in progress may go on after SIGTERM before they are interrupted",
    otherwise: "30s"
  }),
  installCrds: Flag.toggle("install-crds", { description: "Apply the CustomResourceDefinitions before starting" }),
  logLevel: Flag.choice("log-level", levels, {
    placeholder: "LEVEL",
    description: `Log from this level on: ${Object.keys(levels).join(", ")}; default info`,
    otherwise: LogLevel.Info
  }),
  logFormat: Flag.choice("log-format", formats, {
    placeholder: "FORMAT",
    description: "How log lines look: json or pretty; default pretty on a terminal, else json",
    otherwise: undefined
  })
})

const unknownController = (text: string, names: ReadonlyArray<string>): string =>
  `"${text}" names no controller of this program, which has ${names.join(", ")}`

const customKinds = (controllers: ReadonlyArray<Controller<unknown>>): ReadonlyArray<CustomResource.Any> =>
  controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource)

const run = <R, E>(program: Program<R, E>) =>
  Verb.make("run", {
    description: "Run the controllers until SIGTERM or SIGINT; a second signal ends at once",
    flags: flagsOf(program.controllers.map(({ name }) => name)),
    run: (settings) => {
      const terminal = process.stderr.isTTY === true
      const logs = program.logger({
        format: settings.logFormat ?? (terminal ? "pretty" : "json"),
        level: settings.logLevel,
        colour: terminal
      })
      const chosen = settings.controllers
      const controllers = program.controllers.filter(({ name }) => chosen.length === 0 || chosen.includes(name))
      return Effect.gen(function* () {
        const cluster = yield* KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
        yield* Effect.logInfo(`${program.name} ${program.version} works on ${cluster.server}, from ${cluster.source}`)
        const services = Manager.layer({
          namespaces: settings.namespaces,
          instance: process.env.HOSTNAME ?? hostname(),
          userAgent: `${program.name}/${program.version}`
        }).pipe(Layer.provide(Transport.layer(cluster)))
        const context = yield* Layer.build(services)
        yield* Effect.provide(FirstContact.make(cluster), context)
        const all = yield* Layer.build(Layer.provideMerge(program.layer, Layer.succeedContext(context)))
        yield* Effect.gen(function* () {
          if (settings.installCrds) yield* Crds.install(customKinds(controllers))
          yield* Manager.start(controllers, {
            workers: settings.workers,
            labelSelector: settings.selector,
            syncPeriod: settings.syncPeriod,
            gracePeriod: settings.gracePeriod
          })
        }).pipe(Effect.mapInputContext((scope: Context.Context<Scope.Scope>) => Context.merge(all, scope)))
        return yield* Effect.never
      }).pipe(
        Effect.scoped,
        Effect.onInterrupt(() => Effect.logInfo("Stopped")),
        Effect.provide(logs)
      )
    }
  })

const crd = <R, E>(program: Program<R, E>) =>
  Verb.make("crd", {
    description: "Print the CustomResourceDefinitions, for kubectl apply -f -",
    flags: {},
    run: () =>
      Console.log(
        customKinds(program.controllers)
          .map((kind) => dump(Crd.of(kind), { lineWidth: 120, noRefs: true }).trimEnd())
          .join("\n---\n")
      )
  })

const version = <R, E>(program: Program<R, E>) =>
  Verb.make("version", {
    description: "Print the version",
    flags: {},
    run: () => Console.log(`${program.name} ${program.version}`)
  })

/** What a command line ended with: its exit code, and the line to print if it failed. */
const verdict = (exit: Exit.Exit<unknown, unknown>): { readonly code: number; readonly line?: string } => {
  if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return { code: 0 }
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (failure instanceof Verb.UsageError) return { code: 2, line: failure.message }
  if (failure instanceof Error) return { code: 1, line: failure.message }
  return { code: 1, line: Cause.pretty(exit.cause) }
}

/**
 * The first signal interrupts, which is `runMain`'s. A second one ends the process here and not by the system's default, which
 * does nothing to process 1 of a container.
 */
const endAtSecondSignal = (name: string): void => {
  let signals = 0
  const count = (signal: string): void => {
    signals++
    if (signals < 2) return
    process.stderr.write(`${name}: ended at once by a second signal (${signal})\n`)
    process.exit(1)
  }
  process.on("SIGINT", count).on("SIGTERM", count)
}

/** Runs the program on the process's command line. To be called once, by the file that is compiled. */
export const main = <R, E>(program: Program<R, E>): void => {
  const verbs: ReadonlyArray<Verb.Verb<unknown, FileSystem>> = [run(program), crd(program), version(program)]
  const asked = Effect.suspend(() =>
    Effect.flatMap(Verb.select(program, verbs, process.argv.slice(2)), (request) =>
      request._tag === "Print"
        ? Console.log(request.text)
        : request.verb.run({ args: request.args, environment: process.env })
    )
  )
  endAtSecondSignal(program.name)
  BunRuntime.runMain(Effect.provide(asked, BunContext.layer), {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => {
      const { code, line } = verdict(exit)
      if (line !== undefined) process.stderr.write(`${program.name}: ${line}\n`)
      onExit(code)
    }
  })
}
