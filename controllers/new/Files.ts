/** The files of a new controller. Pure. */
import type { Names } from "./Names.ts"
import * as Sources from "./Sources.ts"
import * as Templates from "./Templates.ts"
import * as Tests from "./Tests.ts"

/** The texts of the files by their paths from the root: the module, and its files elsewhere. */
export const of = (names: Names, version: string): ReadonlyMap<string, string> => {
  const folder = `controllers/${names.name}`
  return new Map([
    [`${folder}/package.json`, Templates.manifest(names, version)],
    [`${folder}/${names.kind}.ts`, Sources.kind(names)],
    [`${folder}/children.ts`, Sources.children(names)],
    [`${folder}/controller.ts`, Sources.controller(names)],
    [`${folder}/controller.test.ts`, Tests.controller(names)],
    [`${folder}/README.md`, Templates.page(names)],
    [`deploy/samples/${names.name}.yaml`, Templates.sample(names)]
  ])
}
