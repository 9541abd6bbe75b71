/** Every eighth schedule. The others are in the lane deep. */
import * as Found from "./Found.ts"

Found.test((place) => place % 8 === 0)
