/** Replays dialogues with the embedded server at the times of a real server's answers. */
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { Clock, Effect } from "effect"
import * as Dialogue from "./Dialogue.ts"
import type * as Dialogues from "./Dialogues.ts"
import * as Server from "./Server.ts"

/** The beginning of every replay, in milliseconds since 1970. */
const beginning = Date.parse("2027-03-04T05:06:07Z")

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** An embedded server with the custom kinds of a suite. */
export const make = ({ definitions = [], server: options }: Pick<Dialogues.Suite, "definitions" | "server">) =>
  Effect.gen(function* () {
    const server = Server.embedded(yield* ApiServer.make({ ...options, seed: 1 }))
    for (const definition of definitions) {
      const body = JSON.parse(JSON.stringify(definition)) as Json
      const { body: answer, status } = yield* server({ method: "POST", path: definitionsPath, body }, beginning)
      if (status !== 201) return yield* Effect.die(new Error(`invalid definition: ${JSON.stringify(answer)}`))
    }
    return server
  }).pipe(Effect.provideService(Clock.Clock, Server.standing(beginning)))

/** Plays a dialogue with an embedded server in a new namespace, each step at its recorded second. */
export const replay = (
  server: Server.Server,
  dialogue: Dialogue.Dialogue,
  namespace: string,
  seconds: ReadonlyArray<number>
) =>
  Effect.andThen(
    server({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: namespace } } }, beginning),
    Dialogue.play(server, dialogue, namespace, (step) => Effect.succeed(beginning + (seconds[step] ?? 0) * 1000))
  )

/** The embedded answer to compare. Where a kube-apiserver panics and sends no response, the embedded server must reject the request. */
export const besides = (embedded: Json, real: Json | undefined): Json => {
  const { live, status } = J.object(embedded)
  if (J.at(real, "status") !== Server.silent || (J.number(status) ?? 0) < 400) return embedded
  return { status: Server.silent, body: null, ...(live !== undefined && { live }) }
}
