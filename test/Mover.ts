/** The mover as it is in its image, for a node without a container runtime: the script, run by this machine's shell. */
import { dirname, join } from "node:path"
import * as Program from "@homeostat/testkit/kubelet/Program"

/** The image, without its tag. */
export const image = "homeostat-mover"

/** The script that it is made of. */
export const script = join(import.meta.dirname, "../controllers/backup/mover/mover.sh")

/** Where a mover has its volumes. */
export const mounts: ReadonlyArray<string> = ["/data", "/repository", "/cache", "/tmp", "/tls", "/credentials"]

/** Paths in a volume, and not in the container: they stay as they are where a mount has the same name. */
const ofVolumes: ReadonlyArray<string> = ["EXCLUDES", "RESTORE_PATHS"]

/**
 * The program of the image, with restic before all other programs.
 *
 * @param restic the path of restic, which has to be called so
 */
export const program = (restic: string, path = script): Program.Program => {
  const command = Program.command(["sh", path], mounts)
  return (invocation) => {
    const made = command(invocation)
    const kept = Object.entries(invocation.env).filter(([name]) => ofVolumes.includes(name))
    const PATH = `${dirname(restic)}:${process.env.PATH ?? ""}`
    return { ...made, env: { ...made.env, ...Object.fromEntries(kept), PATH } }
  }
}
