/** Explores a WebApp that gets and loses an autoscaler, a budget and a NetworkPolicy. */
import * as Explore from "@homeostat/testkit/Explore"
import { webappWithAutoscaler } from "./Stories.ts"

Explore.test("the autoscaler of a WebApp survives every fault", webappWithAutoscaler, {
  faults: ["Crash", "LostAnswer", "Refused"]
})
