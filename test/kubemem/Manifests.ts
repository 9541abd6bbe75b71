/** Reads objects from YAML or JSON files, and applies them with server-side apply. */
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import * as Yaml from "@homeostat/apiserver/codec/Yaml"
import type { ApiServer } from "@homeostat/apiserver/http/ApiServer"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** A file is not readable, or the API server rejects an object. The message names the file and the object. */
export class ManifestError extends Data.TaggedError("ManifestError")<{ readonly message: string }> {}

/** An object, and the path of its file. */
export interface Manifest {
  readonly path: string
  readonly object: Json.JsonObject
}

/** Reads the objects of a file, or of all `.yaml`, `.yml` and `.json` files below a folder, sorted by name. */
export const read = (path: string): Effect.Effect<ReadonlyArray<Manifest>, ManifestError> =>
  Effect.tryPromise({
    try: async () => {
      const files = (await stat(path)).isDirectory()
        ? (await readdir(path, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).sort()
        : [""]
      const all = await Promise.all(files.map((name) => readOne(name === "" ? path : join(path, name))))
      return all.flat()
    },
    catch: (error) =>
      error instanceof ManifestError
        ? error
        : new ManifestError({
            message: `cannot read manifests: ${path} (${error instanceof Error ? error.message : error})`
          })
  })

const readOne = async (path: string): Promise<ReadonlyArray<Manifest>> => {
  const text = await readFile(path, "utf8")
  try {
    // The separators that kubectl accepts.
    return text
      .split(/^---(?:[ \t].*)?$/m)
      .flatMap((document) => objectsOf(Yaml.parse(document).value).map((object) => ({ path, object })))
  } catch (error) {
    throw new ManifestError({
      message: `invalid manifest: ${path} (${error instanceof Error ? error.message : error})`
    })
  }
}

const objectsOf = (document: Json.Json): ReadonlyArray<Json.JsonObject> => {
  if (document === null) return []
  if (!Json.isObject(document)) throw new Error("not a Kubernetes object")
  if (document.kind === "List") return Json.objects(document.items).flatMap(objectsOf)
  if (Json.text(document.apiVersion) === undefined || Json.text(document.kind) === undefined) {
    throw new Error("apiVersion and kind are required")
  }
  return [document]
}

/** Sorts CRDs and namespaces first, because other objects need them. */
const rankOf = ({ kind }: Json.JsonObject): number =>
  kind === "CustomResourceDefinition" ? 0 : kind === "Namespace" ? 1 : 2

/** Applies objects: CRDs and namespaces first, then the others in their order. */
export const apply = (server: ApiServer, manifests: ReadonlyArray<Manifest>): Effect.Effect<void, ManifestError> =>
  Effect.forEach(
    manifests.toSorted((one, other) => rankOf(one.object) - rankOf(other.object)),
    (manifest) => applyOne(server, manifest),
    { discard: true }
  )

const applyOne = (server: ApiServer, { object, path }: Manifest): Effect.Effect<void, ManifestError> => {
  const [apiVersion, kindName] = [Json.text(object.apiVersion) ?? "", Json.text(object.kind) ?? ""]
  const name = Json.text(Json.at(object, "metadata", "name")) ?? ""
  const refuse = (reason: string) =>
    new ManifestError({ message: `cannot apply ${kindName} "${name}": ${path} (${reason})` })
  const kind = server.registry.named(apiVersion, kindName)
  if (kind === undefined) return refuse(`no matches for kind "${kindName}" in version "${apiVersion}"`)
  if (name === "") return refuse("metadata.name is required")
  const namespace = Json.text(Json.at(object, "metadata", "namespace")) ?? "default"
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const resource = `${kind.namespaced ? `/namespaces/${namespace}` : ""}/${kind.plural}/${name}`
  const request = server.handle({
    method: "PATCH",
    path: `${root}${resource}?fieldManager=kubemem&force=true`,
    headers: { "content-type": "application/apply-patch+yaml" },
    body: JSON.stringify(object),
    user: { name: "kubemem", groups: ["system:masters"] }
  })
  return Effect.flatMap(request, ({ body, status }) =>
    status < 300 ? Effect.void : refuse(messageOf(typeof body === "string" ? body : ""))
  )
}

/** Returns the message of a Status, or the text of another response. */
export const messageOf = (body: string): string => {
  try {
    return Json.text(Json.at(JSON.parse(body), "message")) ?? body
  } catch {
    return body
  }
}
