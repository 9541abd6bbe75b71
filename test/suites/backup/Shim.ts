/**
 * Movers with a slow, blocked or changed restic: lines of shell run before restic on the PATH. While a mover runs, the test controls these
 * lines by files in the scene's folder.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type * as Program from "@homeostat/testkit/kubelet/Program"

/** A change to a mover's program, for `Scene.Options`. */
export type Change = (program: Program.Program, directory: string) => Program.Program

/**
 * Runs these shell lines before each restic. The lines find restic's arguments in `$@` and may change them. Unless the lines exit first,
 * restic runs after them. `$SCENE` is the scene's folder.
 */
export const before =
  (script: string): Change =>
  (program, directory) => {
    const folder = join(directory, "shim")
    mkdirSync(folder, { recursive: true })
    const lines = ["#!/bin/sh", `SCENE='${directory}'`, script, `PATH=\${PATH#*:}`, 'exec restic "$@"', ""]
    writeFileSync(join(folder, "restic"), lines.join("\n"), { mode: 0o755 })
    return (invocation) => {
      const made = program(invocation)
      return { ...made, env: { ...made.env, PATH: `${folder}:${made.env.PATH ?? ""}` } }
    }
  }

/**
 * Limits restic to two MiB per second while the scene's folder contains the file `slow`. restic finishes writing an open pack into a folder
 * even after a signal, so the packs are small.
 */
export const slow: Change = before(
  `case " $* " in *" backup "*) [ ! -e "$SCENE/slow" ] || set -- --limit-upload 2048 --pack-size 4 "$@" ;; esac`
)

/** Sets the pod's name as the host name, as in a container: restic writes a host name into its locks that no other process has. */
export const inContainer: Change = (program) => (invocation) => {
  const { args, env, executable, ...others } = program(invocation)
  return {
    ...others,
    executable: "unshare",
    args: ["--uts", "--map-root-user", "sh", "-c", 'hostname "$HOSTNAME" && exec "$@"', "sh", executable, ...args],
    env
  }
}

/** If root runs the tests, drops the capabilities that bypass file modes. */
export const withoutPrivilege: Change = (program) => (invocation) => {
  const { args, executable, ...others } = program(invocation)
  const dropped = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
  return process.getuid?.() === 0
    ? { ...others, executable: "setpriv", args: [...dropped, executable, ...args] }
    : { ...others, executable, args }
}

/** Adds environment variables to those of the Job, or overrides them. */
export const variables =
  (changes: { readonly [name: string]: string }): Change =>
  (program) =>
  (invocation) => {
    const made = program(invocation)
    return { ...made, env: { ...made.env, ...changes } }
  }

/** Combines changes, one after the other. */
export const all =
  (...changes: ReadonlyArray<Change>): Change =>
  (program, directory) =>
    changes.reduce((changed, change) => change(changed, directory), program)
