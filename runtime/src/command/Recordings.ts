/** The flags for the recordings of a manager, which `replay` runs again. */
import * as Result from "effect/Result"
import * as Ring from "../manager/recordings/Ring.ts"
import * as Flag from "./Flag.ts"

/** Parses a number of recordings. Failure: a message with the accepted numbers. */
export const countOf = (text: string): Result.Result<number, string> =>
  /^(0|[1-9]\d{0,3})$/.test(text)
    ? Result.succeed(Number(text))
    : Result.fail(`invalid number of recordings: "${text}" (must be from 0 to 9999)`)

const units: { readonly [unit: string]: number } = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }

/** Parses a size such as `8Mi` to bytes. Failure: a message with the accepted format. */
export const bytesOf = (text: string): Result.Result<number, string> => {
  const [, amount, unit = ""] = /^([1-9]\d{0,3})(Ki|Mi|Gi)$/.exec(text) ?? []
  return amount === undefined
    ? Result.fail(`invalid size: "${text}" (write it like 512Ki or 8Mi)`)
    : Result.succeed(Number(amount) * (units[unit] ?? 1))
}

/** The flags. */
export const flags = {
  recordings: Flag.parsed("recordings", {
    placeholder: "N",
    description: `Attempts to keep for replay, or 0 for none (default ${Ring.usual.count})`,
    parse: countOf,
    otherwise: Ring.usual.count
  }),
  recordingsMemory: Flag.parsed("recordings-memory", {
    placeholder: "SIZE",
    description: "The most memory of these attempts (default 8Mi)",
    parse: bytesOf,
    otherwise: Ring.usual.bytes
  })
} as const

/** The bounds of the recordings. */
export const boundsOf = ({ recordings, recordingsMemory }: Flag.Values<typeof flags>): Ring.Options => ({
  count: recordings,
  bytes: recordingsMemory
})
