/**
 * restic as a child process. Its standard error is copied to that of the mover, without secrets.
 *
 * restic releases its lock on SIGTERM. So an interruption terminates restic and waits for its end.
 */
import { constants } from "node:os"
import * as Secrecy from "@homeostat/runtime/telemetry/Secrecy"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Environment } from "./Parameters.ts"

/** A restic that has ended. */
export interface Ended {
  /** The exit code. 128 plus the number of the signal that ended restic, and {@link timedOut} after the time limit. */
  readonly code: number
  readonly stdout: string
  /** The last lines of standard error, without secrets and empty lines. */
  readonly stderr: ReadonlyArray<string>
  /** The number of files that restic could not read. */
  readonly unreadable: number
}

/** The code of a restic that exceeded its time limit. */
export const timedOut = 124

/** The code of a restic that was ended by SIGKILL. */
export const killed = 137

/** The options of one run of restic. */
export interface Options {
  /** Its working directory. */
  readonly folder?: string
  /** Its time limit. */
  readonly seconds?: number
  /** Receives the lines of standard output, which then are not kept. Returns false to terminate restic. */
  readonly line?: (line: string) => boolean
}

/** Runs restic with these arguments. Every exit code is a result. */
export type Restic = (args: ReadonlyArray<string>, options?: Options) => Effect.Effect<Ended>

/** The number of lines of standard error that a mover keeps in memory: the cause comes last. */
const most = 1000

/** After this time a restic that ignores SIGTERM is killed, if it has a time limit. */
const patience = Duration.seconds(10)

const eachLine = async (stream: ReadableStream<Uint8Array>, line: (text: string) => void): Promise<void> => {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const bytes of stream) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n")
    rest = parts.pop() ?? ""
    for (const part of parts) line(part)
  }
  if (rest !== "") line(rest)
}

/** Lines of standard error. */
const reader = (redact: (text: string) => string) => {
  let last: Array<string> = []
  let unreadable = 0
  const line = (text: string): void => {
    const shown = redact(text)
    process.stderr.write(`${shown}\n`)
    if (text.startsWith('{"message_type":"error"')) unreadable += 1
    if (shown.trim() !== "") last.push(shown)
    if (last.length > 2 * most) last = last.slice(-most)
  }
  return {
    read: (stream: ReadableStream<Uint8Array>): Promise<void> => eachLine(stream, line),
    result: () => ({ stderr: last, unreadable })
  }
}

const codeOf = ({ exitCode, signalCode }: Bun.Subprocess): number =>
  signalCode === null ? (exitCode ?? 1) : 128 + constants.signals[signalCode as NodeJS.Signals]

/** Makes restic for this environment. `redact` removes the secrets from a line. */
export const make =
  (environment: Environment, redact: (text: string) => string): Restic =>
  (args, { folder, line, seconds } = {}) =>
    Effect.suspend(() => {
      const errors = reader(redact)
      const run = Effect.callback<Ended>((resume) => {
        const child = Bun.spawn(["restic", ...args], {
          ...(folder !== undefined && { cwd: folder }),
          // restic takes its working directory from PWD, and saves no path of another mount.
          env: { ...environment, ...(folder !== undefined && { PWD: folder }) },
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe"
        })
        const output =
          line === undefined
            ? new Response(child.stdout).text()
            : eachLine(child.stdout, (text) => {
                if (!line(text)) child.kill("SIGTERM")
              }).then(() => "")
        const ended = Promise.all([child.exited, output, errors.read(child.stderr)])
        ended.then(
          ([, stdout]) => resume(Effect.succeed({ code: codeOf(child), stdout, ...errors.result() })),
          (error) => resume(Effect.die(error))
        )
        return Effect.gen(function* () {
          child.kill("SIGTERM")
          const kill = Effect.delay(
            Effect.sync(() => child.kill("SIGKILL")),
            patience
          )
          const killer = seconds === undefined ? undefined : yield* Effect.forkDetach(Effect.interruptible(kill))
          yield* Effect.promise(() => ended.catch(() => undefined))
          if (killer !== undefined) yield* Fiber.interrupt(killer)
        })
      })
      return seconds === undefined
        ? run
        : Effect.timeoutOrElse(run, {
            duration: Duration.seconds(seconds),
            orElse: () => Effect.sync((): Ended => ({ code: timedOut, stdout: "", ...errors.result() }))
          })
    })

/** Removes secrets from a line: the values of the environment's secret variables, and what `Secrecy` detects. */
export const redactor = (environment: Environment): ((text: string) => string) => {
  const secrets = Object.entries(environment)
    .filter(([name]) => /PASSWORD|SECRET|TOKEN|KEY|SAS/.test(name))
    .flatMap(([, value = ""]) => value.split("\n"))
    // A shorter value may be a word.
    .filter((value) => value.length >= 4)
    .sort((one, other) => other.length - one.length)
  return (text) => Secrecy.masked(secrets.reduce((rest, secret) => rest.replaceAll(secret, Secrecy.hidden), text))
}

/** The fields of a line of JSON; undefined for another line. */
export const json = (line: string): { readonly [field: string]: unknown } | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line)
  } catch {
    // restic also writes plain text.
    return undefined
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** The error that ended restic. */
const fatal = (line: string): ReadonlyArray<string> => {
  if (line.startsWith("Fatal: ")) return [line]
  const object = json(line)
  return object?.message_type === "exit_error" ? [text(object.message).split("\n", 1)[0] ?? ""] : []
}

/** The error of a request that restic repeats. */
const repeated = (line: string): ReadonlyArray<string> => {
  const found =
    /^.* returned error, retrying after [^:]*: (.*)$/.exec(line) ?? /^[A-Z][a-z]*\(<.*\) failed: (.*)$/.exec(line)
  return found === null ? [] : [(found[1] ?? "").replace(/^[A-Z][a-z]*: /, "")]
}

/** The error about one file or one part of the repository, after which restic goes on. */
const single = (line: string): ReadonlyArray<string> => {
  const object = json(line)
  if (object === undefined) return /^(ignoring )?error\b/i.test(line) ? [line] : []
  if (object.message_type !== "error") return []
  const { error } = object as { readonly error?: { readonly message?: unknown } }
  return [text(error?.message)]
}

/**
 * Why restic failed, in one line: its error, the last error before it, and the error of the request that it repeated. After a time limit,
 * its own error is only "context canceled".
 */
export const causeOf = ({ code, stderr }: Ended): string => {
  const last = stderr.flatMap(fatal).at(-1)
  const request = stderr.flatMap(repeated).at(-1)
  const own = last?.includes("context canceled") === true ? (request ?? last) : (last ?? request)
  if (own === undefined) {
    return stderr.flatMap(single).at(-1) ?? stderr.at(-1) ?? `restic ended with code ${code} and without a message`
  }
  const others = [stderr.flatMap(single).at(-1), request].filter((other) => other !== undefined && other !== "")
  return others.reduce<string>((whole, other = "") => (whole.includes(other) ? whole : `${whole}; ${other}`), own)
}

/** The files that restic could not read: how many, and the last one. */
export const unreadableOf = ({ stderr, unreadable }: Ended): string =>
  `${unreadable} could not be read, the last: ${stderr.flatMap(single).at(-1) ?? ""}`

/**
 * A line without the path of the file that it is about. The path is a text of the volume's users, and must not be taken for a message of
 * restic: `/data/a/x: open x: permission denied`.
 */
const withoutPath = (line: string): string => {
  const { error, item, message_type } = json(line) ?? {}
  if (message_type !== "error" || typeof item !== "string" || item === "") return line
  const message = text((error as { readonly message?: unknown } | undefined)?.message)
  const rest = message.startsWith(`${item}: `) ? message.slice(item.length + 2) : message
  const [, verb = "", path = ""] = /^(\S+ )([\s\S]*)$/.exec(rest) ?? []
  const parts = item.split("/")
  const named = parts.map((_, index) => parts.slice(index).join("/")).find((end) => end !== "" && path.startsWith(end))
  return named === undefined ? rest : `${verb}${path.slice(named.length)}`
}

const full =
  /no space left on device|disk quota exceeded|quota ?exceeded|insufficient storage|request entity too large|\((413|507)\)/i

/** Whether the destination is full. restic has no exit code for it; these are messages of the storage systems. */
export const isFull = ({ stderr }: Ended): boolean => stderr.some((line) => full.test(withoutPath(line)))

/** The last error of a failed restore about a file that has no room in the target; undefined without one. */
export const fullTargetOf = ({ code, stderr }: Ended): string | undefined =>
  code === 0
    ? undefined
    : stderr
        .filter((line) => json(line)?.during === "restore" && full.test(withoutPath(line)))
        .flatMap(single)
        .at(-1)

/** Whether restic found damage in the repository. It has no exit code for it. */
export const isDamaged = ({ stderr }: Ended): boolean => stderr.some((line) => damage.test(withoutPath(line)))

const damage =
  /could be damaged|repository contains (errors|damaged)|is damaged|ciphertext verification failed|invalid data returned|packs? (from index )?missing|failed finding blobs|<data\/[0-9a-f]+>.*(no such file|does not exist)|data seems to be missing|integrity check failed|unsupported repository version/i

/** Whether restic lacked a permission for files of the repository. */
export const isDenied = ({ stderr }: Ended): boolean => stderr.some((line) => /permission denied/i.test(line))

/** The last JSON object of this type on standard output. */
export const objectOf = ({ stdout }: Ended, type: string): { readonly [field: string]: unknown } | undefined =>
  stdout
    .split("\n")
    .map(json)
    .findLast((object) => object?.message_type === type)
