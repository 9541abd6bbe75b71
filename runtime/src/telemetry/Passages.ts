/**
 * The search for many words in a text in one pass, with the automaton of Aho and Corasick. Its cost in time and memory grows with the
 * characters of the words and of the text, and not with their product.
 */

/** A search for given words. */
export interface Passages {
  /** The text with other texts in place of its passages. Words that overlap are one passage. */
  readonly replaced: (text: string, by: (passage: string) => string) => string
}

/** The code units of a text: a state and a code unit make the key of the next state. */
const units = 0x10000

/** The search for these words. Empty words are ignored. */
export const make = (words: Iterable<string>): Passages => {
  /** The state after a state and a code unit. The states are the beginnings of words; 0 is the empty one. */
  const next = new Map<number, number>()
  /** By state: its longest end that is the beginning of a word too. */
  const shorter = [0]
  /** By state: the length of the longest word that it ends with, or 0. */
  const found = [0]

  const step = (state: number, unit: number): number => {
    for (let from = state; ; from = shorter[from] ?? 0) {
      const to = next.get(from * units + unit)
      if (to !== undefined) return to
      if (from === 0) return 0
    }
  }

  const longestFirst = [...words].sort((one, other) => other.length - one.length)
  const states = longestFirst.map(() => 0)
  // Character by character of all words, so that all shorter beginnings are known.
  for (let at = 0, rest = longestFirst.length; ; at++) {
    while (rest > 0 && (longestFirst[rest - 1]?.length ?? 0) <= at) rest--
    if (rest === 0) break
    for (let index = 0; index < rest; index++) {
      const word = longestFirst[index] ?? ""
      const from = states[index] ?? 0
      const unit = word.charCodeAt(at)
      let to = next.get(from * units + unit)
      if (to === undefined) {
        to = shorter.length
        const end = at === 0 ? 0 : step(shorter[from] ?? 0, unit)
        shorter.push(end)
        found.push(found[end] ?? 0)
        next.set(from * units + unit, to)
      }
      states[index] = to
      if (word.length === at + 1) found[to] = word.length
    }
  }

  return {
    replaced: (text, by) => {
      const starts: Array<number> = []
      const ends: Array<number> = []
      let state = 0
      for (let at = 0; at < text.length; at++) {
        state = step(state, text.charCodeAt(at))
        const length = found[state] ?? 0
        if (length === 0) continue
        let start = at + 1 - length
        while ((ends.at(-1) ?? 0) > start) {
          ends.pop()
          start = Math.min(start, starts.pop() ?? start)
        }
        starts.push(start)
        ends.push(at + 1)
      }
      if (starts.length === 0) return text
      let shown = ""
      let after = 0
      for (const [index, start] of starts.entries()) {
        const end = ends[index] ?? start
        shown += text.slice(after, start) + by(text.slice(start, end))
        after = end
      }
      return shown + text.slice(after)
    }
  }
}
