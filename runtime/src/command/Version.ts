/** `version`: the version and the build of the program. */
import type * as Build from "./Build.ts"
import * as Flag from "./Flag.ts"
import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"

/** As text: the name and the version in the first line, then the details of the build. */
export const text = ({ build, name, version }: Build.Built): string =>
  [
    `${name} ${version}`,
    ...(build === undefined
      ? []
      : Object.entries({ ...build, settings: build.settings.join(", ") }).flatMap(([what, value]) =>
          value === undefined ? [] : [`${`${what}:`.padEnd(10)}${value}`]
        ))
  ].join("\n")

/** The same as a JSON object. */
export const json = ({ build, name, version }: Build.Built): string => JSON.stringify({ name, version, ...build })

/** The verb. */
export const verb = (program: Build.Built) =>
  Verb.make("version", {
    description: "Print the version, and how the program was built",
    usesFiles: false,
    flags: {
      write: Flag.short(
        "o",
        Flag.choice(
          "output",
          { text, json },
          { placeholder: "text|json", description: "The output format (default text)", otherwise: text }
        )
      )
    },
    examples: [
      ["Print the version and the build.", "version"],
      ["Print them for a script.", "version -o json"]
    ],
    run: ({ write }) => Output.print(write(program))
  })
