import * as Pairs from "./Pairs.ts"

Pairs.test(60)
