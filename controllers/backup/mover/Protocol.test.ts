import { expect, test } from "bun:test"
import * as Protocol from "./Protocol.ts"

for (const [args, protocol] of [
  [[Protocol.operation, "preflight", "backup"], Protocol.number],
  [["protocol-3", "preflight"], 3],
  [["preflight", "backup"], 1],
  [["preflight", "protocol-3"], 1],
  [["protocol-x"], 1],
  [[], 1]
] as const) {
  test(`The arguments "${args.join(" ")}" ask for protocol ${protocol}`, () => expect(Protocol.of(args)).toBe(protocol))
}
