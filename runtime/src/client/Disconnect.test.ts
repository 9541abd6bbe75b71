import { expect, test } from "bun:test"
import * as Disconnect from "./Disconnect.ts"

const request = { method: "POST", path: "/x" }

test("An error with an unknown code has Bun's words without its advice", () => {
  const message =
    'Some fetching "https://a/x". For more information, pass `verbose: true` in the second argument to fetch()'
  const error = Disconnect.fromThrown(request, "https://a", Object.assign(new Error(message), { code: "Some" }))
  expect(error).toMatchObject({ outcome: "unknown", reason: 'Some fetching "https://a/x"' })
})

test("A request that the server refuses with GOAWAY was not processed", () => {
  const code = "HTTP2RefusedStream"
  const error = Disconnect.fromThrown(request, "https://a", Object.assign(new Error(code), { code }))
  expect(error).toMatchObject({
    outcome: "unsent",
    message: `POST /x: the server closes the connection, and has not processed the request (https://a, ${code})`
  })
})
