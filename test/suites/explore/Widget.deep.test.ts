import * as Widget from "./Widget.ts"

Widget.test({})
