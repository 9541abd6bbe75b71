import * as Found from "./Found.ts"

Found.test((place) => place % 4 !== 0)
