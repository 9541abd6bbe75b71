import * as Shipped from "./Shipped.ts"
import { restoreStory } from "./Stories.ts"

Shipped.test("Restore", restoreStory)
