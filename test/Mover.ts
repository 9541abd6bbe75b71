/** The mover for a node without a container runtime. It runs from its sources with this Bun. */
import { dirname, join } from "node:path"
import * as Program from "@homeostat/testkit/kubelet/Program"

/** The name of the image, without its tag. */
export const image = "homeostat-mover"

/** The command of the image. */
export const command: readonly [string, ...ReadonlyArray<string>] = [
  process.execPath,
  "--conditions=homeostat-source",
  join(import.meta.dirname, "../controllers/main.ts"),
  "mover"
]

/** The paths at which a mover mounts its volumes. */
export const mounts: ReadonlyArray<string> = ["/data", "/repository", "/cache", "/tmp", "/tls", "/credentials"]

/** These variables have paths within a volume. They stay unchanged, even if a mount has the same name. */
const ofVolumes: ReadonlyArray<string> = ["EXCLUDES", "RESTORE_PATHS"]

/**
 * Returns the program of the image. Its PATH starts with restic's folder.
 *
 * @param restic the path of restic, whose file name has to be `restic`
 * @param of the command of the image, of this version or another one
 */
export const program = (restic: string, of = command): Program.Program => {
  const made = Program.command(of, mounts)
  return (invocation) => {
    const started = made(invocation)
    const kept = Object.entries(invocation.env).filter(([name]) => ofVolumes.includes(name))
    const PATH = `${dirname(restic)}:${process.env.PATH ?? ""}`
    return { ...started, env: { ...started.env, ...Object.fromEntries(kept), PATH } }
  }
}
