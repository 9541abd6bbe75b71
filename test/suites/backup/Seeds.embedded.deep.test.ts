import * as Seeds from "./Seeds.ts"

Seeds.test(Array.from({ length: 47 }, (_, index) => index + 4))
