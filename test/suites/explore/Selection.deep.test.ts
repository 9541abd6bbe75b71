/** All faults. */
import * as Explore from "@homeostat/testkit/Explore"
import * as Selection from "./Selection.ts"

Explore.test("an object that enters and leaves a selection survives every fault", Selection.story)
