/**
 * Movers whose restic is slowed down, held or changed: a few lines of shell stand before it on the PATH. What they do is for the
 * test to say while it runs, by files in the scene's folder.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type * as Program from "@homeostat/testkit/kubelet/Program"

/** A change to a mover's program, for `Scene.Options`. */
export type Change = (program: Program.Program, directory: string) => Program.Program

/**
 * Has these lines run before each restic: they see its arguments in `$@`, may change them, and end in it unless they do something
 * else. `$SCENE` is the scene's folder.
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
 * Has restic save at two MiB a second while there is a file `slow` in the scene's folder. A pack that it is writing into a folder it
 * writes to its end whatever it is told, so they are small.
 */
export const slow: Change = before(
  `case " $* " in *" backup "*) [ ! -e "$SCENE/slow" ] || set -- --limit-upload 2048 --pack-size 4 "$@" ;; esac`
)

/** As containers have it: what is written into a lock as the host is the name of the pod, which nobody else ever has. */
export const inContainer: Change = (program) => (invocation) => {
  const { args, env, executable, ...others } = program(invocation)
  return {
    ...others,
    executable: "unshare",
    args: ["--uts", "--map-root-user", "sh", "-c", 'hostname "$HOSTNAME" && exec "$@"', "sh", executable, ...args],
    env
  }
}

/** Root, as tests may be run, without the right to read what its modes forbid. */
export const withoutPrivilege: Change = (program) => (invocation) => {
  const { args, executable, ...others } = program(invocation)
  const dropped = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
  return process.getuid?.() === 0
    ? { ...others, executable: "setpriv", args: [...dropped, executable, ...args] }
    : { ...others, executable, args }
}

/** With other variables than the Job gives. */
export const variables =
  (changes: { readonly [name: string]: string }): Change =>
  (program) =>
  (invocation) => {
    const made = program(invocation)
    return { ...made, env: { ...made.env, ...changes } }
  }

/** One change after the other. */
export const all =
  (...changes: ReadonlyArray<Change>): Change =>
  (program, directory) =>
    changes.reduce((changed, change) => change(changed, directory), program)
