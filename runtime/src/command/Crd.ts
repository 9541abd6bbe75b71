/** `crd`: the CustomResourceDefinitions of the controllers' kinds, as YAML. */
import type { Controller } from "../controller/Controller.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Verb from "./Verb.ts"
import * as Yaml from "./Yaml.ts"

/** The kinds that controllers are for and that a cluster has to be told of. */
export const kindsOf = (controllers: ReadonlyArray<Controller<unknown>>): ReadonlyArray<CustomResource.Any> =>
  controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource)

/** The verb. */
export const verb = (program: { readonly controllers: ReadonlyArray<Controller<unknown>> }) =>
  Verb.make("crd", {
    description: "Print the CustomResourceDefinitions, for kubectl apply -f -",
    flags: {},
    run: () => Yaml.print(kindsOf(program.controllers).map(Crd.of))
  })
