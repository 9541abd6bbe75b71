import * as Crowd from "./Crowd.ts"

Crowd.test(50)
