/** `homeostat writes`, the compiled program, with a running manager. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Lease } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Scene from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"

/** The commands of `docs/operations.md`. */
const stop =
  "homeostat writes stop --for=1h --reason=restore-of-etcd --leader-elect-resource-namespace=homeostat-system"
const resume = "homeostat writes resume --leader-elect-resource-namespace=homeostat-system"

Scene.replicated(
  "The command writes stops all writes of a manager for a time, and resumes them",
  (cluster, namespace) =>
    Effect.gen(function* () {
      const kubeconfig = `--kubeconfig=${cluster.admin.kubeconfigPath}`
      const lease = `--leader-elect-resource-namespace=${namespace}`
      const run = (...args: ReadonlyArray<string>) => Binary.run(args, Binary.bare(cluster.directory))
      const writes = (...args: ReadonlyArray<string>) => run("writes", ...args, kubeconfig, lease)
      const documented = (command: string) =>
        run(...command.replace("homeostat-system", namespace).split(" ").slice(1), kubeconfig)
      expect(yield* writes("stop")).toMatchObject({
        code: 1,
        stderr: `homeostat: no Lease ${namespace}/homeostat (name it with --leader-elect-resource-namespace and --leader-elect-resource-name; without --leader-elect, scale the manager to 0)\n`
      })

      const flags = [kubeconfig, `--namespace=${namespace}`, "--leader-elect-resource-name=homeostat", lease]
      const manager = yield* Binary.start(
        ["run", "--leader-elect", "--log-format=json", ...flags],
        Binary.probed(cluster.directory)
      )
      const probes = `http://${/ on ([0-9.]+:\d+)/.exec(yield* manager.written(/Serving probes on /))?.[1]}`
      yield* manager.written(/Leading, with the Lease/)
      yield* Scene.createApp(namespace)
      const replicas = Scene.replicasOf(namespace).pipe(Effect.catchTag("NotFound", () => Effect.succeed(undefined)))
      yield* Managed.eventually("the Deployment", replicas, (count) => count === 1)

      const stopped = yield* documented(stop)
      const words = String.raw`All writes are stopped until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: restore-of-etcd`
      expect(stopped.stdout).toMatch(
        new RegExp(`^${words} \\(Lease ${namespace}/homeostat; its managers follow within seconds\\)\n$`)
      )
      yield* manager.written(new RegExp(`${words} \\(annotation of the Lease`))
      yield* Client.patch(WebApp, { namespace, name: "shop" }, Patch.merge({ spec: { replicas: 3 } }))
      const page = Effect.promise(() => fetch(`${probes}/readyz?verbose`).then((answer) => answer.text()))
      expect(yield* page).toMatch(new RegExp(`\\[\\+\\]leader-election ok: ${words}\n`))
      const why = run("why", "webapp/shop", "-n", namespace, `--probe-address=${probes}`)
      expect((yield* why).stdout).toMatch(
        new RegExp(`^WebApp ${namespace}/shop waits: ${words}\\. Its reconcile goes on in (59m|1h)`)
      )
      expect((yield* writes("show")).stdout).toMatch(new RegExp(`^${words} `))
      const renewed = Effect.map(Client.get(Lease, { namespace, name: "homeostat" }), ({ spec }) => spec?.renewTime)
      const before = yield* renewed
      yield* Managed.eventually("a renewal", renewed, (time) => time !== before)
      expect(yield* replicas).toBe(1)

      expect((yield* documented(resume)).stdout).toMatch(/^Writes are permitted \(Lease .*\/homeostat, held by .+\)\n$/)
      yield* Managed.eventually("the change", replicas, (count) => count === 3)

      for (const [args, message] of [
        [["halt"], 'invalid action: "halt" (must be one of stop, resume, show)'],
        [[], 'invalid action: "" (must be one of stop, resume, show)'],
        [["stop", "--for=25h"], "--for: too long: 1d 1h (must be at most 1d)"]
      ] as const) {
        expect(yield* writes(...args)).toMatchObject({ code: 2, stderr: `homeostat: ${message}\n` })
      }
    })
)
