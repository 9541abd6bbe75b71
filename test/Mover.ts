/** The mover as in its image, for a node without a container runtime: the program from its sources, run by this Bun. */
import { dirname, join } from "node:path"
import * as Program from "@homeostat/testkit/kubelet/Program"

/** The image, without its tag. */
export const image = "homeostat-mover"

/** The command of the image. */
export const command: readonly [string, ...ReadonlyArray<string>] = [
  process.execPath,
  "--conditions=homeostat-source",
  join(import.meta.dirname, "../controllers/main.ts"),
  "mover"
]

/** Where a mover has its volumes. */
export const mounts: ReadonlyArray<string> = ["/data", "/repository", "/cache", "/tmp", "/tls", "/credentials"]

/** Paths in a volume, and not in the container: they stay as they are where a mount has the same name. */
const ofVolumes: ReadonlyArray<string> = ["EXCLUDES", "RESTORE_PATHS"]

/**
 * The program of the image, with restic before all other programs.
 *
 * @param restic the path of restic, which has to be called so
 */
export const program = (restic: string): Program.Program => {
  const made = Program.command(command, mounts)
  return (invocation) => {
    const started = made(invocation)
    const kept = Object.entries(invocation.env).filter(([name]) => ofVolumes.includes(name))
    const PATH = `${dirname(restic)}:${process.env.PATH ?? ""}`
    return { ...started, env: { ...started.env, ...Object.fromEntries(kept), PATH } }
  }
}
