/** `kubemem start` runs the cluster until a signal or `kubemem stop`. */
import { hostname } from "node:os"
import { join } from "node:path"
import type { ApiServer } from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import * as User from "@homeostat/apiserver/model/User"
import * as State from "@homeostat/apiserver/storage/Snapshot"
import type { Saved } from "@homeostat/apiserver/storage/Store"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as Authority from "@homeostat/runtime/webhook/Authority"
import * as Controllers from "@homeostat/testkit/controllers/Controllers"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Control from "./Control.ts"
import * as Credentials from "./Credentials.ts"
import * as Detach from "./Detach.ts"
import * as Kubeconfig from "./Kubeconfig.ts"
import * as Manifests from "./Manifests.ts"
import * as Remote from "./Remote.ts"
import * as Users from "./Users.ts"

const number = (name: string, description: string, most: number) =>
  Flag.parsed(name, {
    placeholder: "NUMBER",
    description,
    otherwise: undefined,
    parse: (text) => {
      const value = Number(text)
      return /^\d+$/.test(text) && value <= most
        ? Result.succeed(value)
        : Result.fail(`invalid value: "${text}" (must be a whole number from 0 to ${most})`)
    }
  })

const controllerNames = Controllers.all().map(({ name }) => name)

const flags = {
  port: number("port", "The port of the API server (default: a free one)", 65_535),
  host: Flag.text("host", { placeholder: "ADDRESS", description: "The address to listen on (default 127.0.0.1)" }),
  ...Remote.flags,
  data: Flag.text("data", {
    placeholder: "DIR",
    description: "A folder for the cluster's state and clock, which the next start continues (default: none)"
  }),
  crds: Flag.list("crds", { placeholder: "PATH", description: "Files or folders with CRDs to apply at the start" }),
  apply: Flag.list("apply", {
    placeholder: "PATH",
    description: "Files or folders with objects to apply at the start"
  }),
  nodes: number("nodes", "The number of nodes (default 1)", 1000),
  controllers: Flag.list("controllers", {
    placeholder: "NAME",
    description: "The controllers: * for all, NAME for one, -NAME to leave one out (default *)",
    check: (name) =>
      ["*", ...controllerNames].includes(name.replace(/^-/, ""))
        ? Result.succeed(name)
        : Result.fail(`unknown controller: "${name}" (must be one of *, ${controllerNames.join(", ")})`)
  }),
  users: Flag.text("users", {
    placeholder: "FILE",
    description: 'Users with tokens, a line each: token,user,uid,"group1,group2"'
  }),
  seed: number("seed", "A seed for uids and generated names, for reproducible runs", 2 ** 31 - 1),
  detach: Flag.toggle("detach", { description: "Return when the cluster is ready, and let it run in the background" }),
  json: Flag.toggle("json", { description: "Print the address, CA and token as one line of JSON" })
}

/** The verb `kubemem start`. */
export const verb = Verb.make("start", {
  description: "Start a cluster: an API server, controllers, a scheduler and nodes that pretend to run pods",
  flags,
  examples: [
    ["Start a cluster for kubectl", "start"],
    ["Start with CRDs and objects, on a fixed port", "start --port 6443 --crds config/crd --apply samples"]
  ],
  untilSignal: true,
  run: (values) =>
    Effect.gen(function* () {
      if (values.detach) {
        const args = process.argv.slice(1).filter((word) => !/^--detach(=|$)/.test(word))
        return yield* Console.log(yield* Detach.run(args, values.data))
      }
      const { data } = values
      const credentials = yield* Credentials.make(data, values.seed)
      const state = data === undefined ? undefined : yield* Effect.provide(State.load(data), Path.layer)
      const time = VirtualTime.leaping({ ahead: state?.ahead })
      return yield* started(values, { credentials, state, time }).pipe(
        Effect.scoped,
        Effect.provide(Path.layer),
        Effect.provideService(Clock.Clock, time.clock)
      )
    })
})

/** The contents of the data folder, and the clock that continues at its time. */
interface Origin {
  readonly credentials: Credentials.Credentials
  readonly state: State.State | undefined
  readonly time: VirtualTime.LeapingTime
}

const started = (values: Flag.Values<typeof flags>, { credentials, state, time }: Origin) =>
  Effect.gen(function* () {
    const { data, host = "127.0.0.1", kubeconfig, name } = values
    const began = yield* Clock.currentTimeMillis
    const { authority, seed, token } = credentials
    const users = values.users === undefined ? [] : yield* Users.read(values.users)
    const manifests = yield* Effect.forEach([...values.crds, ...values.apply], Manifests.read)
    const nodes = values.nodes ?? 1
    const cluster = yield* EmbeddedCluster.make({
      seed,
      saved: state,
      certificates: authority.certificate,
      controllers: chosen(values.controllers),
      kubelet: Array.from({ length: nodes }, (_, index) => ({ name: nodes === 1 ? "node" : `node-${index + 1}` }))
    })
    const { server } = cluster
    server.addToken(token, { name: "kubernetes-admin", groups: ["system:masters"] })
    for (const { token, user } of users) server.addToken(token, user)
    yield* Manifests.apply(server, manifests.flat())
    if (data !== undefined) yield* persist(server, time, data)

    const stop = yield* Deferred.make<void>()
    const controlled = yield* Control.around({ cluster, time, stop, snapshots: yield* snapshotsIn(data) })
    // The certificate is valid in real time, because clients compare it with the real time.
    const tls = Authority.issue(authority, [...new Set(namesOf(host))], began - time.ahead())
    const { port } = yield* Http.serve(controlled, {
      host,
      port: values.port,
      tls: { cert: tls.certificate, key: tls.key },
      anonymous: User.anonymous
    })
    const address = `https://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`
    const accessOf = (context: string, token: string) => ({
      context,
      server: address,
      ca: authority.certificate,
      token
    })
    const accesses = [accessOf(name, token), ...users.map(({ token, user }) => accessOf(`${name}-${user.name}`, token))]
    const path = Kubeconfig.pathOf(kubeconfig)
    yield* Effect.acquireRelease(Kubeconfig.add(path, accesses), () =>
      Effect.catch(
        Kubeconfig.remove(
          path,
          accesses.map(({ context }) => context),
          address
        ),
        ({ message }) => Console.error(`kubemem: ${message}`)
      )
    )
    const millis = (yield* Clock.currentTimeMillis) - began
    yield* Console.log(
      values.json
        ? JSON.stringify({ ...accessOf(name, token), kubeconfig: path, pid: process.pid, millis })
        : `Kubernetes is ready at ${address} (${millis} ms). kubectl uses it: context ${name} in ${path}.\nStop it with kubemem stop.`
    )
    yield* Deferred.await(stop)
    // The client of `kubemem stop` has to receive its response before the connections close.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  })

/** The names and addresses in the serving certificate. */
const namesOf = (host: string): ReadonlyArray<string> => [
  "127.0.0.1",
  "localhost",
  "10.0.0.1",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  hostname().toLowerCase(),
  ...(host === "0.0.0.0" || host === "::" ? [] : [host])
]

/** Selects controllers as kube-controller-manager does for `--controllers`. */
const chosen = (names: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  if (names.length === 0) return undefined
  const wanted = names.includes("*") ? controllerNames : controllerNames.filter((name) => names.includes(name))
  return names.includes("-*") ? [] : wanted.filter((name) => !names.includes(`-${name}`))
}

/** The clock of the machine. */
const realClock = Context.get(Context.empty(), Clock.Clock)

/** Writes the state into a folder at the end of the run, and at most ten seconds of real time after a change. */
const persist = (server: ApiServer, time: VirtualTime.LeapingTime, folder: string) =>
  Effect.gen(function* () {
    let written = -1
    const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
    const save = Effect.suspend(() => {
      const { revision } = server.store
      return Effect.andThen(
        State.save({ saved: () => ({ ...server.saved(), ahead: time.ahead() }) }, folder),
        Effect.sync(() => {
          written = revision
        })
      )
    }).pipe(
      Effect.provide(services),
      Effect.catch(({ message }) => Console.error(`kubemem: cannot write the state: ${message}`))
    )
    const saved = Effect.suspend(() => (server.store.revision === written ? Effect.void : save))
    // The clock may have moved without a change of an object.
    yield* Effect.addFinalizer(() => save)
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(Effect.provideService(Effect.sleep("10 seconds"), Clock.Clock, realClock), saved))
    )
  })

/** The snapshots in the memory of this process, and those in the folder. */
const snapshotsIn = (folder: string | undefined) =>
  Effect.gen(function* () {
    const kept = new Map<string, Saved>()
    const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
    const files = yield* FileSystem.FileSystem
    const place = folder === undefined ? undefined : join(folder, "snapshots")
    const snapshots: Control.Snapshots = {
      save: (name, saved) =>
        Effect.andThen(
          Effect.sync(() => void kept.set(name, saved)),
          place === undefined
            ? Effect.void
            : Effect.provide(State.save({ saved: () => saved }, join(place, name)), services)
        ),
      load: (name) => {
        const found = kept.get(name)
        if (found !== undefined || place === undefined) return Effect.succeed(found)
        return Effect.provide(State.load(join(place, name)), services)
      },
      names:
        place === undefined
          ? Effect.sync(() => [...kept.keys()])
          : Effect.orElseSucceed(files.readDirectory(place), () => [])
    }
    return snapshots
  })
