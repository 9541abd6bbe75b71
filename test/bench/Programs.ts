/**
 * The programs of the bench, built from this tree: the driver and the manager on controller-runtime by Go, the manager on kube-rs by
 * Cargo, Homeostat by its own build. Each of them builds only what has changed. The first build in Go takes four minutes on two cores,
 * the first build in Rust three.
 */
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

const root = join(import.meta.dir, "../..")

/** Where the executables of Go and Rust are kept, outside of the tree. */
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "homeostat", "bench")

/** A program could not be built, or did not do what it was asked; the message ends with what it wrote. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{ readonly message: string }> {}

/** Runs a program to its end and returns what it printed; an exit code other than 0 is a failure. */
export const output = (command: ReadonlyArray<string>): Effect.Effect<string, ProgramFailed> =>
  Effect.gen(function* () {
    const [executable = "", ...args] = command
    const { exitCode, stderr, stdout } = yield* Process.run(executable, args, { env: environment })
    if (exitCode === 0) return stdout
    return yield* new ProgramFailed({ message: `${command.join(" ")} ended with ${exitCode}: ${stdout}${stderr}` })
  })

const environment = {
  ...process.env,
  GOTOOLCHAIN: "local",
  CGO_ENABLED: "0",
  GOFLAGS: "-buildvcs=false",
  // Whoever sets it for tests does not mean the program that is compiled.
  NODE_ENV: undefined
}

const go = (module: string): Effect.Effect<string, ProgramFailed> => {
  const executable = join(folder, module)
  return Effect.zipRight(
    Effect.promise(() => mkdir(folder, { recursive: true })),
    Effect.as(
      output([
        "go",
        "-C",
        join(import.meta.dir, module),
        "build",
        "-trimpath",
        "-ldflags=-s -w",
        "-o",
        executable,
        "."
      ]),
      executable
    )
  )
}

/** The driver that measures. */
export const driver = go("driver")

/** The manager on controller-runtime. */
export const controllerRuntime = go("controller-runtime")

/** The manager on kube-rs. Fails where Rust is not installed, or its packages cannot be had. */
export const kubeRs: Effect.Effect<string, ProgramFailed> = Effect.suspend(() => {
  if (Bun.which("cargo") === null) {
    return Effect.fail(new ProgramFailed({ message: "cargo not found (install Rust 1.89 or newer)" }))
  }
  const target = join(folder, "kube-rs")
  const manifest = join(import.meta.dir, "kube-rs", "Cargo.toml")
  return Effect.as(
    output(["cargo", "build", "--release", "--quiet", "--manifest-path", manifest, "--target-dir", target]),
    join(target, "release", "webapp-kube-rs")
  )
})

/** Homeostat, as `bun run build` makes it. */
export const homeostat = Effect.as(
  output([process.execPath, "run", "--cwd", root, "build"]),
  join(root, "dist", "homeostat")
)

/** The version of a module that the peer is built from. */
export const versionOf = (module: string): Effect.Effect<string> =>
  Effect.promise(() => Bun.file(join(import.meta.dir, "controller-runtime", "go.mod")).text()).pipe(
    Effect.map((text) => text.split("\n").find((line) => line.trim().startsWith(`${module} `)) ?? ""),
    Effect.map((line) => line.trim().slice(module.length + 1))
  )

/** The commit of this tree, or nothing where it is none. */
export const commit: Effect.Effect<string> = output(["git", "-C", root, "describe", "--always", "--dirty"]).pipe(
  Effect.map((text) => text.trim()),
  Effect.orElseSucceed(() => "")
)
