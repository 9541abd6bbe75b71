/**
 * The operations of a test on a control plane: one that this process started, or an existing cluster.
 */
import { Data, Effect, type Scope } from "effect"
import * as Api from "./Api.ts"
import type * as Assets from "./Assets.ts"
import * as Crds from "./Crds.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Log from "./Log.ts"
import type * as Process from "./Process.ts"
import type { User } from "./User.ts"

/** The test needs an operation that only a control plane of this process has, but it runs on an existing cluster. */
export class NotOurs extends Data.TaggedError("NotOurs")<{ readonly wanted: string }> {
  override get message(): string {
    return `${this.wanted} needs a control plane of the test's own (unset USE_EXISTING_CLUSTER, or use Shared.own)`
  }
}

/** A program of a control plane. */
export type Program = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kwok"

/** The log file of a program. */
export interface LogFile {
  readonly name: string
  readonly log: string
}

/** A running control plane, until the end of the Scope in which it was started. */
export interface ControlPlane {
  /** The address of the API server: `https://127.0.0.1:PORT`. */
  readonly url: string
  /** The CA certificate (PEM) of the API server; undefined if the system trusts the API server's CA. */
  readonly ca: string | undefined
  /** A user with all permissions. */
  readonly admin: User
  /** Adds a user, who has no permissions without a role binding. */
  readonly addUser: (user: {
    readonly name: string
    readonly groups?: ReadonlyArray<string> | undefined
  }) => Effect.Effect<User, Api.RequestFailed>
  /** Creates a namespace with a unique name. The end of the Scope deletes it, and does not wait for the deletion. */
  readonly namespace: (prefix?: string) => Effect.Effect<string, Api.RequestFailed, Scope.Scope>
  /**
   * Installs CustomResourceDefinitions and waits until the API server serves their kinds.
   * If one of them is new, this restarts a kube-controller-manager of this process. The garbage collector would otherwise need up to 40
   * seconds to discover the kind.
   */
  readonly install: (
    ...crds: ReadonlyArray<Crds.CustomResourceDefinition>
  ) => Effect.Effect<void, Api.RequestFailed | Process.StartFailed>
  /** Runs kubectl as the administrator or as another user. Every exit code is a result. */
  readonly kubectl: (
    args: ReadonlyArray<string>,
    options?: { readonly stdin?: string | undefined; readonly as?: User | undefined }
  ) => Effect.Effect<Process.Result, Assets.MissingAsset>
  /** Sends a plain request as the administrator or as another user. Every status is a response, and only a missing response is an error. */
  readonly request: (
    method: string,
    path: string,
    options?: Api.RequestOptions & { readonly as?: User | undefined }
  ) => Effect.Effect<Api.Answer, Api.RequestFailed>
  /** The programs that this process started. An existing cluster has an empty list. */
  readonly processes: ReadonlyArray<Process.Process>
  /**
   * Returns a program, which the test can kill, pause, stop and start again. The API server keeps its port. Fails on an existing cluster.
   */
  readonly process: (name: Program) => Effect.Effect<Process.Process, NotOurs>
  /** The last lines of a program's log; empty if this process did not start the program. */
  readonly logs: (name: Program, lines?: number) => string
  /** The log files of the programs. */
  readonly logFiles: ReadonlyArray<LogFile>
  /** Restarts kube-controller-manager if this process started it, because it discovers kinds at its start. */
  readonly restartControllers: Effect.Effect<void, Process.StartFailed>
  /** The path of the audit log if the options include `audit`. It has one JSON object per line. */
  readonly auditLogPath: string | undefined
  /** The folder with all files of this control plane. A test may put its own files there. */
  readonly directory: string
}

/** The parts in which the two kinds of control plane differ. */
export interface Parts {
  readonly admin: User
  readonly addUser: ControlPlane["addUser"]
  readonly processes: ReadonlyArray<Process.Process>
  readonly auditLogPath: string | undefined
  readonly directory: string
  /** Default: the files of `processes`. */
  readonly logFiles?: ReadonlyArray<LogFile> | undefined
  /** Default: restarts kube-controller-manager if it is among `processes`. */
  readonly restartControllers?: Effect.Effect<void, Process.StartFailed> | undefined
}

/** Makes a control plane from its parts. */
export const make = (parts: Parts): ControlPlane => {
  const named = (name: Program) => parts.processes.find((process) => process.name === name)
  const logFiles = parts.logFiles ?? parts.processes
  const controllers = named("kube-controller-manager")
  const restartControllers =
    parts.restartControllers ??
    (controllers === undefined ? Effect.void : Effect.andThen(controllers.kill, controllers.start))
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
    // A test may have stopped the API server permanently. Its namespaces no longer exist then.
    (name) => Effect.ignore(Api.request(admin, "DELETE", `/api/v1/namespaces/${name}`, { timeoutMillis: 5_000 }))
  )
