/**
 * The image for a machine without a container runtime: a root file system, and the command that runs the program in it.
 * The root has only the program and the files of the C library that it needs. It has no shell.
 *
 * The command runs the program as a cluster does under the restricted profile. The root is read-only, and user and group are 65532. The
 * program has no capabilities and gets no new privileges. It has its own processes and mounts, and is process 1. It uses the machine's
 * network.
 * On this machine, the files that it writes belong to the user of the tests.
 */
import { copyFile, mkdir, realpath } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import { Data, Effect } from "effect"

/** The root file system cannot be made. The message names the next step. */
export class NoRoot extends Data.TaggedError("NoRoot")<{ readonly message: string }> {}

/** A root file system. */
export interface Root {
  readonly folder: string
  /** The path of the program in the root. */
  readonly program: string
  /** The paths of all files in the root, sorted. */
  readonly files: ReadonlyArray<string>
}

/** A folder or file of this machine that the program sees. Default: read-only. */
export interface Mount {
  readonly from: string
  readonly to: string
  readonly writable?: boolean | undefined
}

/** The user and group of the program: `nonroot` of the distroless images. */
export const user = 65532

/** The paths of the libraries that the dynamic linker would load. Fails if a library is missing. */
const librariesOf = (program: string): Effect.Effect<ReadonlyArray<string>, NoRoot> =>
  Effect.flatMap(Process.run("ldd", [program]), ({ exitCode, stderr, stdout }) => {
    if (exitCode !== 0) return new NoRoot({ message: `ldd does not know what ${program} needs: ${stderr}${stdout}` })
    const lacking = /^\s*(\S+) => not found/m.exec(stdout)?.[1]
    if (lacking !== undefined) return new NoRoot({ message: `${program} needs ${lacking}, which is not here` })
    return Effect.succeed([...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path))
  })

/** Makes the root of a program in an empty folder. Fails without bubblewrap, or if a library is missing. */
export const prepare = (folder: string, program: string): Effect.Effect<Root, NoRoot> =>
  Effect.gen(function* () {
    const tool = yield* Process.run("bwrap", ["--version"])
    if (tool.exitCode !== 0) {
      return yield* new NoRoot({ message: "bubblewrap is needed: apt-get install bubblewrap" })
    }
    const inside = `/usr/local/bin/${basename(program)}`
    const files = new Map((yield* librariesOf(program)).map((path) => [path, path]))
    files.set(inside, program)
    yield* Effect.promise(async () => {
      for (const [to, from] of files) {
        await mkdir(join(folder, dirname(to)), { recursive: true })
        // The content of the link's target, under the link's name.
        await copyFile(await realpath(from), join(folder, to))
      }
    })
    return { folder, program: inside, files: [...files.keys()].sort() }
  })

/**
 * bubblewrap keeps a process outside, whose only child is the process inside. The outer process does not forward signals. It kills the
 * inner process when it ends itself. This script forwards signals, as a container runtime does.
 */
const forwarding = `bwrap "$@" &
outside=$!
forward() {
  read -r inside <"/proc/$outside/task/$outside/children"
  [ -z "$inside" ] || kill -s "$1" "$inside"
}
trap 'forward TERM' TERM
trap 'forward INT' INT
while wait "$outside"; code=$?; kill -s 0 "$outside" 2>/dev/null; do :; done
exit "$code"`

/**
 * Returns the command that runs a program in a root. Default: the root's own program.
 * Signals reach the program, and its exit code is that of the command. The program has the environment of the command.
 */
export const command = (
  root: Root,
  args: ReadonlyArray<string>,
  options: { readonly mounts?: ReadonlyArray<Mount> | undefined; readonly program?: string | undefined } = {}
): readonly [executable: string, ...args: ReadonlyArray<string>] => {
  const tops = new Set(root.files.map((path) => `/${path.split("/")[1]}`))
  return [
    ...["sh", "-c", forwarding, "sh"],
    ...["--unshare-user", "--uid", String(user), "--gid", String(user), "--cap-drop", "ALL"],
    ...["--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...[...tops].flatMap((top) => ["--ro-bind", join(root.folder, top), top]),
    ...(options.mounts ?? []).flatMap(({ from, to, writable }) => [writable ? "--bind" : "--ro-bind", from, to]),
    ...["--remount-ro", "/", "--chdir", "/", "--", options.program ?? root.program],
    ...args
  ] as const
}

/** The mount path of the ServiceAccount token and of the API server's CA certificate in every pod with a ServiceAccount. */
export const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

/**
 * Returns the image of a root, for a kubelet. As in a container, the program sees only the pod's volumes of this machine, under their own
 * paths.
 *
 * @param mounts the mount paths of the read-only volumes
 * @param writable the mount paths of the writable volumes
 */
export const image =
  (
    root: Root,
    mounts: ReadonlyArray<string> = [serviceAccount],
    writable: ReadonlyArray<string> = []
  ): Program.Program =>
  ({ args, command: words, env, root: volumes, terminationLog }) => {
    const [program, ...rest] = words
    const [executable, ...all] = command(root, [...rest, ...args], {
      program,
      mounts: [
        ...mounts.map((to) => ({ from: join(volumes, to), to })),
        ...writable.map((to) => ({ from: join(volumes, to), to, writable: true })),
        { from: terminationLog, to: "/dev/termination-log", writable: true }
      ]
    })
    return { executable, args: all, env }
  }
