/**
 * `bun test/order.ts` records the functions that a start of the program uses. The build puts their bytecode together, so a manager at
 * rest has fewer pages of the program in memory.
 * Functions that changed after the recording come last.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as User from "@homeostat/testkit/envtest/User"
import { Effect } from "effect"
import * as Compilation from "../deploy/build/Compilation.ts"
import * as Binary from "./suites/binary/Binary.ts"
import * as Endpoint from "./suites/binary/Endpoint.ts"
import * as Managed from "./suites/Managed.ts"

/** Starts the program, waits until it is ready and has checked its permissions, and stops it. */
const start = (
  kubeconfig: string,
  home: string,
  flags: ReadonlyArray<string>,
  more: { readonly [name: string]: string }
) =>
  Effect.gen(function* () {
    const args = [
      "run",
      "--kubeconfig",
      kubeconfig,
      "--leader-elect",
      "--leader-elect-resource-namespace=default",
      ...flags
    ]
    const program = yield* Binary.start(args, { ...Binary.probed(home), ...more })
    yield* program.written(/Starting controller /)
    yield* Managed.eventually("that it is ready", Endpoint.get(program, "/readyz"), ({ status }) => status === 200)
    yield* Effect.sleep("2 seconds")
    yield* program.signal("SIGTERM")
    yield* program.ended("20 seconds")
  }).pipe(Effect.scoped)

const folder = await mkdtemp(join(tmpdir(), "homeostat-order-"))
const recording = join(folder, "order")
await Effect.runPromise(
  Effect.gen(function* () {
    const directory = yield* Directory.make
    const { serve } = yield* EmbeddedCluster.make()
    const { kubeconfigPath } = yield* User.make(directory, { server: yield* serve(), ca: undefined, user: "you" }, [])
    yield* start(kubeconfigPath, directory, ["--install-crds"], {})
    yield* start(kubeconfigPath, directory, ["--metrics-secure"], { BUN_BYTECODE_ORDER_OUT: recording })
  }).pipe(Effect.scoped)
)
// The other lines, for constants and strings, are ten times as many. Their order has no further effect.
const lines = (await readFile(recording, "utf8")).split("\n").filter((line) => /^(v|F )/.test(line))
await writeFile(Compilation.order, `${lines.join("\n")}\n`)
await rm(folder, { recursive: true })
process.stdout.write(`recorded ${lines.length - 1} functions\n`)
process.exit(0)
