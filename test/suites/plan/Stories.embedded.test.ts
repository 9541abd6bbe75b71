import * as Stories from "./Stories.ts"

Stories.test(4)
