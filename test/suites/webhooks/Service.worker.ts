/** The thread of {@link Load.service}: it forwards connections while the thread of a test is busy. */
import { connect, createServer, type Socket } from "node:net"
import { parentPort } from "node:worker_threads"

let targets: ReadonlyArray<number> = []
let next = 0

/** Ends both sides of a connection together, with the data that one has sent. */
const server = createServer({ allowHalfOpen: true }, (client) => {
  const target = connect({ port: targets[next++ % targets.length] ?? 0, host: "127.0.0.1", allowHalfOpen: true })
  const join = (one: Socket, other: Socket): void => {
    one.on("error", () => other.destroy()).pipe(other)
  }
  join(client, target)
  join(target, client)
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  parentPort?.postMessage(typeof address === "object" ? address?.port : undefined)
})
parentPort?.on("message", (ports: ReadonlyArray<number>) => {
  targets = ports
})
