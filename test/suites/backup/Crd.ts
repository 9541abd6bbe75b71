/** The kinds Backup and Restore as an API server answers for them. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, Schema } from "effect"

/** As much of an answer as is compared. */
const Body = Schema.parseJson(
  Schema.Struct({
    message: Schema.optional(Schema.String),
    details: Schema.optional(
      Schema.Struct({
        causes: Schema.optional(
          Schema.Array(
            Schema.Struct({ field: Schema.optional(Schema.String), message: Schema.optional(Schema.String) })
          )
        )
      })
    )
  })
)

/** What the API server says to a request. */
export interface Answer {
  readonly status: number
  /** The fields that it complains of, each once. */
  readonly fields: ReadonlyArray<string>
  readonly message: string
}

/** Where the objects of a kind are asked for. */
export const pathOf = (namespace: string, kind: Kind): string =>
  `/apis/backup.example.com/v1/namespaces/${namespace}/${kind.toLowerCase()}s`

/** The kinds. */
export type Kind = "Backup" | "Restore"

const answer = ({ body, status }: { readonly body: string; readonly status: number }) =>
  Effect.map(Schema.decodeUnknown(Body)(body), ({ details, message = "" }): Answer => {
    // `<nil>` says that some rules were not looked at, as there is something wrong already.
    const fields = (details?.causes ?? []).map(({ field = "" }) => field.replace(/^\./, ""))
    return { status, fields: [...new Set(fields)].filter((field) => field !== "<nil>"), message }
  })

/** Asks for an object that is not to be stored. */
export const ask = (cluster: ControlPlane, namespace: string, kind: Kind, spec: object) =>
  Effect.flatMap(
    cluster.request("POST", `${pathOf(namespace, kind)}?fieldValidation=Strict&dryRun=All`, {
      body: { apiVersion: "backup.example.com/v1", kind, metadata: { name: "shop" }, spec }
    }),
    answer
  )

/** Asks for a change of an object, to be stored only if that is said. */
export const change = (cluster: ControlPlane, path: string, patch: object, dryRun = true) =>
  Effect.flatMap(
    cluster.request("PATCH", `${path}?fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`, {
      body: patch,
      contentType: "application/merge-patch+json"
    }),
    answer
  )

/** What an API server takes, and warns of: the texts of its `Warning` headers. */
export const warnings = (cluster: ControlPlane, path: string, body: object) =>
  Effect.promise(async () => {
    const { ca, cert, key, server, token } = cluster.admin
    const response = await fetch(`${server}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify(body),
      tls: { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) }
    })
    await response.arrayBuffer()
    const texts = Array.from((response.headers.get("warning") ?? "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g))
    return { status: response.status, warnings: texts.map(([, text = ""]) => text.replaceAll('\\"', '"')) }
  })
