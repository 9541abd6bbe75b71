/** A reader who follows the guide exactly, with a copy of the tree, kubectl and some terminals. */
import { existsSync } from "node:fs"
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Data, Effect, Schedule, type Scope } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Copy from "./Copy.ts"
import * as Steps from "./Steps.ts"

/** The result of a step differs from the page. */
export class NotAsTold extends Data.TaggedError("NotAsTold")<{ readonly message: string }> {}

/** Follows pages of the guide. */
export interface Reader {
  /**
   * Performs all steps of a page, type-checks the files that it wrote, and stops the programs in the terminals that it opened.
   */
  readonly follow: (name: string, page: string) => Effect.Effect<void, NotAsTold | Running.StillRunning>
  /** Performs and type-checks a page as `follow` does. The programs in its terminals run until the Scope ends. */
  readonly begin: (name: string, page: string) => Effect.Effect<void, NotAsTold | Running.StillRunning, Scope.Scope>
}

/** A program that runs in a terminal. */
interface Terminal {
  readonly printed: () => string
  /** Sends SIGINT as Ctrl-C does, and waits for the end. Fails if the exit code is not 0. */
  readonly interrupted: Effect.Effect<void, NotAsTold | Running.StillRunning>
}

/** Returns whether a script only reads. The reader repeats such a script, because its output may appear late. */
const isLook = (script: string): boolean =>
  script
    .trim()
    .split("\n")
    .every((line) => /^(kubectl (get|describe|logs|events)|ls|cat|bun controllers\/\S+ why)\b/.test(line))

const patience = "60 seconds"

/** Retries for about ten seconds, without the time of the commands. */
const soon = Schedule.upTo(Schedule.spaced("200 millis"), { times: 50 })

/** A script that keeps the exported variables of its terminal, as an interactive shell does. */
const inTerminal = (body: string): string => `[ ! -e "$TERMINAL_STATE" ] || . "$TERMINAL_STATE"
set -eo pipefail
${body}`

/** A script whose last command keeps running. `exec` makes it replace the shell, so that it receives signals. */
const goingOn = (script: string): string => {
  const lines = script.trim().split("\n")
  const last = lines.pop() ?? ""
  return inTerminal([...lines, 'export -p >"$TERMINAL_STATE"', `exec ${last} 1>&2`].join("\n"))
}

/** Copies the project, installs it and prepares kubectl. The end of the Scope stops all programs. */
export const make: Effect.Effect<Reader, Running.StillRunning | Assets.MissingAsset, Scope.Scope> = Effect.gen(
  function* () {
    const kubectl = yield* Assets.find("kubectl")
    const { environment, folder, run } = yield* Copy.make
    const home = yield* Directory.make
    yield* Effect.promise(() => symlink(kubectl, join(home, "kubectl")))
    const probes = `${Port.host}:${yield* Port.free}`
    const settings = (terminal: string) => ({
      ...environment,
      PATH: `${home}:${environment.PATH}`,
      TERMINAL_STATE: join(home, `${terminal}.state`),
      KUBECACHEDIR: join(home, "cache"),
      KUBERC: "off",
      // Other programs may use the default ports.
      ...Binary.variables(
        {
          "metrics-bind-address": "0",
          "health-probe-bind-address": probes,
          "probe-address": probes,
          "log-format": "pretty"
        },
        ["homeostat", "logger", "widget"]
      )
    })

    const write = (path: string, text: (before: string) => string) =>
      Effect.tryPromise({
        try: async () => {
          const file = join(folder, path)
          const before = existsSync(file) ? await readFile(file, "utf8") : ""
          await mkdir(dirname(file), { recursive: true })
          await writeFile(file, text(before))
        },
        catch: (error) => new NotAsTold({ message: error instanceof Error ? error.message : String(error) })
      })

    const ended = (script: string) =>
      Effect.scoped(
        run(["bash", "-c", inTerminal(`exec 2>&1\n${script}\nexport -p >"$TERMINAL_STATE"`)], settings("main"))
      )

    const runs = (script: string, shown: string | undefined): Effect.Effect<void, NotAsTold | Running.StillRunning> =>
      Effect.gen(function* () {
        const once = Effect.gen(function* () {
          const { code, stdout } = yield* ended(script)
          if (code !== 0) return yield* new NotAsTold({ message: `ended with ${code}:\n${stdout}` })
          if (shown !== undefined && !Steps.shows(stdout, shown)) {
            return yield* new NotAsTold({ message: `printed\n${stdout}instead of\n${shown}` })
          }
        })
        yield* isLook(script) ? Effect.retry(once, { while: ({ _tag }) => _tag === "NotAsTold", schedule: soon }) : once
      })

    const terminals = new Map<string, Terminal>()

    /** Waits until the terminal shows the text. */
    const look = (terminal: string, shown: string) =>
      eventually(
        "it prints that",
        Effect.sync(() => terminals.get(terminal)?.printed() ?? ""),
        (printed) => Steps.begins(printed, shown),
        patience
      ).pipe(Effect.mapError(({ last }) => new NotAsTold({ message: `printed\n${last}\nand not\n${shown}` })))

    const goesOn = (terminal: string, script: string, shown: string | undefined) =>
      Effect.gen(function* () {
        yield* terminals.get(terminal)?.interrupted ?? Effect.void
        const running = yield* Running.start(["bash", "-c", `cd "$0"\n${goingOn(script)}`, folder], settings(terminal))
        const interrupted = Effect.gen(function* () {
          terminals.delete(terminal)
          // Ctrl-C also signals the whole process group.
          yield* Effect.try(() => process.kill(-running.pid, "SIGINT")).pipe(Effect.ignore)
          const { code, stderr } = yield* running.ended(patience)
          if (code !== 0) return yield* new NotAsTold({ message: `${script}ended with ${code}:\n${stderr}` })
        })
        terminals.set(terminal, { printed: running.stderr, interrupted })
        yield* Effect.addFinalizer(() => Effect.ignore(terminals.get(terminal)?.interrupted ?? Effect.void))
        yield* look(terminal, shown ?? "…")
      })

    const perform = (step: Steps.Step) => {
      switch (step._tag) {
        case "Write":
          return write(step.path, () => step.text)
        case "Edit":
          return write(step.path, (before) => Steps.changed(before, step.diff))
        case "Look":
          return look(step.terminal, step.shows)
        case "Run":
          return step.terminal === undefined
            ? runs(step.script, step.shows)
            : goesOn(step.terminal, step.script, step.shows)
      }
    }

    const check = (steps: ReadonlyArray<Steps.Step>) =>
      Effect.gen(function* () {
        const written = steps.flatMap((step) => ("path" in step && step.path.endsWith(".ts") ? [step.path] : []))
        if (written.length === 0) return
        const include = [...new Set(written.map((path) => dirname(path)))]
        yield* write("tsconfig.guide.json", () => JSON.stringify({ extends: "./tsconfig.json", include }))
        const commands = [
          ["bun", "x", "tsc", "-p", "tsconfig.guide.json", "--checkers", "1"],
          ["bun", "x", "biome", "check", "--linter-enabled=false", ...include]
        ]
        for (const command of commands) {
          const { code, stderr, stdout } = yield* Effect.scoped(run(command))
          if (code !== 0) return yield* new NotAsTold({ message: `${command.join(" ")}: ${stdout}${stderr}` })
        }
      })

    const begin: Reader["begin"] = (name, page) =>
      Effect.gen(function* () {
        const steps = Steps.of(page)
        for (const step of steps) {
          yield* Effect.mapError(perform(step), (error) =>
            error._tag === "NotAsTold"
              ? new NotAsTold({ message: `docs/guide/${name}:${step.line}: ${error.message}` })
              : error
          )
        }
        yield* check(steps)
      })

    return {
      begin,
      follow: (name, page) =>
        Effect.scoped(
          Effect.gen(function* () {
            const before = new Set(terminals.keys())
            yield* begin(name, page)
            for (const [terminal, { interrupted }] of terminals) if (!before.has(terminal)) yield* interrupted
          })
        )
    }
  }
)
