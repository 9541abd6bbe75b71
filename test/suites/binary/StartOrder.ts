/** The functions that a start of the program uses, as the compiled program records them. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as User from "@homeostat/testkit/envtest/User"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Endpoint from "./Endpoint.ts"

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

/** Returns the lines of an order that name functions, with its version first. */
export const linesOf = (order: string): ReadonlyArray<string> =>
  // The other lines, for constants and strings, are ten times as many. Their order has no further effect.
  order.split("\n").filter((line) => /^(v|F )/.test(line))

/** Starts the program in an embedded cluster, and returns the functions that it used. */
export const record = Effect.gen(function* () {
  const directory = yield* Directory.make
  const recording = join(directory, "order")
  const { serve } = yield* EmbeddedCluster.make()
  const { kubeconfigPath } = yield* User.make(directory, { server: yield* serve(), ca: undefined, user: "you" }, [])
  yield* start(kubeconfigPath, directory, ["--install-crds"], {})
  yield* start(kubeconfigPath, directory, ["--metrics-secure"], { BUN_BYTECODE_ORDER_OUT: recording })
  return linesOf(yield* Effect.promise(() => readFile(recording, "utf8")))
}).pipe(Effect.scoped)
