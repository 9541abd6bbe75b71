/**
 * The programs of this machine that replace images. The kubelet works without a container runtime: it runs a pod whose image is mapped to
 * a program as child processes.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"

/** A container to start, with its variables and paths resolved. */
export interface Invocation {
  /** The `command` of the container with `$(NAME)` expanded; empty: the command of the image. */
  readonly command: ReadonlyArray<string>
  readonly args: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
  /**
   * The folder that replaces `/` of the container. Its volumes are mounted there: `/data` is `<root>/data`. A program that does not read
   * this folder from its environment uses `/` of the machine.
   */
  readonly root: string
  /** The address of this machine that stands for the address of the pod. A program listens on it only, and is probed there. */
  readonly host: string
  /** The file that replaces `terminationMessagePath`. */
  readonly terminationLog: string
}

/** The process to start for a container. */
export interface Command {
  readonly executable: string
  readonly args: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
  /** Default: the root of the container. */
  readonly workingDirectory?: string | undefined
}

/** Returns the process to start for a container of an image. */
export type Program = (invocation: Invocation) => Command

/** The programs by image. A name with a tag matches that tag only; a name without a tag matches all tags. */
export type Images = { readonly [image: string]: Program }

/**
 * Runs the command of the container, or else `entrypoint`. If an argument of the container or a variable begins with a path in `mounts`,
 * the path moves into the root of the container.
 */
export const command =
  (entrypoint: ReadonlyArray<string>, mounts: ReadonlyArray<string> = []): Program =>
  ({ args, command, env, root, terminationLog }) => {
    const moved = (value: string): string =>
      value === "/dev/termination-log"
        ? terminationLog
        : mounts.some((mount) => value === mount || value.startsWith(`${mount}/`))
          ? root + value
          : value
    // The entrypoint is a program of this machine, so its path stays unchanged.
    const [executable = "true", ...rest] = command.length > 0 ? command.map(moved) : entrypoint
    return {
      executable,
      args: [...rest, ...args.map(moved)],
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, moved(value)]))
    }
  }

/** Returns the program of an image; undefined if the image has no program. */
export const find = (images: Images, image: string): Program | undefined =>
  [image, image.replace(/@sha256:.*$/, "").replace(/:[^/:]*$/, "")]
    .map((name) => (Object.hasOwn(images, name) ? images[name] : undefined))
    .find((program) => program !== undefined)

/** Whether at least one container of a pod has an image with a program. */
export const isIn = (images: Images, { spec }: Pod): boolean =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some(
    ({ image = "" }) => find(images, image) !== undefined
  )
