/** The kinds Backup and Restore: the API server's responses for valid and invalid objects. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, Schema } from "effect"

/** The part of a response that the tests compare. */
const Body = Schema.fromJsonString(
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

/** A response of the API server. */
export interface Answer {
  readonly status: number
  /** The fields that the API server reports, without duplicates. */
  readonly fields: ReadonlyArray<string>
  readonly message: string
}

/** The path of a kind's objects in a namespace. */
export const pathOf = (namespace: string, kind: Kind): string =>
  `/apis/backup.example.com/v1/namespaces/${namespace}/${kind.toLowerCase()}s`

/** The kinds of the backup controllers. */
export type Kind = "Backup" | "Restore"

const answer = ({ body, status }: { readonly body: string; readonly status: number }) =>
  Effect.map(Schema.decodeUnknownEffect(Body)(body), ({ details, message = "" }): Answer => {
    // `<nil>` means that the API server skipped some rules because of an earlier error.
    const fields = (details?.causes ?? []).map(({ field = "" }) => field.replace(/^\./, ""))
    return { status, fields: [...new Set(fields)].filter((field) => field !== "<nil>"), message }
  })

/** Creates an object with dry run. */
export const ask = (cluster: ControlPlane, namespace: string, kind: Kind, spec: object) =>
  Effect.flatMap(
    cluster.request("POST", `${pathOf(namespace, kind)}?fieldValidation=Strict&dryRun=All`, {
      body: { apiVersion: "backup.example.com/v1", kind, metadata: { name: "shop" }, spec }
    }),
    answer
  )

/** Patches an object, by default with dry run. */
export const change = (cluster: ControlPlane, path: string, patch: object, dryRun = true) =>
  Effect.flatMap(
    cluster.request("PATCH", `${path}?fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`, {
      body: patch,
      contentType: "application/merge-patch+json"
    }),
    answer
  )

/** The texts of the API server's `Warning` headers for an object that the server accepts. */
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
