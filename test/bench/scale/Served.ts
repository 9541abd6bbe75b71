/** Starts the API server in memory of `Server.ts` in a process of its own. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

/** The answer of `/state`. */
export interface State {
  /** The number of WebApps. */
  readonly webapps: number
  /** The WebApps whose children or status are not as their spec asks. */
  readonly wrong: ReadonlyArray<string>
  readonly revision: number
  readonly sent: number
  readonly expired: ReadonlyArray<string>
  readonly refused: number
}

/** Returns a free port of the loopback interface. */
export const freePort = (): number => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
  server.stop(true)
  return server.port
}

/**
 * Starts the server of a tree, and writes its kubeconfig into the folder. `ask` sends a command to the server, such as `/state`. Kill
 * `child` to stop the server.
 */
export const start = async (folder: string, tree: string) => {
  const child = Bun.spawn([process.execPath, join(tree, "test/bench/scale/Server.ts")], {
    stdout: "pipe",
    stderr: "inherit"
  })
  const { value } = await child.stdout.getReader().read()
  const { control, server } = JSON.parse(new TextDecoder().decode(value))
  const kubeconfig = join(folder, "kubeconfig")
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "scale", cluster: { server } }],
      users: [{ name: "scale", user: {} }],
      contexts: [{ name: "scale", context: { cluster: "scale", user: "scale" } }],
      "current-context": "scale"
    })
  )
  return {
    child,
    kubeconfig,
    ask: async (path: string): Promise<State> =>
      (await (await fetch(`${control}${path}`, { method: "POST" })).json()) as State
  }
}
