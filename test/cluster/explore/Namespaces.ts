/**
 * The namespaces of one user of a shared cluster. Each has a suffix in the cluster that the user does not see. Other namespaces and their
 * objects are hidden from the user.
 */
import * as Json from "@homeostat/apiserver/model/Json"
import type { Request } from "@homeostat/runtime/client/Request"
import type { Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Effect from "effect/Effect"
import { askedOf } from "../RequestMatch.ts"

const collection = "/api/v1/namespaces"

/** Matches `/api/v1/namespaces/NAME` and `/apis/GROUP/VERSION/namespaces/NAME`. */
const within = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/namespaces\/([^/?]+)/

const parsed = (text: string): Json.Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Adds the suffix to all members `namespace` of a body, and to the name of a Namespace. */
const suffixed = (value: Json.Json, suffix: string): Json.Json => {
  if (Json.isList(value)) return value.map((item) => suffixed(item, suffix))
  if (!Json.isObject(value)) return value
  const members = Object.entries(value).map(([name, inner]): [string, Json.Json | undefined] => {
    if (inner === undefined) return [name, inner]
    if (name === "namespace" && typeof inner === "string" && inner !== "") return [name, `${inner}${suffix}`]
    if (name === "metadata" && value.kind === "Namespace" && Json.isObject(inner)) {
      return [name, { ...inner, name: `${Json.text(inner.name)}${suffix}` }]
    }
    return [name, suffixed(inner, suffix)]
  })
  return Object.fromEntries(members)
}

/** Whether the user sees an object of a collection. */
const isSeen = (object: Json.Json | undefined, at: string, suffix: string): boolean => {
  const { name = "", namespace } = Json.texts(Json.at(object, "metadata"))
  return at === collection ? name.endsWith(suffix) : namespace === undefined || namespace.endsWith(suffix)
}

/** Splits a stream into lines with their line ends. */
const lines = (next: Streaming["next"]): Streaming["next"] => {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let rest = ""
  let isEnded = false
  const line: Streaming["next"] = Effect.suspend(() => {
    const end = rest.indexOf("\n") + 1
    if (end > 0) {
      const first = rest.slice(0, end)
      rest = rest.slice(end)
      return Effect.succeed(encoder.encode(first))
    }
    if (isEnded) return Effect.succeed(undefined)
    return Effect.flatMap(next, (part) => {
      isEnded = part === undefined
      rest += decoder.decode(part, { stream: !isEnded })
      if (isEnded && rest !== "") rest += "\n"
      return line
    })
  })
  return line
}

/** Returns a transport to the namespaces with this suffix. */
export const over = (suffix: string, next: Transport.Transport["Service"]): Transport.Transport["Service"] => {
  const asked = (request: Request): Request => {
    const { body, headers, path } = request
    const content = body === undefined ? undefined : parsed(body)
    return {
      ...request,
      path: path.replace(within, (_, root: string, name: string) => `${root}/namespaces/${name}${suffix}`),
      headers: { ...headers, ...(headers.accept?.includes("protobuf") === true ? { accept: "application/json" } : {}) },
      body: content === undefined ? body : JSON.stringify(suffixed(content, suffix))
    }
  }
  const plain = (text: string): string => text.replaceAll(suffix, "")
  const filtered = (request: Request, body: string): string => {
    const { collection, namespace, verb } = askedOf(request)
    if (verb !== "list" || namespace !== "") return body
    const list = parsed(body)
    if (!Json.isObject(list) || !Json.isList(list.items)) return body
    return JSON.stringify({ ...list, items: list.items.filter((item) => isSeen(item, collection, suffix)) })
  }
  const watched = (request: Request, streaming: Streaming): Streaming => {
    const { collection } = askedOf(request)
    const decoder = new TextDecoder()
    const encoder = new TextEncoder()
    const line = lines(streaming.next)
    const event: Streaming["next"] = Effect.flatMap(line, (part) => {
      if (part === undefined) return Effect.succeed(part)
      const text = decoder.decode(part)
      const { object, type } = Json.object(parsed(text))
      return type === "BOOKMARK" || type === "ERROR" || isSeen(object, collection, suffix)
        ? Effect.succeed(encoder.encode(plain(text)))
        : event
    })
    return { ...streaming, next: event }
  }
  return Transport.Transport.of({
    server: next.server,
    send: (request) =>
      Effect.map(next.send(asked(request)), (response) => ({
        ...response,
        body: plain(filtered(request, response.body))
      })),
    open: (request) =>
      Effect.map(next.open(asked(request)), (streaming) =>
        askedOf(request).verb === "watch" && streaming.status === 200 ? watched(request, streaming) : streaming
      )
  })
}
