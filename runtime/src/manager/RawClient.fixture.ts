/** A client that sends bytes to a port and sees what comes back, whether they are HTTP or not. */
import { expect } from "bun:test"
import { connect } from "node:net"
import * as Effect from "effect/Effect"

/** A connection that has sent a text: the text that it has received, and whether it is closed. */
export const connected = (
  place: { readonly host: string; readonly port: number; readonly localAddress?: string },
  text: string
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const state = { text: "", closed: false }
      const socket = connect(place, () => void socket.write(text))
      socket.on("data", (data) => {
        state.text += data
      })
      socket.on("error", () => {})
      socket.on("close", () => {
        state.closed = true
      })
      return { socket, state }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Waits on the real clock, at most 2.5 seconds. */
export const passes = (holds: () => boolean) =>
  Effect.promise(async () => {
    for (let at = 0; at < 500 && !holds(); at++) await Bun.sleep(5)
    expect(holds()).toBe(true)
  })
