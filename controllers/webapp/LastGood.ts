/** The fields of a WebApp for rollbacks: the policy in its spec, and the last good rollout in its status. */
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

/** The reaction to a rollout that misses its progress deadline. */
export const Policy = Schema.Literals(["None", "Auto"])

/** The last rollout that was complete. */
export const LastGood = Schema.Struct({
  generation: Schema.Natural.pipe(Field.format("int64")).annotate({
    description: "The metadata.generation of the WebApp."
  }),
  image: Schema.String.annotate({ description: "The image of its container." }),
  time: Schema.String.pipe(Field.format("date-time")).annotate({ description: "When its rollout was complete." })
})
