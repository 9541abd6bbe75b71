/** Objects as YAML for kubectl. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

/** One document for each object. */
export const documents = (objects: ReadonlyArray<object>): Effect.Effect<string> =>
  // Loaded when needed, because a manager that starts does not print YAML.
  Effect.map(
    Effect.promise(() => import("js-yaml")),
    ({ dump }) => objects.map((object) => dump(object, { lineWidth: 120, noRefs: true }).trimEnd()).join("\n---\n")
  )

/** Prints them. */
export const print = (objects: ReadonlyArray<object>): Effect.Effect<void> =>
  Effect.flatMap(documents(objects), Console.log)
