/** The sequences on which the two servers once disagreed, as dialogues. */
import type { Suite } from "../comparison/Dialogues.ts"
import { subjectOf } from "./Agreement.ts"
import * as Parcel from "./Parcel.ts"
import { regressions as sequences } from "./Regressions.ts"
import * as Step from "./Step.ts"
import * as Subject from "./Subject.ts"

const name = "one"

/** All of them. */
export const regressions: Suite = {
  name: "agreement",
  definitions: [Parcel.definition],
  dialogues: sequences.map((sequence) => {
    const subject = subjectOf(sequence.kind)
    return {
      name: sequence.name,
      reads: Subject.path(subject, "NAMESPACE", name),
      steps: sequence.steps.map(
        (step) =>
          ({ first, live, namespace }) =>
            Step.request(step, { subject, namespace, name, live, first })
      )
    }
  })
}
