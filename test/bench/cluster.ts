/**
 * `bun test/bench/cluster.ts [objects]` measures the throughput of the embedded API server. 16 clients create ConfigMaps, 10 000 by
 * default, and 20 watches follow them. It measures in memory and over HTTP on the loopback.
 * Server, clients and watches share one thread. It prints one table, for docs/embedded-cluster.md.
 */
import { heapStats } from "bun:jsc"
import { cpus } from "node:os"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Memory from "@homeostat/testkit/Memory"
import { Clock, Effect, type Scope } from "effect"
import * as Load from "../suites/cluster/Load.ts"

const objects = Number(process.argv[2] ?? 10_000)

type Wire = Transport.Transport["Service"]

const inMemory = (server: ApiServer.ApiServer): Effect.Effect<Wire> => Effect.sync(() => Memory.make(server))

const overHttp = (server: ApiServer.ApiServer): Effect.Effect<Wire, Http.ListenFailed, Scope.Scope> =>
  Effect.flatMap(Http.serve(server), ({ url }) => Transport.make(Cluster.make({ server: url })))

/** The size of the heap in bytes after a garbage collection. */
const bytesInUse = Effect.sync(() => {
  Bun.gc(true)
  return heapStats().heapSize
})

const measure = <E>(
  name: string,
  wireOf: (server: ApiServer.ApiServer) => Effect.Effect<Wire, E, Scope.Scope>,
  watchers: number
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const wire = yield* wireOf(server)
      const before = yield* bytesInUse
      const cpu = process.cpuUsage()
      const began = yield* Clock.currentTimeMillis
      const { seen } = yield* Load.run(server, wire, { objects, clients: 16, watchers, changes: false })
      const seconds = ((yield* Clock.currentTimeMillis) - began) / 1000
      const { system, user } = process.cpuUsage(cpu)
      const events = seen.reduce((sum, { events }) => sum + events.length, 0)
      const bytes = watchers === 0 ? ((yield* bytesInUse) - before) / objects : undefined
      return [
        name,
        watchers,
        seconds.toFixed(1),
        rate(objects, seconds),
        rate(events, seconds),
        ((user + system) / 1000 / objects).toFixed(2),
        kibibytes(bytes)
      ]
    })
  )

const rate = (count: number, seconds: number): string => Math.round(count / seconds).toLocaleString("en")

const kibibytes = (bytes: number | undefined): string => (bytes === undefined ? "" : (bytes / 1024).toFixed(1))

const rows = await Effect.runPromise(
  Effect.all([
    measure("memory", inMemory, 0),
    measure("memory", inMemory, 20),
    measure("HTTP", overHttp, 0),
    measure("HTTP", overHttp, 20)
  ])
)

process.stdout.write(
  [
    `${objects} ConfigMaps, 16 clients; ${cpus().length} cores (${cpus()[0]?.model}), Bun ${Bun.version}, ${new Date().toISOString().slice(0, 10)}`,
    "",
    "| way | watchers | seconds | creates/s | events/s | CPU ms per create | KiB per object |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    ""
  ].join("\n")
)
process.exit(0)
