/** Tests of a replay in a debugger, started as in docs/replay.md, from the sources and from the compiled program. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Port from "@homeostat/testkit/envtest/Port"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Stories from "../explore/Stories.ts"
import * as Recordings from "./Recordings.ts"

const root = join(import.meta.dir, "../../..")

const place = "127.0.0.1:6499/replay"

const commands = {
  sources: "bun --inspect-wait=127.0.0.1:6499/replay controllers/main.ts replay --break --recording recording.json",
  compiled: "dist/homeostat replay --break --recording recording.json"
} as const

/** The variable that the compiled program also needs. */
const variable = `BUN_INSPECT=ws://${place}?wait=1`

/** Returns why the debugger paused, after the first pause at a statement. The session and the process then end. */
const pausedIn = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    let id = 0
    const send = (method: string, params: object = {}): void => {
      id++
      socket.send(JSON.stringify({ id, method, params }))
    }
    socket.onerror = () => reject(new Error(`no debugger at ${url}`))
    socket.onopen = () => {
      send("Inspector.enable")
      send("Debugger.enable")
      send("Debugger.setBreakpointsActive", { active: true })
      send("Debugger.setPauseOnDebuggerStatements", { enabled: true })
      send("Inspector.initialized")
    }
    socket.onmessage = ({ data }) => {
      const { method, params } = JSON.parse(String(data))
      if (method !== "Debugger.paused") return
      send("Debugger.resume")
      resolve(params.reason)
      socket.close()
    }
  })

const connected = (url: string, left = 100): Promise<string> =>
  pausedIn(url).catch((error: unknown) =>
    left === 0 ? Promise.reject(error) : Bun.sleep(100).then(() => connected(url, left - 1))
  )

describe.each(["sources", "compiled"] as const)("A replay under a debugger, from %s", (from) => {
  live(
    "pauses right before the attempt, and then ends as without a debugger",
    () =>
      Effect.gen(function* () {
        const [document] = yield* Recordings.ofStory(Stories.webapp)
        const folder = yield* Directory.make
        const port = yield* Port.free
        yield* Effect.promise(() => writeFile(join(folder, "recording.json"), JSON.stringify(document)))
        const here = (text: string): string => text.replace(":6499", `:${port}`)
        const [program = "", ...words] = here(commands[from]).split(" ")
        const [name = "", ...value] = here(variable).split("=")
        const isCompiled = from === "compiled"
        const path = isCompiled ? yield* Binary.path : program === "bun" ? process.execPath : program
        const child = Bun.spawn(
          [path, ...words.map((word) => (word === "controllers/main.ts" ? join(root, word) : word))],
          {
            cwd: folder,
            env: { ...Binary.bare(folder), ...(isCompiled && { [name]: value.join("=") }) },
            stdio: ["ignore", "pipe", "ignore"]
          }
        )
        yield* Effect.addFinalizer(() => Effect.sync(() => child.kill()))
        expect(yield* Effect.promise(() => connected(`ws://${here(place)}`))).toBe("DebuggerStatement")
        const [code, output] = yield* Effect.promise(() =>
          Promise.all([child.exited, new Response(child.stdout).text()])
        )
        expect(code).toBe(0)
        expect(output).toEndWith("Same as the recording: 16 reads, 3 writes.\n")
      }),
    120_000
  )
})
