/**
 * A control plane whose programs this process starts.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import * as Api from "./Api.ts"
import * as Assets from "./Assets.ts"
import * as Certificates from "./Certificates.ts"
import * as ControlPlane from "./ControlPlane.ts"
import * as Directory from "./Directory.ts"
import * as Flags from "./Flags.ts"
import * as Port from "./Port.ts"
import * as Process from "./Process.ts"
import * as User from "./User.ts"

/** The programs to start besides etcd and kube-apiserver, and their flags. */
export interface Options {
  /**
   * kube-controller-manager with `Flags.controllers` (garbage collection, namespaces, Deployments, Jobs and others), or with the
   * controllers named here.
   */
  readonly controllers?: boolean | ReadonlyArray<string> | undefined
  /** kube-scheduler. */
  readonly scheduler?: boolean | undefined
  /** kwok and a Node named `kwok`: nodes are ready and pods run, without any containers (`assets/kwok/stages.yaml`). */
  readonly kwok?: boolean | undefined
  /** Writes a line about each response to `auditLogPath`. */
  readonly audit?: boolean | undefined
  /**
   * Mounts the token of the ServiceAccount into pods, as any cluster does. A pod then needs its ServiceAccount, which the controllers
   * create in each namespace. Default: false.
   */
  readonly tokens?: boolean | undefined
  /** Further flags for kube-apiserver. The last value of a repeated flag counts. */
  readonly apiServerFlags?: ReadonlyArray<string> | undefined
}

/** The reasons why a control plane does not start. */
export type Failure = Assets.MissingAsset | Process.StartFailed | Api.RequestFailed

/** Starts the programs and waits until each is ready. Fails before any start if a program is missing. */
export const start = (options: Options): Effect.Effect<ControlPlane.ControlPlane, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const find = (program: Assets.Program, wanted: boolean) => (wanted ? Assets.find(program) : Effect.void)
    // This finds all programs before any start, so a missing program fails at once.
    const controllers = options.controllers === true ? Flags.controllers : options.controllers || []
    const assets = {
      etcd: yield* Assets.find("etcd"),
      apiServer: yield* Assets.find("kube-apiserver"),
      controllerManager: yield* find("kube-controller-manager", controllers.length > 0),
      scheduler: yield* find("kube-scheduler", options.scheduler === true),
      kwok: yield* find("kwok", options.kwok === true)
    }

    const directory = yield* Directory.make
    const authority = yield* Certificates.authority
    const files = yield* writeFiles(directory, authority)
    const program = (
      name: ControlPlane.Program,
      executable: string,
      args: ReadonlyArray<string>,
      ready?: Effect.Effect<boolean>
    ) =>
      Process.start({
        name,
        executable,
        args,
        // The programs do not get the environment of this process, so that the machine's settings cannot affect a test.
        env: { PATH: process.env.PATH, HOME: directory, TMPDIR: directory },
        log: join(directory, `${name}.log`),
        ready,
        // No data needs to be kept, and an API server takes up to a minute to close its watches.
        atEnd: "kill"
      })

    const etcd = yield* onFreePort((port) =>
      program(
        "etcd",
        assets.etcd,
        Flags.etcd(port, join(directory, "etcd")),
        Api.answers({ server: `http://${Port.host}:${port}`, ca: undefined, user: "" }, "/health")
      )
    )

    const identity = (name: string, groups: ReadonlyArray<string>) =>
      authority
        .client(name, groups)
        .pipe(Effect.map(({ certificate, key }) => ({ ca: authority.certificate, user: name, cert: certificate, key })))
    const masters = ["system:masters"]
    const administrator = yield* identity("admin", masters)
    const audit = options.audit === true ? yield* auditIn(directory) : undefined
    const apiServer = yield* onFreePort((port) => {
      const access = { ...administrator, server: `https://${Port.host}:${port}` }
      return program(
        "kube-apiserver",
        assets.apiServer,
        [
          ...Flags.apiServer({ port, etcdPort: etcd.port, files, audit, tokens: options.tokens === true }),
          ...(options.apiServerFlags ?? [])
        ],
        Api.answers(access, "/readyz").pipe(
          Effect.flatMap((is) => (is ? Api.answers(access, "/api/v1/namespaces/default") : Effect.succeed(false)))
        )
      )
    })
    const server = `https://${Port.host}:${apiServer.port}`
    const admin = yield* User.make(directory, { ...administrator, server }, masters)

    const others = yield* Effect.all(
      [
        assets.controllerManager === undefined
          ? undefined
          : program(
              "kube-controller-manager",
              assets.controllerManager,
              Flags.controllerManager(admin.kubeconfigPath, files, controllers),
              // It serves no port for a readiness check. It runs once its controllers have created the first ServiceAccount.
              controllers.includes(accounts)
                ? Api.answers(admin, "/api/v1/namespaces/default/serviceaccounts/default")
                : undefined
            ),
        assets.scheduler === undefined
          ? undefined
          : program("kube-scheduler", assets.scheduler, Flags.scheduler(admin.kubeconfigPath)),
        assets.kwok === undefined
          ? undefined
          : Api.expect(admin, "POST", "/api/v1/nodes", { body: node }).pipe(
              Effect.andThen(program("kwok", assets.kwok, Flags.kwok(admin.kubeconfigPath, stages), nodeIsReady(admin)))
            )
      ].filter((effect) => effect !== undefined),
      { concurrency: "unbounded" }
    )

    return ControlPlane.make({
      admin,
      addUser: ({ name, groups = [] }) =>
        identity(name, groups).pipe(Effect.flatMap((access) => User.make(directory, { ...access, server }, groups))),
      processes: [etcd.process, apiServer.process, ...others],
      auditLogPath: audit?.log,
      directory
    })
  })

const accounts = "serviceaccount-controller"

const stages = join(Assets.folder, "kwok", "stages.yaml")

const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "kwok", labels: { "kubernetes.io/hostname": "kwok", "kubernetes.io/os": "linux" } }
}

const nodeIsReady = (admin: User.User): Effect.Effect<boolean> =>
  Api.request(admin, "GET", "/api/v1/nodes/kwok").pipe(
    // The kwok stage sets no other condition, so this reason belongs to the condition "Ready".
    Effect.map(({ body }) => body.includes(`"reason":"KubeletReady"`)),
    Effect.orElseSucceed(() => false)
  )

/** Starts a program on a free port. Tries up to four more ports if another program took the port first. */
const onFreePort = (
  start: (port: number) => Effect.Effect<Process.Process, Process.StartFailed, Scope.Scope>
): Effect.Effect<{ readonly port: number; readonly process: Process.Process }, Process.StartFailed, Scope.Scope> =>
  Port.free.pipe(
    Effect.flatMap((port) => Effect.map(start(port), (process) => ({ port, process }))),
    Effect.retry({ times: 4, while: (failure) => failure.log.includes("address already in use") })
  )

const auditIn = (directory: string): Effect.Effect<{ readonly policy: string; readonly log: string }> => {
  const audit = { policy: join(directory, "audit-policy.json"), log: join(directory, "audit.log") }
  return Effect.as(write(audit.policy, Flags.auditPolicy), audit)
}

/** The names and addresses at which pods and tests reach the API server; 10.0.0.1 is the Service `kubernetes`. */
const names = {
  dns: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
  ip: [Port.host, "10.0.0.1"]
}

const writeFiles = (directory: string, authority: Certificates.Authority): Effect.Effect<Flags.Files> =>
  Effect.gen(function* () {
    const serving = yield* authority.server(names)
    const accounts = yield* Certificates.serviceAccountKeys
    const files: Flags.Files = {
      authorityCertificate: join(directory, "ca.crt"),
      authorityKey: join(directory, "ca.key"),
      servingCertificate: join(directory, "apiserver.crt"),
      servingKey: join(directory, "apiserver.key"),
      serviceAccountPublic: join(directory, "service-account.pub"),
      serviceAccountPrivate: join(directory, "service-account.key")
    }
    yield* write(files.authorityCertificate, authority.certificate)
    yield* write(files.authorityKey, authority.key)
    yield* write(files.servingCertificate, serving.certificate)
    yield* write(files.servingKey, serving.key)
    yield* write(files.serviceAccountPublic, accounts.public)
    yield* write(files.serviceAccountPrivate, accounts.private)
    return files
  })

const write = (path: string, text: string): Effect.Effect<void> =>
  Effect.promise(() => writeFile(path, text, { mode: 0o600 }))
