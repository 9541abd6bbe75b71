/** No crash and no lost answer lets a job of a WebApp run twice, or not at all. */
import * as Explore from "@homeostat/testkit/Explore"
import { webappWithJobs } from "./Stories.ts"

Explore.test("the jobs of a WebApp survive a crash between any two writes", webappWithJobs, {
  faults: ["Crash", "LostAnswer"]
})
