/** Dialogues with valid and invalid specs of Backups and Restores. Each dialogue creates an object with dry run. */
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as RuntimeCrd from "@homeostat/runtime/resource/Crd"
import type { Dialogue } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Crd from "./Crd.ts"
import * as Specs from "./Specs.ts"

const dialogue = (name: string, kind: Crd.Kind, specs: ReadonlyArray<Specs.Change>): Dialogue => ({
  name,
  steps: specs.map((spec) => ({
    method: "POST",
    path: `${Crd.pathOf("NAMESPACE", kind)}?fieldValidation=Strict&dryRun=All`,
    body: { apiVersion: "backup.example.com/v1", kind, metadata: { name: "shop" }, spec }
  }))
})

const specOf = ({ spec }: Specs.Bad): Specs.Change => spec

/** The suite of all dialogues. */
export const backup: Suite = {
  name: "backup",
  definitions: [RuntimeCrd.of(Backup), RuntimeCrd.of(Restore)],
  dialogues: [
    dialogue("the server accepts good Backups", "Backup", Specs.goodBackups),
    dialogue("the server refuses bad Backups", "Backup", Specs.badBackups.map(specOf)),
    dialogue("the server accepts good Restores", "Restore", Specs.goodRestores),
    dialogue("the server refuses bad Restores", "Restore", Specs.badRestores.map(specOf))
  ]
}
