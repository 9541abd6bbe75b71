/** `crd`: the CustomResourceDefinitions of the controllers' kinds, as YAML. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { Controller } from "../controller/Controller.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { nameOf } from "../resource/Resource.ts"
import * as Verb from "./Verb.ts"
import * as Yaml from "./Yaml.ts"

/** The custom kinds of the controllers, each once. */
export const kindsOf = (controllers: ReadonlyArray<Controller<unknown>>): ReadonlyArray<CustomResource.Any> =>
  Arr.dedupeWith(
    controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource),
    (one, other) => nameOf(one) === nameOf(other) && one.definition === other.definition
  )

/** Their definitions. Fails if a kind has none: the message names the field and what to do. */
export const definitionsOf = (controllers: ReadonlyArray<Controller<unknown>>) =>
  Effect.forEach(kindsOf(controllers), (kind) => Effect.map(CustomResource.check(kind), () => Crd.of(kind)))

/** The verb. */
export const verb = (program: { readonly controllers: ReadonlyArray<Controller<unknown>> }) =>
  Verb.make("crd", {
    description: "Print the CustomResourceDefinitions, for kubectl apply -f -",
    flags: { output: Yaml.flag },
    examples: [
      ["Install the CRDs.", "crd | kubectl apply --server-side -f -"],
      ["Print the CRDs as one JSON list.", "crd -o json"]
    ],
    run: ({ output }) => Effect.flatMap(definitionsOf(program.controllers), (crds) => Yaml.print(crds, output))
  })
