/**
 * The requests of each connection, one after the other. An API server waits for an answer before its next request. Another client
 * could write thousands of requests at once.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** The function that answers a request. */
type Handler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Passes a request to the handler as soon as the response before it on the same connection has left. One request waits; the connection
 * closes at a further one.
 */
export const make = (handler: Handler): Handler => {
  /** The connections with a response that has not left, and what comes after it. */
  const busy = new WeakMap<Duplex, { next: (() => void) | undefined }>()
  const handle: Handler = (request, response) => {
    const { socket } = request
    // Bun parses the rest of what it has read from a closed connection.
    if (socket.destroyed) return
    const turn = busy.get(socket)
    if (turn !== undefined) {
      if (turn.next === undefined) turn.next = () => handle(request, response)
      else socket.destroy()
      return
    }
    const begun = { next: undefined as (() => void) | undefined }
    busy.set(socket, begun)
    const end = (): void => {
      if (busy.get(socket) !== begun) return
      busy.delete(socket)
      begun.next?.()
    }
    handler(request, response)
    // After the handler's own listeners, which see the end of this request before the begin of the next one.
    response.on("finish", end)
    response.on("close", end)
  }
  return handle
}
