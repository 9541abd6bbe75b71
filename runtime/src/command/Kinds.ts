/** The custom kinds of a program, whose CRDs it prints and installs. */
import * as Arr from "effect/Array"
import type { Controller } from "../controller/Controller.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { nameOf } from "../resource/Resource.ts"

/** The parts of a program that declare kinds. */
export interface Program {
  readonly controllers: ReadonlyArray<Pick<Controller<unknown>, "resource">>
  /** Custom kinds without a controller, for example with a `Conversion`. Default: none. */
  readonly kinds?: ReadonlyArray<CustomResource.Any> | undefined
}

/** The custom kinds of the controllers and those without one, each once. */
export const of = ({ controllers, kinds = [] }: Program): ReadonlyArray<CustomResource.Any> =>
  Arr.dedupeWith(
    [...controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource), ...kinds],
    (one, other) => nameOf(one) === nameOf(other) && one.definition === other.definition
  )

/** The kinds that have several versions. */
export const converted = (program: Program): ReadonlyArray<CustomResource.Any> =>
  of(program).filter(({ definition }) => definition.spokes.length > 0)
