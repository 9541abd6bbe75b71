/** `replay TRACE`: runs a recorded attempt of a running manager again, in this process. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Manager from "../manager/Manager.ts"
import * as Document from "../manager/recordings/Document.ts"
import * as Text from "../resource/Text.ts"
import * as Asking from "./Asking.ts"
import * as FileText from "./FileText.ts"
import * as Flag from "./Flag.ts"
import * as Output from "./Output.ts"
import * as Pause from "./Pause.ts"
import type { Program as Runnable } from "./Run.ts"
import * as Verb from "./Verb.ts"

/** The recording cannot be used. The message names its file, or the manager. */
export class InvalidRecording extends Data.TaggedError("InvalidRecording")<{ readonly message: string }> {}

const path = "/recordings"

const flags = {
  ...Asking.flags(path),
  recording: Flag.text("recording", {
    placeholder: "FILE",
    description: "Replay the recording in this file, which replay --save wrote; - for standard input"
  }),
  save: Flag.text("save", {
    placeholder: "FILE",
    description: "Write the recording to this file instead of a replay; - for standard output"
  }),
  break: Flag.toggle("break", {
    description: "Stop in the debugger right before the attempt"
  }),
  output: Asking.output
}

type Settings = Flag.Values<typeof flags>

/** A trace ID or a `reconcileID`. Failure: why it is neither. */
export const idOf = (text: string): Result.Result<string, string> =>
  /^[0-9a-f]{32}$/i.test(text.replaceAll("-", ""))
    ? Result.succeed(text)
    : Result.fail(
        `invalid trace: "${Text.clip(text, 64)}" (must be a trace ID or a reconcileID, of 32 hexadecimal digits)`
      )

const fileText = (file: string) =>
  Effect.mapError(FileText.readOrInput(file), (problem) => new InvalidRecording({ message: `--recording: ${problem}` }))

/** The text of a recording, from the manager. */
const fetched = (program: string, settings: Settings, trace: string) =>
  Asking.text(program, settings, path, { trace }, (answer) =>
    // A manager with the endpoint names the recording in its answer.
    answer.status === 404 && /^(unknown recording: |the attempt )/.test(answer.body)
      ? new InvalidRecording({ message: `${settings.probeAddress.origin}: ${Asking.lineOf(answer.body)}` })
      : Effect.succeed(answer)
  )

const saved = (file: string, text: string) =>
  file === "-"
    ? Output.print(text)
    : Effect.flatMap(FileSystem, (fs) =>
        Effect.mapError(
          // It may have more than others may see. The mode of a file that exists does not change by itself.
          Effect.all([
            fs.writeFileString(file, "", { mode: 0o600 }),
            Effect.ignore(fs.chmod(file, 0o600)),
            fs.writeFileString(file, `${text}\n`)
          ]),
          () => new InvalidRecording({ message: `--save: ${file} cannot be written` })
        )
      )

/** The verb. It exits with 0 if the replay is the same as the recording, with 2 if it differs, and with 1 after an error. */
export const verb = <R, E>(program: Runnable<R, E>) =>
  Verb.make("replay", {
    description:
      "Run a recorded attempt again, without a cluster; exit with 0 if it is the same, 2 if it differs, 1 after an error",
    words: { placeholder: "[TRACE]", most: 1 },
    flags,
    settings: program.settings,
    // Code 2 would mean that the replay differs.
    misuse: 1,
    examples: [
      ["List the recordings of a manager.", "replay"],
      ["Run the attempt of a trace again. `why` and the log have the ID.", "replay 4bf92f3577b34da6a3ce929d0e0e4736"],
      ["Keep a recording, and replay it with another build.", "replay --recording=failure.json"]
    ],
    run: (settings, [word]) =>
      Effect.gen(function* () {
        const { name } = program
        const { output, probeAddress, recording, save } = settings
        if (word === undefined && recording === undefined && (save !== undefined || settings.break)) {
          return yield* new Verb.UsageError({ message: "--save and --break need a trace or --recording" })
        }
        if (word === undefined && recording === undefined) {
          return yield* Output.print(yield* Asking.text(name, settings, path, { output }))
        }
        if (word !== undefined && recording !== undefined) {
          return yield* new Verb.UsageError({ message: "a trace and --recording: only one is possible" })
        }
        const id = idOf(word ?? "")
        if (recording === undefined && Result.isFailure(id)) return yield* new Verb.UsageError({ message: id.failure })
        const text = recording === undefined ? yield* fetched(name, settings, word ?? "") : yield* fileText(recording)
        const document = Document.parse(text)
        if (typeof document === "string") {
          const place = recording === undefined ? probeAddress.origin : `--recording: ${recording}`
          return yield* new InvalidRecording({ message: `${place}: not a recording: ${document}` })
        }
        if (save !== undefined) return yield* saved(save, text.trimEnd())
        const layer: Layer.Layer<R, E, Manager.Runtime> = program.plannedLayer ?? program.layer
        const [Replay, ReplayText] = yield* Effect.promise(() =>
          Promise.all([import("../replay/Replay.ts"), import("../replay/Text.ts")])
        )
        const report = yield* Replay.make(program.controllers, layer, document, {
          begin: settings.break ? Pause.pause : undefined
        })
        yield* Output.print(output === "json" ? JSON.stringify(report, undefined, 2) : ReplayText.render(report))
        return yield* report.same ? Effect.void : new Verb.Logged({ code: 2 })
      })
  })
