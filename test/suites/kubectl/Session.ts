/** Runs a shell with kubectl on one cluster, in a folder with files. */
import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import type { Result } from "@homeostat/testkit/envtest/Process"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, Schedule, type Scope } from "effect"

export type Files = Readonly<Record<string, string>>

/** The expected output of a command that does not end. */
export interface Watched {
  /** A line of shell to run after this output. */
  readonly meanwhile?: { readonly line: string; readonly after: RegExp } | undefined
  readonly last: RegExp
}

export interface Session {
  readonly cluster: ControlPlane
  /** The default namespace of kubectl. */
  readonly namespace: string
  readonly run: (line: string) => Effect.Effect<Result>
  /** Runs a command that does not end, and stops it after its expected output or 30 seconds. */
  readonly watch: (line: string, watched: Watched) => Effect.Effect<Result>
}

/** Opens a session in a new namespace. */
export const open = (
  cluster: ControlPlane,
  files: Files
): Effect.Effect<Session, Effect.Error<ReturnType<ControlPlane["namespace"]>> | Assets.MissingAsset, Scope.Scope> =>
  Effect.gen(function* () {
    const namespace = yield* cluster.namespace("walk")
    const folder = yield* Directory.make
    const kubectl = yield* Assets.find("kubectl")
    const kubeconfig = join(folder, "kubeconfig")
    yield* Effect.promise(() =>
      Promise.all([
        symlink(kubectl, join(folder, "kubectl")),
        writeFile(kubeconfig, cluster.admin.kubeconfig, { mode: 0o600 }),
        ...Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text))
      ])
    )
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      HOME: folder,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(cluster.directory, "kubectl"),
      KUBERC: "off",
      // kubectl ends before a garbage collection would be worthwhile.
      GOGC: "off"
    }
    const inFolder = (line: string): ReadonlyArray<string> => ["-c", `cd ${folder} && ${line}`]
    const run: Session["run"] = (line) => Process.run("sh", inFolder(line), { env })
    yield* run(`kubectl config set-context --current --namespace=${namespace}`)
    const watch: Session["watch"] = (line, { last, meanwhile }) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const log = join(folder, `watched-${crypto.randomUUID()}`)
          return { log, child: Process.spawn("sh", ["-c", line], { env, workingDirectory: folder, log }) }
        }),
        ({ log }) =>
          Effect.gen(function* () {
            const written = Effect.promise(() => Bun.file(log).text())
            const wait = (shows: RegExp) =>
              written.pipe(
                Effect.repeat({ until: (text) => shows.test(text), schedule: Schedule.spaced("50 millis") }),
                Effect.timeoutOption("30 seconds")
              )
            if (meanwhile !== undefined) {
              yield* wait(meanwhile.after)
              yield* run(meanwhile.line)
            }
            yield* wait(last)
            return { stdout: yield* written, stderr: "", exitCode: 0 }
          }),
        ({ child }) =>
          Effect.promise(() => {
            process.kill(-child.pid, "SIGKILL")
            return child.exited
          }).pipe(Effect.andThen(Effect.sync(child.release)))
      )
    return { cluster, namespace, run, watch }
  })
