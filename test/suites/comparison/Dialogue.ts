/** Dialogues: successive requests to a kube-apiserver and to the embedded server. A recording stores the kube-apiserver's answers. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { Data, Effect } from "effect"
import * as Comparable from "./Comparable.ts"
import type { Answer, Request, Server } from "./Server.ts"
import * as Words from "./Words.ts"

/** The values that a step can use. */
export interface Seen {
  readonly namespace: string
  /** The object at the path `reads`, before the step. */
  readonly live: JsonObject | undefined
  /** The first resourceVersion of that object. */
  readonly first: string | undefined
  readonly answers: ReadonlyArray<Answer>
  /** When the step begins, in milliseconds since 1970. */
  readonly now: number
  /** Replaces the placeholders of a comparable request by the values of this dialogue. */
  readonly restored: Comparable.Comparer["restored"]
}

/** A request, fixed or computed from earlier answers. `NAMESPACE` stands for the namespace of the dialogue. */
export type Step = Request | ((seen: Seen) => Request)

/** Selects a part of the body of a path's answer. */
export type Part = (path: string, body: Json) => Json

/** Compares a list without its resourceVersion, which the writes of other dialogues raise. */
export const withoutRevision: Part = (_, body) => {
  if (J.at(body, "items") === undefined && J.at(body, "rows") === undefined) return body
  const { resourceVersion, ...metadata } = J.object(J.at(body, "metadata"))
  return { ...J.object(body), metadata: { ...metadata, hasRevision: resourceVersion !== undefined } }
}

/** A dialogue in a separate namespace. */
export interface Dialogue {
  /** The key of its recording. */
  readonly name: string
  readonly steps: ReadonlyArray<Step>
  /** A path to read and compare after each step. */
  readonly reads?: string | undefined
  /** Names of response headers to compare, in lower case. */
  readonly headers?: ReadonlyArray<string> | undefined
  /** Parts of messages that the comparison ignores. */
  readonly unlike?: RegExp | undefined
  /** The compared part of a body; default: the whole. */
  readonly compared?: Part | undefined
  /** The part of a real body that the embedded server serves. */
  readonly served?: Part | undefined
  /** The dialogue would disturb other tests on a shared control plane. */
  readonly alone?: boolean | undefined
  /** Each step runs in a separate second. */
  readonly spaced?: boolean | undefined
}

/** A request and its answer, both in their comparable form. */
export interface Exchange {
  readonly asked: Json
  /** The time of the answer, in seconds since the beginning of the dialogue. */
  readonly at: number
  readonly answer: JsonObject
}

/** Waits until a step may begin. Returns the time in milliseconds since 1970. */
export type Pace = (index: number) => Effect.Effect<number>

/** A second ended while the server answered. The test can repeat the dialogue. */
export class Straddled extends Data.TaggedError("Straddled")<{ readonly dialogue: string }> {}

/** Plays the dialogue in a namespace, and deletes the objects that it created. */
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
      // In reverse order: objects of a custom kind before their definition.
      Effect.suspend(() =>
        Effect.forEach([...created].reverse(), (path) => remove(server, path, pace), { discard: true })
      )
    )
  })

/** Records the path of a created object. */
const note = (created: Set<string>, { method, path }: Request, { body, status }: Answer): void => {
  if (status !== 201) return
  const [resource = ""] = path.split("?")
  const name = J.text(J.at(body, "metadata", "name")) ?? ""
  if (method === "PATCH" || method === "PUT") created.add(resource)
  else if (method === "POST" && name !== "" && !resource.endsWith(`/${name}`)) created.add(`${resource}/${name}`)
}

/** Deletes an object that would disturb other dialogues. */
const remove = (server: Server, path: string, pace: Pace): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* pace(0)
    const removed = yield* server({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } }, now)
    if (removed.status !== 200) return
    const body = { metadata: { finalizers: null } }
    yield* server({ method: "PATCH", path, body, contentType: "application/merge-patch+json" }, now)
  })
