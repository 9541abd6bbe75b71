/**
 * What a test can do with a control plane, whether its programs are ours or it is somebody's cluster.
 */
import { Data, Effect, type Scope } from "effect"
import * as Api from "./Api.ts"
import type * as Assets from "./Assets.ts"
import * as Crds from "./Crds.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Log from "./Log.ts"
import type * as Process from "./Process.ts"
import type { User } from "./User.ts"

/** Something was asked of a cluster that only a control plane which we started can do. */
export class NotOurs extends Data.TaggedError("NotOurs")<{ readonly wanted: string }> {
  override get message(): string {
    return `${this.wanted} needs a control plane of the test's own (unset USE_EXISTING_CLUSTER, or use Shared.own)`
  }
}

/** A program of a control plane. */
export type Program = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kwok"

/** The file that a program writes to. */
export interface LogFile {
  readonly name: string
  readonly log: string
}

/** A running control plane, until the end of the Scope in which it was started. */
export interface ControlPlane {
  /** Where the API server is: `https://127.0.0.1:PORT`. */
  readonly url: string
  /** The certificate (PEM) that signed the API server's; absent: one that the system trusts. */
  readonly ca: string | undefined
  /** May do everything. */
  readonly admin: User
  /** A new user, who may do nothing until bound to a role. */
  readonly addUser: (user: {
    readonly name: string
    readonly groups?: ReadonlyArray<string> | undefined
  }) => Effect.Effect<User, Api.RequestFailed>
  /** A new namespace with a name of its own, deleted (not waited for) at the end of the Scope. */
  readonly namespace: (prefix?: string) => Effect.Effect<string, Api.RequestFailed, Scope.Scope>
  /**
   * Installs custom resource definitions and waits until their kinds are served. When one of them is new, our
   * kube-controller-manager is started again: of a kind that it did not find at its start, the garbage collector would
   * know nothing for up to 40 seconds.
   */
  readonly install: (
    ...crds: ReadonlyArray<Crds.CustomResourceDefinition>
  ) => Effect.Effect<void, Api.RequestFailed | Process.StartFailed>
  /** Runs kubectl, as the administrator or as another user; every exit code is a result. */
  readonly kubectl: (
    args: ReadonlyArray<string>,
    options?: { readonly stdin?: string | undefined; readonly as?: User | undefined }
  ) => Effect.Effect<Process.Result, Assets.MissingAsset>
  /** A plain request, as the administrator or as another user; every status is an answer. */
  readonly request: (
    method: string,
    path: string,
    options?: Api.RequestOptions & { readonly as?: User | undefined }
  ) => Effect.Effect<Api.Answer, Api.RequestFailed>
  /** The programs we started: none for an existing cluster. */
  readonly processes: ReadonlyArray<Process.Process>
  /** One of them, to be killed, paused, stopped and started again: the API server comes back on its port. */
  readonly process: (name: Program) => Effect.Effect<Process.Process, NotOurs>
  /** The last lines that a program has written; empty when we did not start it. */
  readonly logs: (name: Program, lines?: number) => string
  /** The files that the programs write to. */
  readonly logFiles: ReadonlyArray<LogFile>
  /** Starts kube-controller-manager again if it is one of the programs: it learns of a new kind at its start. */
  readonly restartControllers: Effect.Effect<void, Process.StartFailed>
  /** The audit log, when it was asked for: one JSON object a line. */
  readonly auditLogPath: string | undefined
  /** The folder with everything that belongs to this control plane; a test may put files of its own there. */
  readonly directory: string
}

/** What the two kinds of control plane differ in. */
export interface Parts {
  readonly admin: User
  readonly addUser: ControlPlane["addUser"]
  readonly processes: ReadonlyArray<Process.Process>
  readonly auditLogPath: string | undefined
  readonly directory: string
  /** Default: the files of `processes`. */
  readonly logFiles?: ReadonlyArray<LogFile> | undefined
  /** Default: starts the program among `processes` again. */
  readonly restartControllers?: Effect.Effect<void, Process.StartFailed> | undefined
}

/** Makes a control plane of its parts. */
export const make = (parts: Parts): ControlPlane => {
  const named = (name: Program) => parts.processes.find((process) => process.name === name)
  const logFiles = parts.logFiles ?? parts.processes
  const controllers = named("kube-controller-manager")
  const restartControllers =
    parts.restartControllers ??
    (controllers === undefined ? Effect.void : Effect.zipRight(controllers.kill, controllers.start))
  return {
    ...parts,
    logFiles,
    restartControllers,
    url: parts.admin.server,
    ca: parts.admin.ca,
    namespace: (prefix = "test") => namespace(parts.admin, prefix),
    install: (...crds) =>
      Effect.forEach(crds, (crd) => Crds.install(parts.admin, crd)).pipe(
        Effect.flatMap((isNew) => (isNew.includes(true) ? restartControllers : Effect.void))
      ),
    kubectl: (args, options) =>
      Kubectl.run(
        { kubeconfigPath: (options?.as ?? parts.admin).kubeconfigPath, home: parts.directory },
        args,
        options?.stdin
      ),
    request: (method, path, options) => Api.request(options?.as ?? parts.admin, method, path, options),
    process: (name) => {
      const process = named(name)
      return process === undefined ? new NotOurs({ wanted: `Handling ${name}` }) : Effect.succeed(process)
    },
    logs: (name, lines = 40) => {
      const file = logFiles.find((file) => file.name === name)
      return file === undefined ? "" : Log.tail(file.log, lines)
    }
  }
}

const namespace = (admin: User, prefix: string): Effect.Effect<string, Api.RequestFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => `${prefix}-${crypto.randomUUID().slice(0, 8)}`).pipe(
      Effect.tap((name) =>
        Api.expect(admin, "POST", "/api/v1/namespaces", {
          body: { apiVersion: "v1", kind: "Namespace", metadata: { name } }
        })
      )
    ),
    // A test may have stopped the API server for good; its namespaces are gone with it.
    (name) => Effect.ignore(Api.request(admin, "DELETE", `/api/v1/namespaces/${name}`, { timeoutMillis: 5_000 }))
  )
