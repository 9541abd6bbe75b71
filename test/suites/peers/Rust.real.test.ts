/** An unmodified kube-rs on kubemem. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Peers from "./Peers.ts"

// The machine needs Rust 1.89 or newer. CI turns the test off if the packages of crates.io are not available.
if (Bun.which("cargo") !== null && process.env.HOMEOSTAT_RUST !== "off") {
  live(
    "kube-rs works on kubemem",
    () =>
      Effect.gen(function* () {
        const folder = yield* Directory.make
        const target = join(Peers.builds, "rust")
        const manifest = join(Peers.sources, "rust/Cargo.toml")
        const build = ["cargo", "build", "--quiet", "--manifest-path", manifest, "--target-dir", target]
        yield* Peers.run(build, { cwd: folder })
        const env = yield* Peers.cluster(folder)
        expect(yield* Peers.run([join(target, "debug/peer")], { cwd: folder, env })).toBe("passed\n")
      }),
    Peers.limitMillis
  )
}
