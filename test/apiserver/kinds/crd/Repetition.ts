/** Classifies the repetitions of a regular expression: invalid ones, and ones for which JavaScript may take more than linear time. */

/**
 * `linear`: JavaScript takes linear time for any text. `ambiguous`: JavaScript may take longer, or differ from Go. `invalid`: Go or
 * JavaScript rejects the expression.
 */
export type Repetition = "linear" | "ambiguous" | "invalid"

/** The greatest number of repetitions that Go allows, nested ones multiplied. */
const most = 1000

/** A group, or a single piece of an expression. */
interface Part {
  /** Whether the part can match in more than one way. */
  isVariable: boolean
  /** The greatest number of repetitions in the part, nested ones multiplied. */
  repeats: number
  /** Whether the part can match the empty text. For a group: whether its current alternative can. */
  canBeEmpty: boolean
  /** Whether an earlier alternative of a group can match the empty text. */
  hadEmpty: boolean
}

const group = (): Part => ({ isVariable: false, repeats: 1, canBeEmpty: true, hadEmpty: false })

/**
 * Classifies the pieces of an expression (`RegularExpression`). A linear expression has at most one unlimited repetition, which follows
 * `^` and is not nested. Its other repetitions and alternatives multiply to at most 1000 ways.
 */
export const of = (pieces: ReadonlyArray<string>): Repetition => {
  const open: Array<Part> = [group()]
  let part: Part | undefined
  let operators = ""
  let ways = 1
  let unlimited = 0
  let isNested = false
  let isAnchored = /^(\^|\\A)$/.test(pieces[0] ?? "")
  for (const piece of pieces) {
    const range = rangeOf(piece)
    if (range !== undefined) {
      if (piece === "?" && /^([*+?]|\{\d+(,\d*)?\})$/.test(operators)) {
        operators += piece
        continue
      }
      const [least, greatest] = range
      const count = greatest === Infinity ? least : greatest
      if (operators !== "" || part === undefined || count > most || least > greatest) return "invalid"
      part.repeats *= Math.max(count, 1)
      if (part.repeats > most) return "invalid"
      // JavaScript and Go differ in repetitions of the empty text.
      if (part.canBeEmpty || (part.isVariable && greatest > 1)) isNested = true
      if (greatest === Infinity) unlimited++
      else ways *= greatest - least + 1
      if (greatest !== least) part.isVariable = true
      if (least === 0) part.canBeEmpty = true
      operators = piece
      continue
    }
    operators = ""
    const current = open.at(-1)
    if (part !== undefined && current !== undefined) include(current, part)
    part = undefined
    if (piece === "|") {
      ways *= 2
      if (current !== undefined) {
        current.isVariable = true
        current.hadEmpty ||= current.canBeEmpty
        current.canBeEmpty = true
      }
      if (open.length === 1) isAnchored = false
    } else if (/^\(\?[ims-]+\)$/.test(piece)) {
      if (piece.includes("m")) isAnchored = false
    } else if (piece.startsWith("(")) {
      if (/^\(\?[ims-]*m/.test(piece)) isAnchored = false
      open.push(group())
    } else if (piece === ")" && open.length > 1) {
      part = open.pop()
      if (part?.hadEmpty) part.canBeEmpty = true
    } else if (!/^(\^|\$|\\[bBAz])$/.test(piece)) part = { ...group(), canBeEmpty: false }
  }
  const isLinear = !isNested && ways <= most && (unlimited === 0 || (unlimited === 1 && isAnchored))
  return isLinear ? "linear" : "ambiguous"
}

const include = (group: Part, part: Part): void => {
  if (part.isVariable) group.isVariable = true
  if (!part.canBeEmpty) group.canBeEmpty = false
  group.repeats = Math.max(group.repeats, part.repeats)
}

const rangeOf = (piece: string): readonly [least: number, greatest: number] | undefined => {
  if (piece === "*") return [0, Infinity]
  if (piece === "+") return [1, Infinity]
  if (piece === "?") return [0, 1]
  const [, least, comma, greatest] = /^\{(\d+)(,?)(\d*)\}$/.exec(piece) ?? []
  if (least === undefined) return undefined
  if (greatest !== "") return [Number(least), Number(greatest)]
  return [Number(least), comma === "" ? Number(least) : Infinity]
}
