/** A sample of the faults. The lane deep tries all. */
import * as Children from "./Children.ts"

Children.test({ faults: ["Crash"] })
