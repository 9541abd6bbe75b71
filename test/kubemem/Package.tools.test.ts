/** The npm package of kubemem, installed in an empty folder and run with Node, without this repository. */
import { expect } from "bun:test"
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Node from "../suites/binary/Node.ts"

const ran = (command: ReadonlyArray<string>, cwd: string, env: { readonly [name: string]: string } = {}) =>
  Effect.promise(async () => {
    const process_ = Bun.spawn([...command], { cwd, env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" })
    const [stdout, stderr] = await Promise.all([
      new Response(process_.stdout).text(),
      new Response(process_.stderr).text()
    ])
    return { code: await process_.exited, stdout, stderr }
  })

const done = (command: ReadonlyArray<string>, cwd: string, env: { readonly [name: string]: string } = {}) =>
  Effect.map(ran(command, cwd, env), ({ code, stderr, stdout }) => {
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  })

live(
  "The packed program starts under Node, keeps its state, and stops",
  () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      yield* done([process.execPath, "pm", "pack", "--quiet", "--destination", folder], import.meta.dir)
      const [tarball = ""] = (yield* Effect.promise(() => readdir(folder))).filter((name) => name.endsWith(".tgz"))
      const project = join(folder, "project")
      yield* Effect.promise(async () => {
        await mkdir(project)
        await writeFile(join(project, "package.json"), "{}")
        await writeFile(
          join(project, "objects.yaml"),
          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
        )
        await writeFile(join(project, "users.csv"), 'secret,ann,1,"devs"\n')
      })
      yield* done(["npm", "install", "--no-audit", "--no-fund", "--offline", join(folder, tarball)], project)
      const program = join(project, "node_modules", ".bin", "kubemem")
      const node = yield* Node.path
      const old = 'data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "20.1.0" } })'
      expect(yield* ran([node, "--import", old, program, "start"], project)).toEqual({
        code: 1,
        stdout: "",
        stderr: "kubemem: unsupported version of Node: 20.1.0 (use Node 22 or newer, or Bun)\n"
      })
      const kubeconfig = join(project, "kubeconfig")
      const env = { KUBECONFIG: kubeconfig }
      const flags = ["--json", "--data", "data", "--apply", "objects.yaml", "--users", "users.csv"]
      const start = Effect.acquireRelease(
        Effect.sync(() =>
          Bun.spawn([node, program, "start", ...flags], {
            cwd: project,
            env: { ...process.env, ...env },
            stdout: Bun.file(join(project, "out")),
            stderr: "inherit"
          })
        ),
        (started) =>
          Effect.promise(() => {
            started.kill()
            return started.exited
          })
      )
      const ready = eventually(
        "the line of JSON",
        Effect.promise(() => readFile(join(project, "out"), "utf8").catch(() => "")),
        (text) => text.endsWith("\n")
      )
      const first = yield* start
      const printed = JSON.parse(yield* ready)
      expect(printed).toMatchObject({ context: "kubemem", kubeconfig, pid: first.pid })
      expect(printed.millis).toBeLessThan(1000)

      const ask = (path: string, token: string, method = "GET") =>
        Effect.promise(async () => {
          const answer = await fetch(`${printed.server}${path}`, {
            method,
            headers: { authorization: `Bearer ${token}` },
            tls: { ca: printed.ca }
          })
          return { status: answer.status, text: await answer.text() }
        })
      const settings = "/api/v1/namespaces/shop/configmaps/settings"
      expect((yield* ask(settings, printed.token)).status).toBe(200)
      expect(yield* ask(settings, "secret")).toMatchObject({
        status: 403,
        text: expect.stringContaining('User \\"ann\\"')
      })
      expect((yield* ask(settings, "wrong")).status).toBe(401)
      expect((yield* ask(settings, printed.token, "DELETE")).status).toBe(200)
      expect(yield* done([node, program, "reset"], project, env)).toBe('{"restored":"initial state"}\n')
      expect((yield* ask(settings, printed.token)).status).toBe(200)
      expect(yield* done([node, program, "snapshot", "first"], project, env)).toBe('{"saved":"first"}\n')
      expect(yield* done([node, program, "stop"], project, env)).toBe('{"stopped":true}\n')
      expect(yield* Effect.promise(() => first.exited)).toBe(0)
      const { code, stderr } = yield* ran([node, program, "reset"], project, env)
      expect([code, stderr]).toEqual([
        1,
        `kubemem: context not found: "kubemem" (${kubeconfig} has none; start a cluster with kubemem start)\n`
      ])

      const taken = ["start", "--detach", "--data", "data", "--port", new URL(printed.server).port]
      yield* Effect.promise(() => rename(join(project, "data"), join(project, "moved")))
      const fresh = JSON.parse(yield* done([node, program, ...taken, "--json"], project, env))
      expect(fresh.token).not.toBe(printed.token)
      // Other users of the machine cannot read the token.
      for (const [file, mode] of [
        ["data", 0o700],
        ["data/stdout.log", 0o600],
        ["data/credentials.json", 0o600]
      ] as const) {
        expect([file, (yield* Effect.promise(() => stat(join(project, file)))).mode & 0o777]).toEqual([file, mode])
      }
      yield* done([node, program, "stop"], project, env)
      yield* Effect.promise(async () => {
        await rm(join(project, "data"), { recursive: true })
        await rename(join(project, "moved"), join(project, "data"))
      })
      const again = JSON.parse(yield* done([node, program, ...taken, "--json"], project, env))
      expect((yield* ran([node, program, ...taken, "--name", "other"], project, env)).stderr).toMatch(
        /^kubemem: .*EADDRINUSE.*\n$/
      )
      expect([again.ca, again.token]).toEqual([printed.ca, printed.token])
      expect(yield* done([node, program, "restore", "first"], project, env)).toBe('{"restored":"first"}\n')
      yield* done([node, program, "stop"], project, env)
    }),
  120_000
)
