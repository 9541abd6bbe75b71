import * as Mutants from "./Mutants.ts"

Mutants.test((place) => place % 12 !== 0)
