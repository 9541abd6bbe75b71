/** A sample of the faults. The lane deep tries all. */
import * as Widget from "./Widget.ts"

Widget.test({ faults: ["Crash"] })
