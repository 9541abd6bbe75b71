/** Dialogues of the sequences on which the two servers once differed. */
import type { Suite } from "../comparison/Dialogues.ts"
import * as Agreement from "./Agreement.ts"
import * as Parcel from "./Parcel.ts"
import { regressions as sequences } from "./Regressions.ts"

export const regressions: Suite = {
  name: "agreement",
  definitions: [Parcel.definition],
  dialogues: sequences.map((sequence) => Agreement.dialogue(sequence, sequence.name))
}
