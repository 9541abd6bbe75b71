/** Values in YAML, as kubectl reads them. A file of a plan has the same ones. */

/** The text in YAML, and its value. `*list` is `{a: 1, b: 2}`. */
export const scalars: ReadonlyArray<readonly [text: string, value: unknown]> = [
  ["010", 8],
  ["0400", 256],
  ["-010", -8],
  ["089", 89],
  ["010.5", 10.5],
  ["0o17", 15],
  ["0O17", 15],
  ["0o89", "0o89"],
  ["0x1F", 31],
  ["-0x1F", -31],
  ["0X1F", 31],
  ["0x", "0x"],
  ["0b101", 5],
  ["-0", 0],
  ["+12", 12],
  ["1_000", 1000],
  ["1_000.5", 1000.5],
  ["_1", "_1"],
  ["1e3", 1000],
  [".5", 0.5],
  ["1e400", "1e400"],
  ["12:30:45", "12:30:45"],
  ["2026-01-01", "2026-01-01"],
  ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"],
  ["yes", true],
  ["Off", false],
  ["y", true],
  ["N", false],
  ["True", true],
  ["~", null],
  ["NULL", null],
  ['"010"', "010"],
  ["'yes'", "yes"],
  ["!!str 010", "010"],
  ["!!bool yes", true],
  ["{<<: *list, b: 3}", { a: 1, b: 3 }],
  ["{<<: [*list, {c: 4}], a: 9}", { a: 9, b: 2, c: 4 }],
  ['{"<<": *list}', { "<<": { a: 1, b: 2 } }]
]

/** An object with the values, in YAML. */
export const text = [
  "apiVersion: v1",
  "kind: ConfigMap",
  "metadata: {name: scalars, namespace: default}",
  "list: &list {a: 1, b: 2}",
  "values:",
  ...scalars.map(([text]) => `- ${text}`)
].join("\n")
