/** A sample of the seeds. The others are in the lane deep. */
import * as Seeds from "./Seeds.ts"

Seeds.test([1, 2, 3])
