/** The files in `released`: for each version, the CRDs that `homeostat crd` printed, and objects that were stored under them. */
import { join } from "node:path"
import type * as Narrowing from "@homeostat/runtime/resource/Narrowing"
import { Glob } from "bun"
import { loadAll } from "js-yaml"

/** The fields of a CustomResourceDefinition that the tests read. */
export interface Definition extends Narrowing.Definition {
  readonly metadata: { readonly name: string }
  readonly spec: Narrowing.Definition["spec"] & {
    readonly group: string
    readonly names: { readonly kind: string; readonly plural: string }
  }
}

/** An object of one of the kinds. */
export interface Stored {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly [field: string]: unknown }
  readonly status?: { readonly [field: string]: unknown }
}

/** A release. */
export interface Release {
  readonly version: string
  readonly definitions: ReadonlyArray<Definition>
  readonly objects: ReadonlyArray<Stored>
}

const folder = join(import.meta.dir, "released")

const read = async (path: string) => loadAll(await Bun.file(join(folder, path)).text())

/** All releases by version. */
export const releases: ReadonlyArray<Release> = await Promise.all(
  [...new Glob("*/definitions.yaml").scanSync(folder)].toSorted().map(async (path): Promise<Release> => {
    const version = path.replace(/\/.*/, "")
    return {
      version,
      // Files of this repository; the tests fail if their format is wrong.
      definitions: (await read(path)) as ReadonlyArray<Definition>,
      objects: (await read(`${version}/objects.yaml`)) as ReadonlyArray<Stored>
    }
  })
)
