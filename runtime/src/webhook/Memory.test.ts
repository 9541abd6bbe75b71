/** The memory of the webhook server while a client without credentials sends as much as it can. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"

/** The memory that all clients together may take, in MiB. */
const most = 330

const mega = 2 ** 20
const head = "POST /answer HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
const ofLength = (body: string): string => `${head}content-length: ${body.length}\r\n\r\n${body}`

/** The first bytes of a connection, and those that it sends over and over. */
const attacks: ReadonlyArray<readonly [what: string, first: string, more?: Buffer]> = [
  ["large bodies", ofLength("[".repeat(3 * mega))],
  ["the begin of large bodies", ofLength(" ".repeat(7 * mega)).slice(0, mega)],
  ["many values", ofLength(`[${"1,".repeat(mega)}1]`)],
  ["a second body before an answer", `${ofLength("{}")}${head}content-length: 4000000000\r\n\r\n`, Buffer.alloc(mega)],
  [
    "bodies for an unknown path",
    `${head.replace("answer", "x")}content-length: 4000000000\r\n\r\n`,
    Buffer.alloc(mega)
  ],
  ["chunks without an end", `${head}transfer-encoding: chunked\r\n\r\nfffffff\r\n`, Buffer.alloc(mega)],
  ["headers without an end", `${head}x: `, Buffer.alloc(mega, "a")]
]

const start = async () => {
  const server = Bun.spawn([process.execPath, join(import.meta.dir, "Server.fixture.ts")], { stdout: "pipe" })
  const { value } = await server.stdout.getReader().read()
  const read = (): number => {
    const [, kilo] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8")) ?? []
    return Number(kilo) / 1024
  }
  return { port: Number(new TextDecoder().decode(value)), peak: read, stop: () => server.kill() }
}

/** Opens a connection, and another one as soon as it closes. */
const attack = (port: number, first: string, more: Buffer | undefined, until: number): void => {
  if (Date.now() >= until) return
  const send = (socket: TLSSocket): void => {
    while (more !== undefined && Date.now() < until && !socket.destroyed && socket.write(more));
  }
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
    socket.write(first)
    send(socket)
  })
  socket.on("drain", () => send(socket))
  socket.on("data", () => {})
  socket.on("error", () => {})
  socket.on("close", () => setTimeout(() => attack(port, first, more, until), 50))
  setTimeout(() => socket.destroy(), Math.max(1, until - Date.now()))
}

/** Attacks a new server, and returns the memory that it took for that, in MiB. It answers afterwards. */
const cost = async (first: string, more: Buffer | undefined): Promise<number> => {
  const server = await start()
  try {
    const before = server.peak()
    const until = Date.now() + 4000
    for (let at = 0; at < 200; at++) attack(server.port, first, more, until)
    await Bun.sleep(until - Date.now() + 200)
    const taken = server.peak() - before
    const { status } = await fetch(`https://127.0.0.1:${server.port}/answer`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
      tls: { rejectUnauthorized: false }
    })
    expect(status).toBe(200)
    return taken
  } finally {
    server.stop()
  }
}

describe("the webhook server", () => {
  for (const [what, first, more] of attacks) {
    test(`takes at most ${most} MiB for 200 clients that send ${what}, and then answers`, async () => {
      const taken = await cost(first, more)
      // Bun frees the chunks of closed sockets late in about one of eight runs. An unbounded port fails in each run.
      expect(taken < most ? taken : await cost(first, more)).toBeLessThan(most)
    }, 40_000)
  }
})
