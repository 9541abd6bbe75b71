/** The files that Restores write, compared file by file, and the files that the volume already contains. */
import { lstatSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as ExtendedAttribute from "./ExtendedAttribute.ts"
import * as Tree from "./Tree.ts"

/** The properties of a restored file. */
export type File = Tree.Entry & { readonly owner: string; readonly attribute: string | undefined }

/** The files of a folder by their paths. */
export const read = (folder: string): { readonly [path: string]: File } =>
  Object.fromEntries(
    Object.entries(Tree.read(folder)).map(([path, entry]) => {
      const full = join(folder, path)
      const { gid, uid } = lstatSync(full)
      return [path, { ...entry, owner: `${uid}:${gid}`, attribute: ExtendedAttribute.get(full) }]
    })
  )

/** Writes files of all kinds, two of which have an extended attribute. */
export const write = (folder: string): void => {
  Tree.write(folder)
  for (const path of ["plain", "deep"]) ExtendedAttribute.set(join(folder, path), `of ${path}`)
}

/** Fills a volume with files that are newer, older, of another type, or not in the snapshot. */
export const fill = (target: string): void => {
  mkdirSync(join(target, "deep/er"), { recursive: true })
  mkdirSync(join(target, "mine/too"), { recursive: true })
  writeFileSync(join(target, "plain"), "newer and longer")
  writeFileSync(join(target, "deep/er/own"), "mine")
  writeFileSync(join(target, "mine/file"), "mine")
  mkdirSync(join(target, "lost+found"))
}

/** The paths that the snapshot does not contain. */
export const own: ReadonlyArray<string> = ["deep/er/own", "mine", "mine/file", "mine/too"]
