/** Plain English: finds words and phrases that this project does not use, and sentences that are too long. */

/** A phrase or a sentence that breaks a rule. */
export interface Hit {
  /** The text with its surroundings. */
  readonly found: string
  /** The advice for the writer. */
  readonly advice: string
}

interface Rule {
  readonly pattern: RegExp
  readonly advice: string
}

/** The most words that a sentence may have. */
const longest = 25

const rules: ReadonlyArray<Rule> = [
  { pattern: /\b(told|tells?|telling)\b/i, advice: "report, log, say or show" },
  { pattern: /\bmend(s|ed|ing)?\b/i, advice: "fix" },
  { pattern: /\b(anew|afresh)\b/i, advice: "again" },
  { pattern: /\b(some|any|no|every)body\b/i, advice: "name the person or the component" },
  { pattern: /\b(whoever|whosever)\b/i, advice: "a user who, or any program that" },
  { pattern: /\b(is|are|was|were) (no(?! longer)|none)\b(?<!\bthere (is|are|was|were) (no|none))/i, advice: "is not" },
  { pattern: /\b(no more|not any more)\b(?! than)/i, advice: "no longer" },
  {
    pattern: /\b(all the same|for ever|for want of|nevertheless)\b/i,
    advice: "delete it, or say always, permanently, without"
  },
  { pattern: /\bremember(s|ed|ing)?\b/i, advice: "cache, keep or store" },
  { pattern: /\bstrangers?\b/i, advice: "another owner" },
  { pattern: /\b(he|his|him)\b/i, advice: "the user, they" },
  { pattern: /\b(have|has|having|had) to bear\b|\bbears? being\b/i, advice: "is idempotent" },
  { pattern: /(^|[.:;!?] )(Who|Whom|Of) (?!.*\?$)/, advice: "begin with the actor" },
  { pattern: /(^|[.:;!?] )What (?!.*\?$)(?=.*[.:;]$)/, advice: "name the thing that does it" }
]

/** The hits in a paragraph. Code in backquotes counts as one word. */
export const hits = (paragraph: string): ReadonlyArray<Hit> => {
  const text = paragraph
    .replaceAll(/`[^`]*`/g, "X")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/\s+/g, " ")
    .trim()
  const phrases = rules.flatMap(({ advice, pattern }) => {
    const at = text.search(pattern)
    return at < 0 ? [] : [{ found: text.slice(Math.max(0, at - 40), at + 60), advice }]
  })
  const sentences = text.split(/(?<=[.:;!?]["”*_)]*) /).flatMap((sentence) => {
    const words = sentence.split(" ").filter((word) => /[a-z]/i.test(word)).length
    return words > longest ? [{ found: sentence, advice: `${words} words: write two sentences` }] : []
  })
  return [...phrases, ...sentences]
}

/** The paragraphs, list items, headings and table cells of a Markdown page, without code blocks and HTML comments. */
export const ofPage = (page: string): ReadonlyArray<string> =>
  page
    .replaceAll(/^ *(`{3,}|~{3,})[\s\S]*?^ *\1 *$/gm, "\n")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|#+) )|\n(?=\s*\|)/)
    .flatMap((part) =>
      part.trim().startsWith("|")
        ? part.replaceAll("\\|", "/").split("|")
        : [part.replace(/^\s*(?:[-*>]|\d+\.|#+) /, "")]
    )
    .map((part) => part.trim())
    .filter((part) => part !== "" && !/^[-: ]+$/.test(part))

/** The comments of a module, without indented code and tables. */
export const ofComments = (source: string): ReadonlyArray<string> => {
  const blocks = Array.from(source.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\//gm), ([, text = ""]) =>
    text
      .replaceAll(/\n\s*\* ?/g, "\n")
      .replaceAll(/^( {4}|\|).*$/gm, "")
      .replaceAll(/```[\s\S]*?```/g, "")
      .split(/\n\s*\n|\n(?=@|\s*- )/)
  ).flat()
  const lines = Array.from(source.matchAll(/(?:^[ \t]*\/\/ .*\n?)+/gm), ([text]) => text.replaceAll(/^\s*\/\/ /gm, " "))
  return [...blocks, ...lines].map((text) => text.replaceAll(/\{@link ([^}]*)\}/g, "$1").trim())
}

/** The comments of the TypeScript blocks of a page, such as those of the reference. */
export const ofExamples = (page: string): ReadonlyArray<string> =>
  Array.from(page.matchAll(/^ *```(?:ts|diff)[^\n]*\n([\s\S]*?)^ *```/gm), ([, code = ""]) => ofComments(code)).flat()

/** The comments of YAML and of shell scripts. */
export const ofHashComments = (source: string): ReadonlyArray<string> =>
  Array.from(source.matchAll(/(?:^[ \t]*# .*\n?)+/gm), ([text]) => text.replaceAll(/^\s*# /gm, " ").trim())

/** The strings of a module that consist of three words or more. A value in a template counts as one word. */
export const ofStrings = (source: string): ReadonlyArray<string> => {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "")
  return Array.from(
    code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.|\$\{[^`{}]*\}|\$)*)`/g),
    ([, plain, template]) => (plain ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, "X").replaceAll("\\`", "`")
  ).filter((text) => text.trim().split(/\s+/).length >= 3 && !/=>|\bimport /.test(text))
}

/** Rules for names of tests, in addition to those for other texts. */
const nameRules: ReadonlyArray<Rule> = [
  { pattern: /^(Of|What|Whatever|Where|Who|Whom|Whose)\b/, advice: "begin with the subject" },
  { pattern: /\b(says?|said|saying)\b/i, advice: "report, contain, log or show" }
]

/** The hits in the name of a test. */
export const hitsOfName = (name: string): ReadonlyArray<Hit> => [
  ...hits(name),
  ...nameRules.flatMap(({ advice, pattern }) => (pattern.test(name) ? [{ found: name, advice }] : []))
]

/** A string or a template, in two groups. */
const text = String.raw`(?:"((?:[^"\\\n]|\\.)*)"|\`((?:[^\`\\]|\\.)*)\`)`

/** Tests with cases, tests and groups, and calls of other functions with a name and a body, which may declare tests. */
const tests = [
  new RegExp(String.raw`\]\)\(\s*${text}\s*,`, "g"),
  new RegExp(String.raw`\b(?:describe|test|it|live|effect|scene)(?:\.[a-z]+)?\(\s*${text}\s*,`, "g"),
  new RegExp(String.raw`\b[\w.]+\(\s*${text},\s*(?:\([^()]*\)|\w+) =>`, "g")
]

/** The names of the tests and groups of a module. A value in a template counts as one word. */
export const ofTestNames = (source: string): ReadonlyArray<string> => {
  const names = tests.flatMap((each) =>
    Array.from(source.matchAll(each), ([, plain, template]) =>
      (plain ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, "X")
    )
  )
  return [...new Set(names)]
}
