/**
 * A dialogue: requests that a client sends one after the other, and what a server answers. The same dialogue takes place with a
 * kube-apiserver, whose answers are recorded, and with the embedded server.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { Data, Effect } from "effect"
import * as Comparable from "./Comparable.ts"
import type { Answer, Request, Server } from "./Server.ts"
import * as Words from "./Words.ts"

/** What a step can depend on. */
export interface Seen {
  readonly namespace: string
  /** The object at the path `reads`, before the step. */
  readonly live: JsonObject | undefined
  /** The first resourceVersion of that object. */
  readonly first: string | undefined
  readonly answers: ReadonlyArray<Answer>
  /** When the step begins, in milliseconds since 1970. */
  readonly now: number
  /** Puts the values of this dialogue in place of the words of a comparable request. */
  readonly restored: Comparable.Comparer["restored"]
}

/** A request, or how to make it from the answers before. `NAMESPACE` in a request stands for the dialogue's namespace. */
export type Step = Request | ((seen: Seen) => Request)

/** A part of the body of an answer for a path. */
export type Part = (path: string, body: Json) => Json

/** A dialogue in a namespace of its own. */
export interface Dialogue {
  /** What it shows; the key of its recording. */
  readonly name: string
  readonly steps: ReadonlyArray<Step>
  /** A path that is read after each step, and compared with it. */
  readonly reads?: string | undefined
  /** Names of response headers to compare, in lower case. */
  readonly headers?: ReadonlyArray<string> | undefined
  /** Parts of messages that each server puts into words of its own: they are not compared. */
  readonly unlike?: RegExp | undefined
  /** What is compared of a body, where it is not all of it. */
  readonly compared?: Part | undefined
  /** Reduces a real body to the part that the embedded server serves. It applies to the answers of the latter alone. */
  readonly served?: Part | undefined
  /** It would meet other tests on a control plane that they share, as objects outside of namespaces do. */
  readonly alone?: boolean | undefined
  /** Each step gets a second of its own, so that its times differ from those of the step before. */
  readonly spaced?: boolean | undefined
}

/** A request and its answer, both in their comparable form. */
export interface Exchange {
  readonly asked: Json
  /** When the server answered, in seconds since the beginning of the dialogue. */
  readonly at: number
  readonly answer: JsonObject
}

/** Says when the step with this index begins, in milliseconds since 1970, and may wait for that time. */
export type Pace = (index: number) => Effect.Effect<number>

/** A second ended while the server answered, so the times in its answer are unknown. The dialogue can be repeated. */
export class Straddled extends Data.TaggedError("Straddled")<{ readonly dialogue: string }> {}

/** Has the dialogue in a namespace, and deletes the objects that it created. */
export const play = (
  server: Server,
  { compared = (_, body) => body, headers, name, reads, steps, unlike }: Dialogue,
  namespace: string,
  pace: Pace
): Effect.Effect<ReadonlyArray<Exchange>, Straddled> =>
  Effect.suspend(() => {
    const created = new Set<string>()
    const placed = <A>(value: A): A => JSON.parse(JSON.stringify(value).replaceAll("NAMESPACE", namespace))
    const body = Effect.gen(function* () {
      const exchanges: Array<Exchange> = []
      const answers: Array<Answer> = []
      let live: JsonObject | undefined
      let first: string | undefined
      let began: number | undefined
      let comparer: Comparable.Comparer | undefined
      for (const [index, step] of steps.entries()) {
        const now = yield* pace(index)
        began ??= now
        comparer ??= Comparable.make(namespace, began)
        const { restored } = comparer
        const request = placed(
          typeof step === "function" ? step({ namespace, live, first, answers, now, restored }) : step
        )
        const asked = comparer.request(request)
        const answer = yield* server(request, now)
        note(created, request, answer)
        answers.push(answer)
        if (reads !== undefined) {
          const read = yield* server({ method: "GET", path: placed(reads) }, now)
          live = read.status === 200 ? J.object(read.body) : undefined
          first ??= J.text(J.at(live, "metadata", "resourceVersion"))
        }
        const at = answer.at ?? (answer.status >= 300 ? now : undefined)
        if (at === undefined) return yield* new Straddled({ dialogue: name })
        exchanges.push({
          asked,
          at: Math.floor(at / 1000) - Math.floor(began / 1000),
          answer: Words.without(
            comparer.answer({ ...answer, body: compared(request.path, answer.body) }, live, headers),
            unlike
          )
        })
      }
      return exchanges
    })
    return Effect.ensuring(
      body,
      // The objects of a custom kind go before their definition.
      Effect.suspend(() =>
        Effect.forEach([...created].reverse(), (path) => remove(server, path, pace), { discard: true })
      )
    )
  })

/** Remembers the path of an object that a request has created. */
const note = (created: Set<string>, { method, path }: Request, { body, status }: Answer): void => {
  if (status !== 201) return
  const [resource = ""] = path.split("?")
  const name = J.text(J.at(body, "metadata", "name")) ?? ""
  if (method === "PATCH" || method === "PUT") created.add(resource)
  else if (method === "POST" && name !== "" && !resource.endsWith(`/${name}`)) created.add(`${resource}/${name}`)
}

/** Deletes an object: a Service holds an address, and an object outside of namespaces is in the way of other dialogues. */
const remove = (server: Server, path: string, pace: Pace): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* pace(0)
    const removed = yield* server({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } }, now)
    if (removed.status !== 200) return
    const body = { metadata: { finalizers: null } }
    yield* server({ method: "PATCH", path, body, contentType: "application/merge-patch+json" }, now)
  })
