/** The commands for a running cluster. They find it by its context in the kubeconfig. */
import { request } from "node:https"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Kubeconfig from "./Kubeconfig.ts"
import * as Manifests from "./Manifests.ts"

/** The cluster is not reachable, or rejects the command. */
export class RemoteError extends Data.TaggedError("RemoteError")<{ readonly message: string }> {}

/** The flags that select a cluster. */
export const flags = {
  name: Flag.parsed("name", {
    placeholder: "NAME",
    description: "The context of the cluster in the kubeconfig (default kubemem)",
    parse: Result.succeed,
    otherwise: "kubemem"
  }),
  kubeconfig: Flag.text("kubeconfig", {
    placeholder: "FILE",
    description: "The kubeconfig (default: the first file of KUBECONFIG, else ~/.kube/config)"
  })
}

const send = (access: Kubeconfig.Access, method: string, path: string): Effect.Effect<string, RemoteError> =>
  Effect.callback((resume) => {
    const { ca, server, token } = access
    const unreachable = (reason: string) =>
      resume(
        new RemoteError({ message: `cannot reach the cluster: ${server} (${reason}; start it with kubemem start)` })
      )
    const asked = request(
      `${server}${path}`,
      { method, ca, headers: { authorization: `Bearer ${token}` } },
      (answer) => {
        let body = ""
        answer.setEncoding("utf8")
        answer.on("data", (part) => {
          body += part
        })
        answer.on("error", ({ message }) => unreachable(message))
        answer.on("end", () =>
          resume(
            answer.statusCode === 200 ? Effect.succeed(body) : new RemoteError({ message: Manifests.messageOf(body) })
          )
        )
      }
    )
    asked.on("error", ({ message }) => unreachable(message))
    asked.end()
    return Effect.sync(() => asked.destroy())
  })

const command = (
  name: string,
  description: string,
  words: { readonly placeholder: string; readonly most: number } | undefined,
  requestOf: (word: string | undefined) => readonly [method: string, path: string]
) =>
  Verb.make(name, {
    description,
    words,
    flags,
    run: ({ kubeconfig, name }, [word]) =>
      Effect.gen(function* () {
        const access = yield* Kubeconfig.read(Kubeconfig.pathOf(kubeconfig), name)
        const [method, path] = requestOf(word)
        yield* Console.log((yield* send(access, method, path)).trim())
      })
  })

const snapshotName = { placeholder: "[NAME]", most: 1 }

const ofName = (path: string) => (name: string | undefined) =>
  ["POST", name === undefined ? path : `${path}?name=${encodeURIComponent(name)}`] as const

/** The verbs for a running cluster. */
export const verbs = [
  command("reset", "Restore the state that the cluster started with", undefined, ofName("/reset")),
  command("snapshot", "Save the state of the cluster under a name", snapshotName, ofName("/snapshot")),
  command("restore", "Restore a saved state", snapshotName, ofName("/restore")),
  command(
    "clock",
    "Print the cluster's time, or advance it by a duration",
    { placeholder: "[DURATION]", most: 1 },
    (by) => (by === undefined ? ["GET", "/clock"] : ["POST", `/clock?advance=${encodeURIComponent(by)}`])
  ),
  command("stop", "Stop the cluster", undefined, ofName("/stop"))
]
