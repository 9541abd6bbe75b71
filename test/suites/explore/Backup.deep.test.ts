import * as Shipped from "./Shipped.ts"
import { backupStory } from "./Stories.ts"

Shipped.test("Backup", backupStory)
