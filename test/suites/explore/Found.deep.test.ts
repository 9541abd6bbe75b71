import * as Found from "./Found.ts"

Found.test((place) => place % 8 !== 0)
