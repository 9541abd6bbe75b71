/**
 * The setup of each backup test: a namespace on either cluster, claims with files, and folders for repositories.
 * A node runs the mover of the image.
 *
 * Tests that need saved data run the real restic: `both` and `real`, for `*.real.test.ts`. Tests that only need movers to run and end
 * use simulated movers: `pretended`, for `*.cluster.test.ts`, which have no programs but this process.
 */
import { expect } from "bun:test"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import { Job, Node, Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Assets from "@homeostat/testkit/envtest/Assets"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type * as Crds from "@homeostat/testkit/envtest/Crds"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import type * as Envtest from "@homeostat/testkit/envtest/Envtest"
import type * as Process from "@homeostat/testkit/envtest/Process"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import * as Lane from "@homeostat/testkit/Lane"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, type Scope } from "effect"
import { image, program as mover } from "../../Mover.ts"
import * as Managed from "../Managed.ts"
import * as Granted from "../rbac/Granted.ts"
import * as WebAppScene from "../webapp/Scene.ts"
import * as Claims from "./Claims.ts"
import * as Restic from "./Restic.ts"

/** The settings that the tests of a file share. */
export interface Settings {
  /** The CRDs to install: `Crd.of(Backup)`. */
  readonly crds: ReadonlyArray<Crds.CustomResourceDefinition>
  /** The controllers of a manager that gets no others. */
  readonly controllers: ReadonlyArray<Controller<Manager.Runtime>>
}

/** The options of one test. */
export interface Options {
  /** Options of the node: the results of simulated pods, missing images, and programs for images other than the mover's. */
  readonly node?: Omit<Kubelet.Options, "name" | "directory"> | undefined
  /** Changes the mover's program, for example its restic. The folder belongs to this scene. */
  readonly mover?: ((program: Program.Program, directory: string) => Program.Program) | undefined
  readonly timeoutMillis?: number | undefined
  /** Further options of the control plane. */
  readonly control?: Envtest.Options | undefined
}

/** A repository's location and the environment variables that open it with restic. */
export interface Repository {
  readonly repository: string
  readonly password: string
  readonly env?: { readonly [name: string]: string } | undefined
}

/** A namespace with backups. */
export interface Scene {
  readonly cluster: ControlPlane
  readonly namespace: string
  readonly key: (name: string) => ObjectKey
  /** The folder of this test, for repositories, certificates and other files. */
  readonly directory: string
  /** The node. Its name is the namespace's name. */
  readonly node: Kubelet.Kubelet
  /** Starts a further node with the same claims. Without options, the node equals the first one. */
  readonly addNode: (
    name: string,
    options?: Options["node"]
  ) => Effect.Effect<Kubelet.Kubelet, never, Scope.Scope | Client.Client>
  /** The folder with the contents of a claim. */
  readonly folder: (claim: string) => string
  /**
   * Starts a manager in this namespace. Without an identity, the manager has the permissions of the generated roles.
   * The test fails if that manager requests anything beyond these permissions.
   */
  readonly manage: (
    controllers?: ReadonlyArray<Controller<Manager.Runtime>>,
    settings?: Omit<Managed.Settings, "namespaces"> & { readonly otherNamespaces?: ReadonlyArray<string> }
  ) => Effect.Effect<Managed.Managed, never, Scope.Scope>
  /** Runs restic. Every exit code is a result, not an error. */
  readonly restic: (
    repository: Repository,
    ...args: ReadonlyArray<string>
  ) => Effect.Effect<Process.Result, Assets.MissingAsset>
}

export { command, image, mounts, program as mover } from "../../Mover.ts"

/** Creates a Secret with the environment variables that a mover needs to open a repository. */
export const credentials = (
  { namespace }: Scene,
  name: string,
  stringData: { readonly [name: string]: string } = { RESTIC_PASSWORD: "correct horse" }
) => Client.create(Secret, { metadata: { namespace, name }, stringData })

/** Creates a claim with files that is bound to a volume. Returns the folder of the files. */
export const claim = (
  { folder, namespace }: Pick<Scene, "folder" | "namespace">,
  name: string,
  options: Claims.Options = {}
) =>
  Effect.gen(function* () {
    // The files exist before a pod can mount the claim.
    yield* Effect.promise(() => Bun.write(join(folder(name), ".made"), "")).pipe(
      Effect.andThen(Effect.promise(() => Bun.file(join(folder(name), ".made")).delete())),
      Effect.andThen(Claims.write(folder(name), options.files ?? {}))
    )
    yield* Claims.bound(namespace, name, options)
    return folder(name)
  })

/** Creates a claim that is not bound to a volume. */
export const unboundClaim = ({ namespace }: Scene, name: string, options?: Claims.Options) =>
  Claims.unbound(namespace, name, options)

/** The snapshots of a repository, oldest first. If restic cannot open the repository, dies with restic's message. */
export const snapshots = ({ directory }: Scene, repository: Repository) =>
  Restic.snapshots(environment(directory, repository))

/** The ids of a repository's locks. */
export const locks = ({ directory }: Scene, repository: Repository) => Restic.locks(environment(directory, repository))

/** The Jobs of a namespace, oldest first. */
export const jobs = ({ namespace }: Scene) =>
  Effect.map(Client.list(Job, { namespace }), ({ items }) =>
    items.toSorted(({ metadata: one }, { metadata: other }) =>
      (one.creationTimestamp + one.name).localeCompare(other.creationTimestamp + other.name)
    )
  )

/** The pods of a Job. */
export const podsOf = ({ namespace }: Scene, job: string) =>
  Effect.map(Client.list(Pod, { namespace, labelSelector: `job-name=${job}` }), ({ items }) => items)

/** Evicts a pod, as `kubectl drain` does. Dies if the API server rejects the eviction. */
export const evict = ({ cluster, namespace }: Scene, pod: string) =>
  Effect.flatMap(
    cluster.request("POST", `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace } }
    }),
    ({ body, status }) => (status < 300 ? Effect.void : Effect.die(new Error(`pod ${pod} is not evicted: ${body}`)))
  )

/** Starts a node for the lifetime of the scope. The scope's end deletes the node's pods before the node. */
const node = (namespace: string, options: Kubelet.Options & { readonly name: string }) =>
  Effect.gen(function* () {
    // On a shared control plane, the scheduler must not assign the next test's pods to a node without a kubelet.
    yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(Node, { name: options.name })))
    const kubelet = yield* Kubelet.start(options)
    yield* Effect.addFinalizer(() =>
      Client.deleteAll(Job, { namespace, propagation: "Background" }).pipe(
        Effect.andThen(Client.deleteAll(Pod, { namespace, gracePeriodSeconds: 0 })),
        Effect.ignore
      )
    )
    return kubelet
  })

const environment = (directory: string, { env, password, repository }: Repository): Restic.Environment => ({
  RESTIC_REPOSITORY: repository,
  RESTIC_PASSWORD: password,
  RESTIC_CACHE_DIR: join(directory, "restic"),
  ...env
})

type Body<A, E> = (scene: Scene) => Effect.Effect<A, E, Scope.Scope | Client.Client>

/** These tests use a separate control plane, because they count its nodes and add nodes. */
const control = { controllers: true, scheduler: true, kwok: false }

/** Makes the functions that declare a test. */
export const make = ({ controllers, crds }: Settings) => {
  const install = WebAppScene.once((cluster) => cluster.install(...crds))
  /** Creates, once per cluster, an account with exactly the permissions of the generated roles in every namespace. */
  const granted = WebAppScene.once((cluster) =>
    Effect.flatMap(Granted.account(cluster, "default", {}, controllers), (account) =>
      Effect.as(Granted.grant(account), account.user)
    )
  )
  const on =
    (test: typeof Shared.cluster, lane: Lane.Lane, isPretended: boolean) =>
    <A, E>(
      name: string,
      body: Body<A, E>,
      { control: more, mover: changed = (program) => program, node: wanted = {}, timeoutMillis }: Options = {}
    ): void =>
      test(
        name,
        (cluster) =>
          Effect.gen(function* () {
            yield* install(cluster)
            const namespace = yield* cluster.namespace("backup")
            const directory = yield* Directory.make
            const images: Program.Images = isPretended ? {} : { [image]: changed(mover(yield* Restic.find), directory) }
            const home = join(directory, "node")
            const addNode: Scene["addNode"] = (name, options = wanted) =>
              Effect.provide(
                node(namespace, {
                  ...options,
                  name,
                  directory: home,
                  images: { ...images, ...options.images }
                }),
                NodeFileSystem.layer
              )
            return yield* Effect.gen(function* () {
              const first = yield* addNode(namespace)
              return yield* body({
                cluster,
                namespace,
                key: (name) => ({ namespace, name }),
                directory,
                node: first,
                addNode,
                folder: (claim) => first.claim(namespace, claim),
                manage: (chosen = controllers, { otherNamespaces = [], ...settings } = {}) =>
                  // The embedded cluster allows every request.
                  (lane === "embedded" ? Effect.succeed(cluster.admin) : Effect.orDie(granted(cluster))).pipe(
                    Effect.flatMap((user) =>
                      Managed.start(cluster, chosen, { user, ...settings, namespaces: [namespace, ...otherNamespaces] })
                    ),
                    Effect.tap(({ refused }) =>
                      settings.user === undefined
                        ? Effect.addFinalizer(() => Effect.sync(() => expect(refused()).toEqual([])))
                        : Effect.void
                    )
                  ),
                restic: (repository, ...args) => Restic.run(environment(directory, repository), ...args)
              })
            }).pipe(Effect.provide(yield* Managed.client(cluster)))
          }),
        { ...control, ...more, timeoutMillis }
      )
  const real = on(Shared.real, "real", false)
  const embedded = on(Shared.embedded, "embedded", false)
  return {
    /** Declares a test with restic on a real control plane. For `*.real.test.ts`. */
    real,
    /** Declares two tests with restic: on a real control plane and on the embedded one. For `*.real.test.ts`. */
    both: <A, E>(name: string, body: Body<A, E>, options?: Options): void => {
      real(`${name}, on a real cluster`, body, options)
      embedded(`${name}, on the embedded cluster`, body, options)
    },
    /** Declares a test with simulated movers on the cluster of the lane. For `*.cluster.test.ts`. */
    pretended: on(Shared.cluster, Lane.current, true)
  }
}
