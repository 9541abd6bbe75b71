import * as Children from "./Children.ts"

Children.test({})
