/** Tests of `homeostat plan` in the compiled program, with the kubeconfig of a user. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Document } from "@homeostat/runtime/plan/Document"
import { ClusterRole, ClusterRoleBinding, Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Scene from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"

const planner = (cluster: ControlPlane, namespace: string, kubeconfig = cluster.admin.kubeconfigPath) => {
  const flags = [`--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`, "--controllers=webapp"]
  return (...args: ReadonlyArray<string>) => Binary.run(["plan", ...flags, ...args], Binary.bare(cluster.directory))
}

/** Runs the manager until the WebApps are Running, and stops it. */
const managed = (cluster: ControlPlane, namespace: string) =>
  Effect.gen(function* () {
    const flags = [`--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--controllers=webapp"]
    const manager = yield* Binary.start(["run", ...flags], Binary.probed(cluster.directory))
    const key = { namespace, name: "shop" }
    yield* Managed.eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
    yield* Effect.sleep("2 seconds")
    yield* manager.signal("SIGTERM")
    yield* manager.ended("20 seconds")
  })

const written = (folder: string, name: string, text: string) => {
  const path = join(folder, name)
  return Effect.as(
    Effect.promise(() => writeFile(path, text)),
    path
  )
}

describe("homeostat plan", () => {
  Scene.replicated(
    "prints the writes, exits with 2, and with 0 on an unchanged cluster; the JSON of one plan is the base of another",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const plan = planner(cluster, namespace)
        yield* Scene.createApp(namespace)
        const first = yield* plan()
        expect(first).toMatchObject({ code: 2, stderr: "" })
        expect(first.stdout).toBe(
          [
            `webapp  WebApp ${namespace}/shop  3 writes`,
            `  + Deployment ${namespace}/shop (apply)`,
            `  + Service ${namespace}/shop (apply)`,
            `  ~ WebApp ${namespace}/shop status (patch)`,
            ...first.stdout.split("\n").filter((line) => line.startsWith("      ")),
            "webapp  0 of 1 WebApp with nothing to write",
            "Plan: 2 to create, 1 to change, 0 to delete, 0 rollouts, 0 unknown.",
            ""
          ].join("\n")
        )
        expect(first.stdout).toContain("      status.conditions[Ready].reason: none -> ReplicasNotReady\n")

        yield* managed(cluster, namespace)
        const rest = yield* plan()
        expect(rest).toMatchObject({ code: 0, stderr: "" })
        expect(rest.stdout).toBe(
          "webapp  1 of 1 WebApp with nothing to write\nPlan: 0 to create, 0 to change, 0 to delete, 0 rollouts, 0 unknown.\n"
        )

        const folder = yield* Directory.make
        const file = yield* written(
          folder,
          "webapp.yaml",
          `apiVersion: apps.kubedojo.io/v1beta1\nkind: WebApp\nmetadata:\n  name: shop\n  namespace: ${namespace}\nspec:\n  image: registry.test/web:2\n`
        )
        const asked = yield* plan("-f", file)
        expect(asked.code).toBe(2)
        expect(asked.stdout).toContain(`  ~ Deployment ${namespace}/shop (apply) rolls 1 pod\n`)
        expect(asked.stdout).toContain(
          "\n      spec.template.spec.containers[app].image: registry.test/web:1 -> registry.test/web:2\n"
        )
        const markdown = yield* plan("-f", file, "-o", "markdown")
        expect(markdown.stdout).toContain(
          `| webapp | WebApp ${namespace}/shop | \`~ Deployment ${namespace}/shop\` | rolls 1 |`
        )

        const json = yield* plan("-f", file, "-o", "json")
        const document: Document = JSON.parse(json.stdout)
        expect(document).toMatchObject({
          kind: "Plan",
          program: { name: "homeostat" },
          server: cluster.url,
          summary: { create: 0, change: 2, delete: 0, rollouts: 1, unknown: 0 }
        })
        const before = yield* written(folder, "plan.json", json.stdout)
        expect(yield* plan("-f", file, "--since", before)).toMatchObject({
          code: 0,
          stdout: "The plans are the same.\n"
        })
        const since = yield* plan("--since", before)
        expect(since.code).toBe(2)
        const [warning, title] = since.stdout.split("\n")
        expect(warning).toMatch(
          /^The earlier plan has the flags .* --filename=1 object, sha256 [0-9a-f]{12}, default namespace \S+, and this plan has /
        )
        expect(title).toStartWith("Only the earlier plan, by homeostat ")
        expect(since.stdout).toContain(`  ~ Deployment ${namespace}/shop (apply) rolls 1 pod\n`)
        expect(since.stdout).not.toContain("Only this plan")

        const deployment = { namespace, name: "shop" }
        yield* Client.patch(Deployment, deployment, Patch.merge({ spec: { replicas: 3 } }))
        // The plan compares its read with a later dry run, so the status must be at rest.
        yield* Managed.eventually(
          "it scales",
          Client.get(Deployment, deployment),
          ({ status }) => status?.readyReplicas === 3
        )
        yield* Effect.sleep("1 second")
        const server = yield* plan("--server", "-o", "json")
        const [write] = (JSON.parse(server.stdout) as Document).writes
        expect(write).toMatchObject({ verb: "apply", fields: [{ path: "spec.replicas", from: 3, to: 1 }] })
        expect((yield* Client.get(Deployment, deployment)).spec?.replicas).toBe(3)
      })
  )

  Scene.replicated("needs only read permissions, and reports a forbidden read as unknown", (cluster, namespace) =>
    Effect.gen(function* () {
      yield* Scene.createApp(namespace)
      const reader = yield* cluster.addUser({ name: "reader" })
      const role = (name: string, rules: NonNullable<ClusterRole["rules"]>) =>
        Effect.andThen(
          Client.create(ClusterRole, { metadata: { name }, rules }),
          Client.create(ClusterRoleBinding, {
            metadata: { name },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
            subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }]
          })
        )
      const verbs = ["get", "list", "watch"]
      yield* role("plan-webapps", [{ apiGroups: ["apps.kubedojo.io"], resources: ["webapps"], verbs }])
      const plan = planner(cluster, namespace, reader.kubeconfigPath)
      const refused = yield* plan()
      expect(refused).toMatchObject({ code: 2, stderr: "" })
      expect(refused.stdout).toMatch(
        /^webapp {2}0 writes, 11 unknown\n {2}\? unknown: cannot list deployments\.apps in namespace /
      )
      expect(refused.stdout).toEndWith(
        "\nwebapp  1 WebApp, not all of them planned\nIncomplete plan: 0 to create, 0 to change, 0 to delete, 0 rollouts, 11 unknown.\n"
      )
      const printed = yield* Binary.run(
        ["rbac", "--plan", "--service-account=ci/plan", "--controllers=webapp", "-o=json"],
        Binary.bare(cluster.directory)
      )
      const [{ metadata, rules }, binding, ...others] = JSON.parse(printed.stdout).items
      expect([metadata.name, binding.subjects, others]).toEqual([
        "homeostat-plan",
        [{ kind: "ServiceAccount", namespace: "ci", name: "plan" }],
        []
      ])
      yield* role("homeostat-plan", rules)
      const end = yield* plan("-o", "json")
      expect(end.code).toBe(2)
      expect((JSON.parse(end.stdout) as Document).summary).toEqual({
        create: 2,
        change: 1,
        delete: 0,
        rollouts: 0,
        own: [],
        unknown: 0
      })
    })
  )

  Scene.replicated(
    "reads files as kubectl does: folders, standard input, the namespace of the context",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const home = yield* Directory.make
        const text = cluster.admin.kubeconfig.replace(/(\n +)(cluster: envtest)\n/, `$1$2$1namespace: ${namespace}\n`)
        const kubeconfig = yield* written(home, "config", text)
        const app = (name: string) =>
          `apiVersion: apps.kubedojo.io/v1beta1\nkind: WebApp\nmetadata:\n  name: ${name}\nspec:\n  image: registry.test/web:1\n`
        const folder = yield* Directory.make
        yield* written(folder, "b.yaml", app("b"))
        yield* written(folder, "a.json", JSON.stringify({ kind: "WebAppList", apiVersion: "v1", items: [] }))
        yield* written(folder, "notes.txt", "not YAML: [")
        const one = yield* written(home, "one.yaml", app("a"))
        const environment = {
          ...Binary.bare(home),
          PLAN: yield* Binary.path,
          FILE: one,
          DIR: folder,
          KUBECONFIG: kubeconfig
        }
        const plan = (line: string) =>
          Effect.flatMap(Running.start(["sh", "-c", line], environment), (running) => running.ended("40 seconds"))
        const all = yield* plan('"$PLAN" plan --controllers=webapp -f - -f "$DIR" -o json < "$FILE"')
        expect([all.code, all.stderr]).toEqual([2, ""])
        const { flags, writes }: Document = JSON.parse(all.stdout)
        expect(writes.map(({ target }) => `${target.kind} ${target.namespace}/${target.name}`)).toEqual(
          ["a", "b"].flatMap((name) =>
            ["Deployment", "Service", "PodDisruptionBudget", "WebApp"].map((kind) => `${kind} ${namespace}/${name}`)
          )
        )
        const [chosen, files = ""] = flags
        expect(chosen).toBe("--controllers=webapp")
        expect(files).toMatch(/^--filename=2 objects, sha256 [0-9a-f]{12}, default namespace /)
        expect(files).toEndWith(` ${namespace}`)
        // The namespace of the command line overrides that of the kubeconfig.
        const other = yield* plan('"$PLAN" plan --controllers=webapp --namespace=default -f "$FILE"')
        expect(other.stdout).toContain("+ Deployment default/a (apply)\n")
      })
  )

  live("ends with code 1 after an error: an invalid command line, a file, a cluster that does not answer", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const nothing = yield* written(home, "nothing.json", "{}")
      const empty = yield* written(home, "empty.yaml", "---\n# nothing\n---\n")
      const bare = yield* Directory.make
      const torn = yield* written(home, "torn.yaml", "kind: [\n")
      const config = yield* written(
        home,
        "config",
        "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
      )
      const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, line: string]> = [
        [["--bogus"], "unknown flag: --bogus (see homeostat plan --help)"],
        [["--local", "--server"], "--local and --server: only one is possible"],
        [["-o", "xml"], `--output: invalid value: "xml" (must be one of text, json, markdown)`],
        [["--since", nothing], `--since: ${nothing} is not a plan (write one with plan -o json)`],
        [["--since", join(home, "missing")], `--since: ${join(home, "missing")} does not exist`],
        [["-f", torn], `--filename: ${torn} is not YAML: `],
        [["-f", nothing], `--filename: ${nothing} has an object without apiVersion, kind and metadata.name`],
        [["-f", empty], `--filename: ${empty} has no objects`],
        [["-f", bare], `--filename: ${bare} has no file in YAML or JSON (.yaml, .yml or .json)`],
        [["-f", "https://127.0.0.1:1/a.yaml"], "--filename: https://127.0.0.1:1/a.yaml is a URL (download it, "],
        [["-f", join(home, "missing")], `--filename: ${join(home, "missing")} does not exist`],
        [
          ["--kubeconfig", config],
          `cannot work on http://127.0.0.1:1, from context "a" of ${config} (--kubeconfig): GET /version: `
        ]
      ]
      for (const [args, line] of cases) {
        const end = yield* Binary.run(["plan", ...args], Binary.bare(home))
        expect(end).toMatchObject({ code: 1, stdout: "" })
        expect(end.stderr).toStartWith(`homeostat: ${line}`)
      }
    })
  )
})
