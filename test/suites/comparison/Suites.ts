/** The suites with recorded answers of a real control plane. */
import { access } from "../access/Dialogues.ts"
import { accounts } from "../accounts/Dialogues.ts"
import { admission } from "../admission/Dialogues.ts"
import { regressions } from "../agreement/Dialogues.ts"
import { apply } from "../apply/Dialogues.ts"
import { backup } from "../backup/Dialogues.ts"
import { builtin } from "../builtin/Dialogues.ts"
import { conformance } from "../conformance/Dialogues.ts"
import { stories } from "../controllers/Recorded.ts"
import { costs } from "../costs/Dialogues.ts"
import { crd } from "../crd/Dialogues.ts"
import { requests } from "../kubectl/Captured.ts"
import { kubectl } from "../kubectl/Recorded.ts"
import { documents } from "../openapi/Recorded.ts"
import { patch } from "../patch/Dialogues.ts"
import { plugins } from "../plugins/Dialogues.ts"
import * as Dialogues from "./Dialogues.ts"
import type { Recorded } from "./Recording.ts"

/** Suites of dialogues. */
export const dialogues: ReadonlyArray<Dialogues.Suite> = [
  access,
  admission,
  apply,
  backup,
  builtin,
  conformance,
  costs,
  crd,
  patch,
  plugins,
  regressions
]

export const suites: ReadonlyArray<Recorded> = [
  ...[...dialogues, accounts].map(Dialogues.recorded),
  documents,
  kubectl,
  requests,
  stories
]
