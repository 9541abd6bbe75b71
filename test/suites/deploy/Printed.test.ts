/** `manifests --image` prints the Deployment of `deploy/base`. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as ManagerDeployment from "@homeostat/runtime/command/ManagerDeployment"
import * as Rbac from "@homeostat/runtime/command/Rbac"
import { Result } from "effect"
import { load } from "js-yaml"
import { program } from "../../../controllers/main.ts"

const settings = (...args: ReadonlyArray<string>) => {
  const flags = { ...Rbac.flags(program), ...ManagerDeployment.flags }
  const read = Flag.read(flags, { program: program.name, args, environment: {} })
  return Result.getOrThrowWith(read, (message) => new Error(message)).values
}

const printed = (...args: ReadonlyArray<string>) => {
  const values = settings(...args)
  return ManagerDeployment.make(program, values, values.image ?? "", values.environment)
}

test("The printed Deployment has the spec of deploy/base", async () => {
  const file = join(import.meta.dir, "../../../deploy/base/deployment.yaml")
  const { spec } = load(await Bun.file(file).text()) as { readonly spec: { readonly [field: string]: unknown } }
  const { revisionHistoryLimit: _, ...base } = spec
  const image = ["--image=homeostat", "--env=HOMEOSTAT_BACKUP_MOVER_IMAGE=homeostat-mover"]
  const name = { "app.kubernetes.io/name": "homeostat" }
  expect(printed("--leader-elect", "--metrics-secure", ...image)).toMatchObject({
    metadata: { name: "homeostat", namespace: "homeostat-system" },
    spec: JSON.parse(JSON.stringify(base))
  })
  // kustomize adds this label to the template of deploy/base.
  expect(printed(...image)).toMatchObject({ spec: { template: { metadata: { labels: name } } } })
})

test("The printed Deployment without --leader-elect stops the old pod before it starts the new one", () => {
  expect(printed("--image=i")).toMatchObject({ spec: { strategy: { type: "Recreate" } } })
})

test("The image of the printed Deployment has characters, and no spaces", () => {
  for (const image of ["", "a b"]) {
    expect(() => printed(`--image=${image}`)).toThrow(
      `--image: invalid image: "${image}" (write it like registry.example.com/name:tag)`
    )
  }
})

test("The printed Service has the spec of deploy/base", async () => {
  const file = join(import.meta.dir, "../../../deploy/base/service.yaml")
  const base = load(await Bun.file(file).text()) as { readonly metadata: object; readonly spec: { selector: object } }
  expect(ManagerDeployment.service(program, settings("--image=i"))).toMatchObject(JSON.parse(JSON.stringify(base)))
})

test("The printed Deployment runs the manager with the flags that decided its permissions", () => {
  const args = ["--namespace=a,b", "--controllers=webapp", "--selector=team=x", "--leader-elect", "--install-crds"]
  expect(printed("--image=i", "--leader-elect-resource-name=x", ...args)).toMatchObject({
    spec: {
      template: {
        spec: {
          containers: [
            {
              args: [
                "run",
                "--namespace=a",
                "--namespace=b",
                "--controllers=webapp",
                "--selector=team=x",
                "--leader-elect",
                "--leader-elect-resource-name=x",
                "--install-crds"
              ]
            }
          ]
        }
      }
    }
  })
})

test("An environment variable may contain commas and equals signs, and needs a name", () => {
  expect(printed("--image=i", "--env=A=b,c=d", "--env=E=")).toMatchObject({
    spec: {
      template: {
        spec: {
          containers: [
            {
              env: [{ name: "A", value: "b,c=d" }, { name: "E", value: "" }, expect.anything(), expect.anything()]
            }
          ]
        }
      }
    }
  })
  expect(() => printed("--image=i", "--env=b")).toThrow(
    `--env: invalid environment variable: "b" (write it like NAME=VALUE)`
  )
})
