/** The jobs of a WebApp: programs such as a migration that must succeed before or after a rollout. */
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema).annotate({ description })

const words = Schema.Array(Schema.String.check(Schema.isMaxLength(4096))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(50)
)

const Entry = Schema.Struct({
  name: Schema.String.check(Schema.isMaxLength(63), Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)).annotate({
    description: "The name of the job in this WebApp."
  }),
  command: words.annotate({ description: "The program, in place of that of the WebApp." }),
  args: optional(words, "The arguments of the program."),
  when: optional(
    Schema.Literals(["Before", "After"]),
    "Before, the default: the pods get a new template only after the job has succeeded. After: the job starts when all pods run the new template."
  ),
  timeoutSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 604_800 })),
    "Seconds from the start of the job, its retries included, until it is stopped and fails; 3600 by default."
  ),
  retries: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
    "How often a failed pod of the job is replaced by a new one; 2 by default."
  )
})

/** The field of the spec. */
export const Jobs = Schema.Array(Entry).check(Schema.isMaxLength(10)).pipe(Field.listMap("name"))

/** One job in the spec. */
export type Entry = typeof Entry.Type

/** Whether a job runs before the pods get the template. */
export const isBefore = ({ when }: Entry): boolean => when !== "After"
