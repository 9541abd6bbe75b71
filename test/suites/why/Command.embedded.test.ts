/** `homeostat why`, the compiled program, with a running manager and with other servers. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Page } from "@homeostat/runtime/manager/why/Page"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Scene from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"

/** A server that responds to every request with this function. */
const answering = (response: (request: Request) => Response) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: response })),
      (server) => Effect.promise(() => server.stop(true))
    ),
    (server) => `http://127.0.0.1:${server.port}`
  )

const why = (home: string, ...args: ReadonlyArray<string>) => Binary.run(["why", ...args], Binary.bare(home))

describe("homeostat why", () => {
  Scene.replicated("prints the answer for an object and its child, as text and as JSON", (cluster, namespace) =>
    Effect.gen(function* () {
      const flags = [`--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--log-format=json"]
      const manager = yield* Binary.start(["run", ...flags], Binary.probed(cluster.directory))
      const line = yield* manager.written(/Serving probes on /)
      const address = `--probe-address=${/ on ([0-9.]+:\d+)/.exec(line)?.[1]}`
      yield* Scene.createApp(namespace)
      const ask = (...args: ReadonlyArray<string>) => why(cluster.directory, address, "-n", namespace, ...args)
      const end = yield* Managed.eventually("that it was reconciled", ask("webapp/shop"), ({ stdout }) =>
        stdout.startsWith(`WebApp ${namespace}/shop was reconciled`)
      )
      expect(end).toMatchObject({ code: 0, stderr: "" })
      expect(end.stdout).toMatch(/\nAttempts {4}\d\d:\d\d:\d\dZ {2}.*created Deployment shop; created Service shop/s)
      expect(end.stdout).toMatch(/\nChildren {4}Deployment shop {2}only by webapp-controller\n/)

      const child = yield* ask("deploy/shop")
      expect(child.stdout).toStartWith(`Deployment ${namespace}/shop is a child of WebApp shop (controller webapp):`)

      const json = yield* ask("WebApps", "shop", "-o", "json")
      // The command prints a page. The test checks its parts one by one.
      const [answer] = (JSON.parse(json.stdout) as Page).answers
      expect(answer).toMatchObject({
        verdict: "reconciled",
        health: "healthy",
        object: { namespace, name: "shop", exists: true }
      })

      // Without a flag, the namespace is that of the context.
      const config = join(yield* Directory.make, "config")
      const text = Kubeconfig.render({ ...cluster.admin, server: cluster.url }).replace(
        /^( +)cluster: envtest\n/m,
        `$&$1namespace: ${namespace}\n`
      )
      yield* Effect.promise(() => writeFile(config, text))
      const here = yield* why(cluster.directory, address, "webapp/shop", `--kubeconfig=${config}`)
      expect(here.stdout).toStartWith(`WebApp ${namespace}/shop was reconciled`)
      const elsewhere = yield* why(cluster.directory, address, "webapp/shop")
      expect(elsewhere).toMatchObject({
        code: 4,
        stdout: expect.stringContaining("WebApp default/shop does not exist")
      })

      expect(yield* ask("dog/rex")).toMatchObject({
        code: 2,
        stdout: "",
        stderr: `homeostat: no controller here reconciles a kind "dog", but WebApp (webapps.apps.kubedojo.io), Backup (backups.backup.example.com) and Restore (restores.backup.example.com)\n`
      })
      expect(yield* ask("dog/rex", "-o=json")).toMatchObject({
        code: 2,
        stderr: `homeostat: no controller here reconciles a kind "dog", but WebApp (webapps.apps.kubedojo.io), Backup (backups.backup.example.com) and Restore (restores.backup.example.com)\n`
      })
    })
  )

  live("without a connection fails with exit code 1, the reason and advice", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const forward = "kubectl -n homeostat-system port-forward deployment/homeostat 8081"
      const nobody = yield* why(home, "webapp/shop", "--probe-address=127.0.0.1:1")
      expect(nobody).toMatchObject({
        code: 1,
        stdout: "",
        stderr: `homeostat: cannot reach the manager at http://127.0.0.1:1: connection refused (if it runs in a cluster, forward its port first: ${forward})\n`
      })
      const guarded = yield* answering(({ headers }) =>
        headers.get("authorization") === "Bearer secret"
          ? new Response("All is well.\n")
          : new Response("/why takes a token of the cluster\n", { status: 401 })
      )
      expect(yield* why(home, "webapp/shop", "--probe-address", guarded)).toMatchObject({
        code: 1,
        stderr: `homeostat: ${guarded} rejected the request: /why takes a token of the cluster (use --token-file FILE, or forward its port: ${forward})\n`
      })
      const token = join(home, "token")
      yield* Effect.promise(() => writeFile(token, "secret\n"))
      expect(yield* why(home, "webapp/shop", "--probe-address", guarded, "--token-file", token)).toMatchObject({
        code: 0,
        stdout: "All is well.\n"
      })
      expect(yield* why(home, "webapp/shop", "--probe-address", guarded, "--token-file", `${home}/none`)).toMatchObject(
        {
          code: 1,
          stderr: `homeostat: --token-file: ${home}/none does not exist\n`
        }
      )
      const other = yield* answering(() => new Response("no such page", { status: 404 }))
      expect(yield* why(home, "webapp/shop", "--probe-address", other)).toMatchObject({
        code: 1,
        stderr: `homeostat: ${other} has no /why endpoint: the manager may still be starting, may be an older version, or may be a different program\n`
      })
    })
  )

  live("uses no proxy for its own machine", () =>
    Effect.gen(function* () {
      const proxy = yield* answering(() => new Response("a proxy"))
      const manager = yield* answering(() => new Response("a manager"))
      const environment = { ...Binary.bare(yield* Directory.make), HTTP_PROXY: proxy, http_proxy: proxy }
      const end = yield* Binary.run(["why", "webapp/shop", "--probe-address", manager], environment)
      expect(end.stdout).toBe("a manager\n")
    })
  )

  live("rejects an invalid question with exit code 2 and one line", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, line: string]> = [
        [[], "an object is required: KIND/NAME, such as webapp/shop"],
        [["shop"], `invalid object: "shop" (must be KIND/NAME, such as webapp/shop)`],
        [["webapp", "shop", "cart"], `unexpected argument: "cart"`],
        [["webapp/shop", "-n", "A b"], `--namespace: invalid namespace: "A b"`],
        [["webapp/shop", "-o", "yaml"], `--output: invalid value: "yaml" (must be one of text, json)`],
        [["webapp/shop", "--probe-address", "http://a/b"], `--probe-address: invalid manager address: "http://a/b"`]
      ]
      for (const [args, line] of cases) {
        const end = yield* why(home, ...args)
        expect(end).toMatchObject({ code: 2, stdout: "" })
        expect(end.stderr).toStartWith(`homeostat: ${line}`)
        expect(end.stderr.trimEnd()).not.toContain("\n")
      }
      expect((yield* why(home, "--help")).stdout).toContain("Usage:\n  homeostat why KIND/NAME [flags]\n\n")
    })
  )
})
