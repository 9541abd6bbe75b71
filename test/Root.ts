/**
 * The image as a machine without a container runtime can have it: a root file system that holds the program and the files of the C
 * library that it is linked to, no shell and nothing else, and the command that runs the program in it.
 *
 * That runs it as a cluster does under the restricted profile: its root is read-only, user and group are 65532, it has no capabilities
 * and gets no new privileges, and processes and mounts of its own, as process 1; the network is the machine's. To this machine, all
 * files that it writes belong to the user of the tests.
 */
import { copyFile, mkdir, realpath } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import { Data, Effect } from "effect"

/** It can't be made; the message says what to do. */
export class NoRoot extends Data.TaggedError("NoRoot")<{ readonly message: string }> {}

/** A root file system. */
export interface Root {
  readonly folder: string
  /** The program, as it is called inside. */
  readonly program: string
  /** All files in it, as they are called inside, sorted. */
  readonly files: ReadonlyArray<string>
}

/** A folder or file of this machine that the program sees; read-only where it doesn't say otherwise. */
export interface Mount {
  readonly from: string
  readonly to: string
  readonly writable?: boolean | undefined
}

/** The user and group of the program: `nonroot` of the distroless images. */
export const user = 65532

/** What the dynamic linker would load, by path. */
const librariesOf = (program: string): Effect.Effect<ReadonlyArray<string>, NoRoot> =>
  Effect.flatMap(Process.run("ldd", [program]), ({ exitCode, stderr, stdout }) => {
    if (exitCode !== 0) return new NoRoot({ message: `ldd does not know what ${program} needs: ${stderr}${stdout}` })
    const lacking = /^\s*(\S+) => not found/m.exec(stdout)?.[1]
    if (lacking !== undefined) return new NoRoot({ message: `${program} needs ${lacking}, which is not here` })
    return Effect.succeed([...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path))
  })

/** Makes the root of a program below a folder, which is to be empty. */
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
        // What a link leads to, under the link's name.
        await copyFile(await realpath(from), join(folder, to))
      }
    })
    return { folder, program: inside, files: [...files.keys()].sort() }
  })

/**
 * bubblewrap keeps a process outside that takes no signals on to the one inside, its only child, as a container runtime does:
 * without a word the one inside is killed when the one outside ends.
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
 * The command that runs a program in a root; by default the root's own. Signals reach it, and its exit code is the command's. It
 * has the environment that the command is given.
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

/** What is mounted where every pod with a ServiceAccount has its token and the authority of the API server. */
export const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

/**
 * The image of a root, for a kubelet. As in a container, the program sees nothing of this machine but the pod's volumes, under
 * their own paths.
 *
 * @param mounts where the container has volumes, which are read-only
 * @param writable and where it has those that it can write to
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
