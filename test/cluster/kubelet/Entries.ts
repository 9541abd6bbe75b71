/**
 * The entries of Secrets and ConfigMaps. The kubelet waits for an object that a pod refers to and that does not exist yet, as a real node
 * does.
 */
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** A container cannot start because an object or a key is missing. */
export class Missing extends Data.TaggedError("Missing")<{ readonly message: string }> {}

type Entries = ReadonlyMap<string, Uint8Array>

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const absent = (kind: string, name: string, optional: boolean | undefined) => (error: { readonly _tag: string }) =>
  error._tag === "NotFound" && optional === true
    ? Effect.succeed<Entries>(new Map())
    : error._tag === "NotFound"
      ? Effect.fail(new Missing({ message: `${kind} ${JSON.stringify(name)} not found` }))
      : Effect.fail(new Missing({ message: `${kind} ${JSON.stringify(name)} can't be read: ${error._tag}` }))

/** Returns the entries of a Secret; no entries if the Secret is missing and optional. */
export const secret = (namespace: string, name: string, optional?: boolean) =>
  Client.get(Secret, { namespace, name }).pipe(
    Effect.map(
      ({ data = {} }): Entries =>
        new Map(Object.entries(data).map(([key, value]) => [key, Uint8Array.from(Buffer.from(value, "base64"))]))
    ),
    Effect.catch(absent("secret", name, optional))
  )

/** Returns the entries of a ConfigMap; no entries if the ConfigMap is missing and optional. */
export const configMap = (namespace: string, name: string, optional?: boolean) =>
  Client.get(ConfigMap, { namespace, name }).pipe(
    Effect.map(
      ({ binaryData = {}, data = {} }): Entries =>
        new Map([
          ...Object.entries(data).map(([key, value]): [string, Uint8Array] => [key, bytes(value)]),
          ...Object.entries(binaryData).map(([key, value]): [string, Uint8Array] => [
            key,
            Uint8Array.from(Buffer.from(value, "base64"))
          ])
        ])
    ),
    Effect.catch(absent("configmap", name, optional))
  )
