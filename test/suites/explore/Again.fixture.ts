/** The fixture of Again.deep.test.ts, in which the first test fails. */
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect } from "effect"
import { memories } from "./Memories.ts"
import { type Program, Volume } from "./Mutant.ts"

const mutant = memories.find(({ name }) => name.startsWith("remembers by the name"))
if (mutant === undefined) throw new Error("mutant not found")

for (const [name, program] of Object.entries({ mutant: mutant.mutant, twin: mutant.twin }) satisfies ReadonlyArray<
  readonly [string, Program]
>) {
  Explore.kind(name, Volume, {
    controllers: program(),
    manager: (settings) => Effect.suspend(() => Manager.launch(program(), settings)),
    cluster: { kubelet: false, controllers: ["garbage-collector-controller"] },
    specs: [{ size: 3 }, { size: 5 }]
  })
}
