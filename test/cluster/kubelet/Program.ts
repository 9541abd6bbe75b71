/**
 * What stands in for an image: a program of this machine. There is no container runtime, so a pod whose image is mapped to one
 * runs as child processes of the kubelet.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"

/** A container about to start, everything resolved. */
export interface Invocation {
  /** The container's `command`, `$(NAME)` expanded; empty: the image's own. */
  readonly command: ReadonlyArray<string>
  readonly args: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
  /**
   * The folder that stands for the container's `/`: its volumes are mounted in it, `/data` as `<root>/data`. A program that is
   * not told so by its environment sees the machine's own `/`.
   */
  readonly root: string
  /** The file that stands for `terminationMessagePath`. */
  readonly terminationLog: string
}

/** What is started for it. */
export interface Command {
  readonly executable: string
  readonly args: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
  /** Default: the container's root. */
  readonly workingDirectory?: string | undefined
}

/** The program of an image. */
export type Program = (invocation: Invocation) => Command

/** The programs by image: of one that is named with a tag, or of all tags where it is named without. */
export type Images = { readonly [image: string]: Program }

/**
 * Runs the container's own command, or else `entrypoint`, with paths under `mounts` moved into the container's root wherever an
 * argument of the container or a variable begins with one.
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
    // The entrypoint is a program of this machine, wherever that is.
    const [executable = "true", ...rest] = command.length > 0 ? command.map(moved) : entrypoint
    return {
      executable,
      args: [...rest, ...args.map(moved)],
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, moved(value)]))
    }
  }

/** The program of an image, if there is one. */
export const find = (images: Images, image: string): Program | undefined =>
  [image, image.replace(/@sha256:.*$/, "").replace(/:[^/:]*$/, "")]
    .map((name) => (Object.hasOwn(images, name) ? images[name] : undefined))
    .find((program) => program !== undefined)

/** Whether the image of a container of a pod has a program. */
export const isIn = (images: Images, { spec }: Pod): boolean =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some(
    ({ image = "" }) => find(images, image) !== undefined
  )
