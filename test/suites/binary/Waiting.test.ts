/** The program before it is ready: it answers probes and ends on a signal, whatever it waits for. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import * as Port from "@homeostat/testkit/envtest/Port"
import { live } from "@homeostat/testkit/Test"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Endpoint from "./Endpoint.ts"

/** The HTTP status for a request, or no response. */
type Answers = (path: string, method: string) => number | "silence"

/** A server that answers each request with an empty object and this status, or never. */
const serving = (answers: Answers) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          hostname: Port.host,
          port: 0,
          idleTimeout: 0,
          fetch: ({ method, url }) => {
            const answer = answers(new URL(url).pathname, method)
            return answer === "silence" ? new Promise<Response>(() => {}) : Response.json({}, { status: answer })
          }
        })
      ),
      (server) => Effect.promise(() => server.stop(true))
    ),
    (server) => `http://${Port.host}:${server.port}`
  )

const kubeconfigOf = (home: string, server: string) => {
  const path = join(home, "kubeconfig")
  const text = Kubeconfig.render({ server, ca: undefined, user: "somebody", token: "secret" })
  return Effect.as(
    Effect.promise(() => writeFile(path, text)),
    path
  )
}

/** Creates a named pipe without a writer, whose reader blocks. */
const fifo = (home: string) =>
  Effect.sync(() => {
    const path = join(home, "fifo")
    Bun.spawnSync(["mkfifo", path])
    return path
  })

/** A kubeconfig of a server that answers `/version` with 200, and other requests as `answers` decides. */
const silentServer = (answers: Answers) => (home: string) =>
  Effect.flatMap(
    serving((path, method) => (path === "/version" ? 200 : answers(path, method))),
    (server) => kubeconfigOf(home, server)
  )

const silent = silentServer(() => "silence")

describe("A waiting program is alive, reports on /readyz what it waits for, and ends with exit code 0 after SIGTERM:", () => {
  const cases: ReadonlyArray<{
    readonly name: string
    readonly kubeconfig: (home: string) => Effect.Effect<string, never, Scope.Scope>
    readonly flags?: ReadonlyArray<string>
    /** A readiness check, and the reason of its failure. */
    readonly check: string
    readonly reason: RegExp
  }> = [
    {
      name: "for its kubeconfig",
      kubeconfig: fifo,
      check: "kubeconfig",
      reason: /^the cluster's settings are not read yet$/
    },
    {
      name: "for a server that is down",
      kubeconfig: (home) => Effect.flatMap(Port.free, (port) => kubeconfigOf(home, `https://${Port.host}:${port}`)),
      check: "api-server",
      reason: /^https:\/\/127\.0\.0\.1:\d+ has not answered yet$/
    },
    {
      name: "for a server that does not answer requests",
      kubeconfig: (home) =>
        Effect.flatMap(
          serving(() => "silence"),
          (server) => kubeconfigOf(home, server)
        ),
      check: "api-server",
      reason: /^http:\/\/127\.0\.0\.1:\d+ has not answered yet$/
    },
    {
      name: "for its CustomResourceDefinition to be applied",
      kubeconfig: silent,
      flags: ["--install-crds"],
      check: "crds",
      reason: /^the CustomResourceDefinitions are not applied yet$/
    },
    {
      name: "for the first list of a kind",
      kubeconfig: silent,
      check: "cache-webapps.apps.kubedojo.io",
      reason: /sync|complete|list/
    },
    {
      name: "for a right",
      kubeconfig: silentServer(() => 403),
      check: "cache-webapps.apps.kubedojo.io",
      reason: /^cannot list webapps\.apps\.kubedojo\.io .*: requires permission to list and watch webapps/
    },
    {
      name: "for a word about the Lease",
      kubeconfig: silent,
      flags: ["--leader-elect", "--leader-elect-resource-namespace=default"],
      check: "cache-webapps.apps.kubedojo.io",
      reason: /sync|complete|list/
    }
  ]
  for (const { check, flags = [], kubeconfig, name, reason } of cases) {
    live(name, () =>
      Effect.gen(function* () {
        const home = yield* Directory.make
        const path = yield* kubeconfig(home)
        const program = yield* Binary.start(["run", "--kubeconfig", path, ...flags], Binary.probed(home))
        const { body } = yield* Managed.eventually(
          "the check",
          Endpoint.get(program, `/readyz/${check}`),
          ({ body, status }) => status === 500 && reason.test(body.trimEnd())
        )
        expect(body.trimEnd()).not.toContain("\n")
        expect(yield* Endpoint.get(program, "/readyz")).toMatchObject({
          status: 500,
          body: expect.stringContaining(`[-]${check} failed: ${body.trimEnd()}`)
        })
        expect(yield* Endpoint.get(program, "/healthz")).toEqual({ status: 200, body: "ok\n" })
        yield* program.signal("SIGTERM")
        const end = yield* program.ended("10 seconds")
        expect(end).toMatchObject({ code: 0, stdout: "" })
        expect(end.stderr.trimEnd().split("\n").at(-1)).toContain(`"msg":"Stopped"`)
      })
    )
  }
})

describe("A server that does not answer", () => {
  live("is waited for, and logged once", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const port = yield* Port.free
      const path = yield* kubeconfigOf(home, `https://${Port.host}:${port}`)
      const flags = ["--kubeconfig", path, "--leader-elect", "--leader-elect-resource-namespace=default"]
      const program = yield* Binary.start(["run", ...flags], Binary.probed(home))
      yield* program.written(/does not answer, waiting for it: connection refused/)
      const asked = Endpoint.metric(program, "rest_client_requests_total")
      yield* Managed.eventually("that the program asks again", asked, (count) => count >= 4)
      yield* program.signal("SIGINT")
      const { stderr } = yield* program.ended("10 seconds")
      expect(stderr.match(/waiting for it/g)).toHaveLength(1)
      expect(stderr.match(/"level":"(warn|error)"/g)).toHaveLength(1)
    })
  )
})

describe("A verb that waits for a server ends on a signal with the exit code of shells and a line:", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143]
  ] as const) {
    for (const verb of ["plan", "replay"] as const) {
      live(`${verb}, on ${signal}`, () =>
        Effect.gen(function* () {
          const home = yield* Directory.make
          let requests = 0
          const server = yield* serving((path) => {
            if (path === "/version") return 200
            requests++
            return "silence"
          })
          const words =
            verb === "plan"
              ? ["--controllers=webapp", "--kubeconfig", yield* kubeconfigOf(home, server)]
              : [`--probe-address=${server}`]
          const program = yield* Binary.start([verb, ...words], Binary.bare(home))
          yield* Managed.eventually(
            "a request",
            Effect.sync(() => requests),
            (count) => count > 0
          )
          yield* program.signal(signal)
          const end = yield* program.ended("10 seconds")
          expect(end).toMatchObject({ code, stdout: "", stderr: `homeostat: ended by a signal (${signal})\n` })
        })
      )
    }
  }
})

describe("/healthz", () => {
  live("is answered before the kubeconfig is read", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const program = yield* Binary.start(["run", "--kubeconfig", yield* fifo(home)], Binary.probed(home))
      expect((yield* Endpoint.get(program, "/healthz")).status).toBe(200)
    })
  )
})
