import * as Shipped from "./Shipped.ts"
import { webapp } from "./Stories.ts"

Shipped.test("WebApp", webapp)
