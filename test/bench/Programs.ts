/**
 * Builds the programs of the bench from this tree. Go builds the driver and the manager on controller-runtime. Cargo builds the manager
 * on kube-rs. `bun run build` builds Homeostat.
 * Each build is incremental. The first build in Go takes four minutes on two cores, and the first build in Rust three.
 */
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

const root = join(import.meta.dir, "../..")

/** The folder of the executables in Go and Rust. It is outside of the tree. */
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "homeostat", "bench")

/** A build or a program failed. The message ends with the output. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{ readonly message: string }> {}

/** Runs a program to its end and returns its standard output. Fails for any exit code except 0. */
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
  // NODE_ENV of a test run must not affect the compiled program.
  NODE_ENV: undefined
}

const go = (module: string): Effect.Effect<string, ProgramFailed> => {
  const executable = join(folder, module)
  return Effect.andThen(
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

/** Builds the driver that measures. Returns the path. */
export const driver = go("driver")

/** Builds the manager on controller-runtime. Returns the path. */
export const controllerRuntime = go("controller-runtime")

/** Builds the manager on kube-rs. Returns the path. Fails if Rust is not installed or the packages are not available. */
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

/** Builds Homeostat with `bun run build`. Returns the path. */
export const homeostat = Effect.as(
  output([process.execPath, "run", "--cwd", root, "build"]),
  join(root, "dist", "homeostat")
)

/** The version of a Go module in the manager on controller-runtime; empty if the manager does not use it. */
export const versionOf = (module: string): Effect.Effect<string> =>
  Effect.promise(() => Bun.file(join(import.meta.dir, "controller-runtime", "go.mod")).text()).pipe(
    Effect.map((text) => text.split("\n").find((line) => line.trim().startsWith(`${module} `)) ?? ""),
    Effect.map((line) => line.trim().slice(module.length + 1))
  )

/** The commit of this tree; empty if the tree is not a git repository. */
export const commit: Effect.Effect<string> = output(["git", "-C", root, "describe", "--always", "--dirty"]).pipe(
  Effect.map((text) => text.trim()),
  Effect.orElseSucceed(() => "")
)
