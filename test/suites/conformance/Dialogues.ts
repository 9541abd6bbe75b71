/** Requests about WebApps as dialogues. */
import * as J from "@homeostat/testkit/server/Json"
import type { Part } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Kinds from "./Kinds.ts"
import * as Malformed from "./Malformed.ts"
import * as Reads from "./Reads.ts"
import * as WebApps from "./WebApps.ts"
import * as Writes from "./Writes.ts"

const dialogues = [...Writes.dialogues, ...Kinds.dialogues, ...Reads.dialogues, ...Malformed.dialogues]

/** A list without its resourceVersion, which writes of other dialogues raise. */
const compared: Part = (_, body) => {
  if (J.at(body, "items") === undefined && J.at(body, "rows") === undefined) return body
  const { resourceVersion, ...metadata } = J.object(J.at(body, "metadata"))
  return { ...J.object(body), metadata: { ...metadata, hasRevision: resourceVersion !== undefined } }
}

export const conformance: Suite = {
  name: "conformance",
  definitions: [WebApps.definition],
  dialogues: dialogues.map((dialogue) => ({ ...dialogue, compared }))
}
