/** Many Backups that are due at once. Queue.test.ts has fewer. */
import * as Slots from "./Slots.ts"

Slots.test(50)
