/** Kinds by name only, for what is made of names and schemas: discovery and OpenAPI. */

import { type Name, names } from "../builtin/Names.ts"
import type { Kind, Strategy } from "../Kind.ts"

const strategy: Strategy = {
  default: () => {},
  prepareForCreate: () => {},
  prepareForUpdate: () => {},
  validate: () => [],
  validateUpdate: () => [],
  resetFields: []
}

const kindOf = (name: Name): Kind => ({
  ...name,
  listKind: `${name.kind}List`,
  storage: `${name.group}/${name.plural}`,
  schema: {},
  custom: false,
  strategy,
  status: name.subresources.some((subresource) => subresource.name === "status") ? strategy : undefined,
  scale: name.subresources.some((subresource) => subresource.name === "scale")
    ? { specReplicas: [], statusReplicas: [], selector: undefined }
    : undefined,
  below: name.subresources.filter((subresource) => subresource.name !== "status" && subresource.name !== "scale"),
  subresources: {},
  columns: [],
  selectableFields: () => ({}),
  unconditionalUpdate: true,
  createOnUpdate: false,
  gracePeriod: () => 0,
  fromStorage: (stored) => stored,
  toStorage: (object) => object,
  deprecation: undefined
})

/** The built-in kinds, with all their subresources. */
export const builtIn: ReadonlyArray<Kind> = names.map(kindOf)
