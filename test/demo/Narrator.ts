/**
 * Writes the story: a line for each event, with the seconds since the start and the actor.
 * A terminal also shows the current state of the objects below the lines. A pipe gets the lines only.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The actor of a line. */
export type Who = "cluster" | "manager" | "you" | "webapp" | "backup" | "restore" | "event" | "pod"

/** Writes the lines of the story. */
export interface Narrator {
  /** Writes a line with the time and the actor. */
  readonly report: (who: Who, text: string) => Effect.Effect<void>
  /** Writes the heading of a new part. */
  readonly part: (title: string) => Effect.Effect<void>
  /** Sets the current state of an object; undefined removes the object. Only terminals show it. */
  readonly show: (object: string, state: string | undefined) => Effect.Effect<void>
  /** Writes lines without a time and an actor. */
  readonly write: (lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** Removes the shown objects and writes lines without a time and an actor. */
  readonly end: (lines: ReadonlyArray<string>) => Effect.Effect<void>
}

const colors: { readonly [who in Who]: number } = {
  cluster: 90,
  manager: 35,
  you: 33,
  webapp: 36,
  backup: 36,
  restore: 36,
  event: 32,
  pod: 90
}

/** A narrator that writes to standard output. `live` is for a terminal that understands escape sequences and is `columns` wide. */
export const make = (options: {
  readonly live: boolean
  readonly columns: number
  readonly write: (text: string) => void
}): Effect.Effect<Narrator> =>
  Effect.gen(function* () {
    const { columns, live, write } = options
    const began = yield* Clock.currentTimeMillis
    const objects = new Map<string, string>()
    let drawn = 0
    const paint = (code: number, text: string): string => (live ? `\x1b[${code}m${text}\x1b[0m` : text)
    const erase = (): string => (drawn === 0 ? "" : `\x1b[${drawn}A\x1b[J`)
    const drawing = (): string => {
      const lines = [...objects].sort(([one], [other]) => one.localeCompare(other))
      const shown = lines.map(([object, state]) => `  ${object.padEnd(34)} ${state}`.slice(0, columns - 1))
      drawn = shown.length === 0 ? 0 : shown.length + 1
      return shown.length === 0 ? "" : `\n${shown.map((line) => paint(2, line)).join("\n")}\n`
    }
    const line = (text: string) => Effect.sync(() => write(live ? `${erase()}${text}\n${drawing()}` : `${text}\n`))
    return {
      report: (who, text) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const at = `${((now - began) / 1000).toFixed(1)}s`.padStart(6)
          return line(`${paint(90, at)}  ${paint(colors[who], who.padEnd(8))} ${text}`)
        }),
      write: (lines) => line(lines.join("\n")),
      part: (title) => line(`\n${paint(1, title)}`),
      show: (object, state) =>
        Effect.suspend(() => {
          if (!live || objects.get(object) === state) return Effect.void
          if (state === undefined) objects.delete(object)
          else objects.set(object, state)
          return Effect.sync(() => write(`${erase()}${drawing()}`))
        }),
      end: (lines) =>
        Effect.sync(() => {
          if (live) write(erase())
          drawn = 0
          objects.clear()
          write(`\n${lines.join("\n")}\n`)
        })
    }
  })

/** Runs an effect, and then writes the text with the milliseconds that the effect took. */
export const timed =
  (narrator: Narrator) =>
  <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const value = yield* effect
      yield* narrator.report("manager", `${what} after ${(yield* Clock.currentTimeMillis) - began} ms`)
      return value
    })
