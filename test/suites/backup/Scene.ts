/**
 * What each test of backups begins with: a namespace of its own on either cluster, a node that runs the mover as it is in its
 * image, claims with files in them, and folders for what is saved.
 *
 * The movers are restic's where a test needs what they save (`both`, `real`: for `*.real.test.ts`), and pretended where it is
 * enough that they run and end (`pretended`: for `*.cluster.test.ts`, which have no programs but this one).
 */
import { expect } from "bun:test"
import { join } from "node:path"
import { BunContext } from "@effect/platform-bun"
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

/** What the tests of a file have in common. */
export interface Settings {
  /** The kinds: `Crd.of(Backup)`. */
  readonly crds: ReadonlyArray<Crds.CustomResourceDefinition>
  /** What a manager runs that is told nothing else. */
  readonly controllers: ReadonlyArray<Controller<Manager.Runtime>>
}

/** What one test wants besides. */
export interface Options {
  /** The node: what pretended pods do, images that nobody has, programs that stand for images besides the mover's. */
  readonly node?: Omit<Kubelet.Options, "name" | "directory"> | undefined
  /** What becomes of the mover's program: its restic, say, is another one. The folder is the scene's own. */
  readonly mover?: ((program: Program.Program, directory: string) => Program.Program) | undefined
  readonly timeoutMillis?: number | undefined
  /** Of the control plane, besides what all have. */
  readonly control?: Envtest.Options | undefined
}

/** Where a repository is, and what opens it: variables of restic. */
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
  /** Of this test alone; a place for repositories, certificates and the like. */
  readonly directory: string
  /** The node, named like the namespace. */
  readonly node: Kubelet.Kubelet
  /** Starts one more, with the same claims; it is like the first unless told otherwise. */
  readonly addNode: (
    name: string,
    options?: Options["node"]
  ) => Effect.Effect<Kubelet.Kubelet, never, Scope.Scope | Client.Client>
  /** The folder with the contents of a claim. */
  readonly folder: (claim: string) => string
  /**
   * Starts a manager in this namespace. Unless it is said who it is, it has the rights of the generated roles, and the test fails
   * if it asks for anything that it has no right to.
   */
  readonly manage: (
    controllers?: ReadonlyArray<Controller<Manager.Runtime>>,
    settings?: Omit<Managed.Settings, "namespaces"> & { readonly otherNamespaces?: ReadonlyArray<string> }
  ) => Effect.Effect<Managed.Managed, never, Scope.Scope>
  /** Runs restic itself; every exit code is a result. */
  readonly restic: (
    repository: Repository,
    ...args: ReadonlyArray<string>
  ) => Effect.Effect<Process.Result, Assets.MissingAsset>
}

export { command, image, mounts, program as mover } from "../../Mover.ts"

/** Makes a Secret of what a mover needs to open a repository: variables of restic. */
export const credentials = (
  { namespace }: Scene,
  name: string,
  stringData: { readonly [name: string]: string } = { RESTIC_PASSWORD: "correct horse" }
) => Client.create(Secret, { metadata: { namespace, name }, stringData })

/** Makes a claim with files in it, bound to a volume, and gives the folder that they are in. */
export const claim = (
  { folder, namespace }: Pick<Scene, "folder" | "namespace">,
  name: string,
  options: Claims.Options = {}
) =>
  Effect.gen(function* () {
    // They are there before anybody can mount the claim.
    yield* Effect.promise(() => Bun.write(join(folder(name), ".made"), "")).pipe(
      Effect.zipRight(Effect.promise(() => Bun.file(join(folder(name), ".made")).delete())),
      Effect.zipRight(Claims.write(folder(name), options.files ?? {}))
    )
    yield* Claims.bound(namespace, name, options)
    return folder(name)
  })

/** A claim that no volume is bound to. */
export const unboundClaim = ({ namespace }: Scene, name: string, options?: Claims.Options) =>
  Claims.unbound(namespace, name, options)

/** What is in a repository, oldest first; a defect, with restic's words, if it can't be opened. */
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

/** Has a pod evicted, as `kubectl drain` does. */
export const evict = ({ cluster, namespace }: Scene, pod: string) =>
  Effect.flatMap(
    cluster.request("POST", `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace } }
    }),
    ({ body, status }) => (status < 300 ? Effect.void : Effect.dieMessage(`pod ${pod} is not evicted: ${body}`))
  )

/** A node that pods find as long as the scope lasts, and its pods are gone before it. */
const node = (namespace: string, options: Kubelet.Options & { readonly name: string }) =>
  Effect.gen(function* () {
    // On a control plane that is shared, the next test's pods are not to be given to a node with nobody behind it.
    yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(Node, { name: options.name })))
    const kubelet = yield* Kubelet.start(options)
    yield* Effect.addFinalizer(() =>
      Client.deleteAll(Job, { namespace, propagation: "Background" }).pipe(
        Effect.zipRight(Client.deleteAll(Pod, { namespace, gracePeriodSeconds: 0 })),
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

/** A control plane of its own, because these tests count its nodes and add their own. */
const control = { controllers: true, scheduler: true, kwok: false }

/** The ways to declare a test. */
export const make = ({ controllers, crds }: Settings) => {
  const install = WebAppScene.once((cluster) => cluster.install(...crds))
  /** An account that may do what the generated roles say, in every namespace, and nothing else. */
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
                BunContext.layer
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
                  // The embedded cluster allows everybody everything.
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
    /** With restic, on a real control plane. For `*.real.test.ts`. */
    real,
    /** With restic, twice: on a real control plane and on the embedded one. For `*.real.test.ts`. */
    both: <A, E>(name: string, body: Body<A, E>, options?: Options): void => {
      real(`${name}, on a real cluster`, body, options)
      embedded(`${name}, on the embedded cluster`, body, options)
    },
    /** With pods that are pretended, on the cluster of the lane. For `*.cluster.test.ts`. */
    pretended: on(Shared.cluster, Lane.current, true)
  }
}
