/** Objects for kubectl, as YAML or JSON. */
import * as Effect from "effect/Effect"
import * as Flag from "./Flag.ts"
import * as Output from "./Output.ts"

/** The output formats of objects. */
export type Format = "yaml" | "json"

/** `--output`. */
export const flag: Flag.Flag<Format> = Flag.short(
  "o",
  Flag.choice<Format, Format>(
    "output",
    { yaml: "yaml", json: "json" },
    { placeholder: "yaml|json", description: "The output format (default yaml)", otherwise: "yaml" }
  )
)

/** One YAML document for each object. */
export const documents = (objects: ReadonlyArray<object>): Effect.Effect<string> =>
  // Loaded when needed, because a manager that starts does not print YAML.
  Effect.map(
    Effect.promise(() => import("js-yaml")),
    ({ dump }) => objects.map((object) => dump(object, { lineWidth: 120, noRefs: true }).trimEnd()).join("\n---\n")
  )

/** One List with all objects, as kubectl prints it. */
const list = (objects: ReadonlyArray<object>): string =>
  JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }, undefined, 2)

/** Prints objects. */
export const print = (
  objects: ReadonlyArray<object>,
  format: Format
): Effect.Effect<void, Output.NotWritten | Output.NotRead> =>
  Effect.flatMap(format === "json" ? Effect.sync(() => list(objects)) : documents(objects), Output.print)
