/** An unmodified controller-runtime, with envtest and without, on kubemem. The same tests pass on a real control plane. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Console, Effect } from "effect"
import * as Peers from "./Peers.ts"

const cwd = join(Peers.sources, "go")

const tests = [
  "TestTypedClientInProtobuf",
  "TestServerSideApply",
  "TestManagerWithLeaderElection",
  "TestUsersOfCertificates"
]

/** Runs the tests of the program, and returns the names of those that passed. */
const passed = (env: { readonly [name: string]: string }) =>
  Effect.gen(function* () {
    const program = join(Peers.builds, "go.test")
    yield* Peers.run(["go", "test", "-c", "-o", program, "."], { cwd })
    const printed = yield* Peers.run([program, "-test.v", "-test.count=1"], { cwd, env })
    yield* Console.log(`  ${/^envtest is ready in .*/m.exec(printed)}`)
    return [...printed.matchAll(/^--- PASS: (\w+)/gm)].map(([, name]) => name)
  })

// A machine with another control plane in KUBEBUILDER_ASSETS can be without Go.
if (Bun.which("go") !== null) {
  live(
    "envtest of controller-runtime starts kubemem and passes its tests",
    () =>
      Effect.gen(function* () {
        const folder = yield* Directory.make
        const command = yield* Peers.kubemem(folder)
        const printed = yield* Peers.run([...command, "envtest", "--dir", join(folder, "assets")], { cwd: folder })
        expect(yield* passed({ KUBEBUILDER_ASSETS: printed.trim() })).toEqual(tests)
      }),
    Peers.limitMillis
  )

  live(
    "envtest of controller-runtime passes the same tests on a running cluster",
    () =>
      Effect.gen(function* () {
        const env = yield* Peers.cluster(yield* Directory.make)
        // The users of envtest need a control plane that envtest has started.
        expect(yield* passed({ ...env, USE_EXISTING_CLUSTER: "true" })).toEqual(tests.slice(0, -1))
      }),
    Peers.limitMillis
  )

  live(
    "envtest of controller-runtime passes the same tests on a real control plane",
    () =>
      Effect.gen(function* () {
        const assets = join(yield* Assets.find("kube-apiserver"), "..")
        expect(yield* passed({ KUBEBUILDER_ASSETS: assets })).toEqual(tests)
      }),
    Peers.limitMillis
  )
}
